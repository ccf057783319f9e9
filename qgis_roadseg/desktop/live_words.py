"""Words of a live session's status line and numbers.

Scope: texts. Independent of widgets.
"""

from __future__ import annotations

from typing import Any, Optional

from ..translation import tr


def state_words(state: str) -> str:
    """Return the name of a state of the worker's in the user's language."""
    return {
        "loading": tr("Loading"),
        "waiting": tr("Waiting for labels"),
        "learning": tr("Learning"),
        "predicting": tr("Predicting"),
        "paused": tr("Paused"),
        "done learning": tr("Nothing new to learn"),
    }.get(state, state)


def state_hint(state: str) -> str:
    """Return what a person can do in a state of the worker's; empty where nothing is waited for."""
    return {
        "waiting": tr("Draw a road with QGIS' own tools."),
        "done learning": tr("Draw where the map is wrong."),
    }.get(state, "")


def numbers_of(state: Optional[Any], roads: int, learned_s: Optional[float]) -> list[str]:
    """Return how much was drawn and learned, and how fast.

    Parameters
    ----------
    state : State, optional
        The worker's last.
    roads : int
        Roads that were drawn.
    learned_s : float, optional
        How long the last stroke took to be learned from.

    Returns
    -------
    list of str
        Short phrases.
    """
    numbers = [tr("Roads drawn: {count}").format(count=roads)]
    if state is not None:
        numbers.append(tr("Step {step:,}").format(step=state.step))
        if state.steps_per_s:
            numbers.append(tr("{pace:.1f} steps a second").format(pace=state.steps_per_s))
    if learned_s is not None:
        numbers.append(tr("Last stroke learned after {seconds:.1f} s").format(seconds=learned_s))
    return numbers
