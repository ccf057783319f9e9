"""The neural network, its files, and the engines that run it. Imports geodata."""
