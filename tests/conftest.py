"""Settings of all tests: garbage collection is off while modules are imported, and skips them later."""

import gc

gc.disable()  # it takes a quarter of the time until the first test


def pytest_collection_finish():
    gc.enable()
    gc.freeze()
