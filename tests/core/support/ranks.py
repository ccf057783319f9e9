"""Functions run by several processes at once, as the ranks of a group."""

import io
import multiprocessing
import os
import tempfile
import traceback

import torch

# Where there is a fork, children come from a server that has loaded these, so that each begins at once.
_CONTEXT = multiprocessing.get_context("forkserver" if hasattr(os, "fork") else "spawn")
if hasattr(os, "fork"):
    _CONTEXT.set_forkserver_preload(["torch.distributed", "segmentation_models_pytorch", "timm.optim"])
TIMEOUT_S = 300


def run_ranks(function, size, *arguments):
    """Return what `function(group, *arguments)` returns on each of the ranks; it is defined in a module of `support`.

    Arguments and results are what `torch.save` takes.
    """
    with tempfile.TemporaryDirectory() as folder:
        pipes = [_CONTEXT.Pipe(duplex=False) for _ in range(size)]
        processes = [
            _CONTEXT.Process(target=_run, args=(rank, size, folder, pipes[rank][1], function, arguments), daemon=True)
            for rank in range(size)
        ]
        for process, (_, sender) in zip(processes, pipes):
            process.start()
            sender.close()
        try:
            results = [_received(receiver) for receiver, _ in pipes]
        finally:
            for process in processes:
                process.kill()
                process.join()
    failures = [text for succeeded, text in results if not succeeded]
    assert not failures, "\n".join(failures)
    return [result for _, result in results]


def _received(receiver):
    if not receiver.poll(TIMEOUT_S):
        return False, f"A rank has not answered for {TIMEOUT_S} s."
    try:
        return torch.load(io.BytesIO(receiver.recv_bytes()), weights_only=False)
    except EOFError:
        return False, "A rank has died."


def _run(rank, size, folder, sender, function, arguments):
    from training_core.distributed.group import join_here
    from training_core.system.processor import prepare_process

    prepare_process(threads=1)
    torch.set_num_threads(1)
    try:
        result = True, function(join_here(folder, rank, size, TIMEOUT_S / 2), *arguments)
    except BaseException:
        result = False, f"Rank {rank}: {traceback.format_exc()}"
    buffer = io.BytesIO()
    torch.save(result, buffer)
    sender.send_bytes(buffer.getvalue())
