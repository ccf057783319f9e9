"""Several processes, on one machine or many, that train one model.

Scope: the group of ranks, exact sums over it, how its processes start and end. Independent of the model.
"""
