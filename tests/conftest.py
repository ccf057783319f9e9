"""What all tests share: modules that have been loaded are no garbage, and looking for some among them takes time."""

import gc

gc.disable()  # a quarter of the time until the first test otherwise


def pytest_collection_finish():
    gc.enable()
    gc.freeze()
