"""What ranks do in the tests of how they are launched and watched."""

import json
import os
import signal
import sys
import time

import torch

from tests.core.support.systems import KILL
from training_core import events


def play(text, send, is_cancelled, join):
    """Play the parts of a script: what each rank does, by its number."""
    group = join()
    part = json.loads(text)[group.rank]
    if part == "say":
        send(events.Log(f"rank {group.rank} has {os.environ['OMP_NUM_THREADS']} threads"))
        send(events.Warning("beware"))
    elif part == "fail":
        send(events.Error("labels", "No road is drawn.", "Draw some."))
        return
    elif part == "lose":
        time.sleep(1)
        send(events.Error("lost rank", "Another one has gone."))
        return
    elif part == "die":
        print("last words", file=sys.stderr, flush=True)
        os.kill(os.getpid(), KILL)
    elif part == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif part == "wait":
        while not is_cancelled():
            time.sleep(0.05)
        send(events.Error("cancelled", "Stopped."))
        return
    send(events.Result({"rank": group.rank, "sum": int(group.sum(torch.tensor(group.rank + 1)))}))
