"""Settings of all tests: garbage collection is off while modules are imported, and skips them later."""

import gc

gc.disable()  # it frees nothing while modules are imported


def pytest_collection_finish():
    gc.enable()
    gc.freeze()
