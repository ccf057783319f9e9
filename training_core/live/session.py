"""The session: handles commands, and in between does the most urgent work, a short piece at a time.

Scope: the order of work. Independent of how labels are rasterized, models trained and views predicted.

A piece of work (a training step, a piece of the view, a batch of held-out blocks) takes about half a second at most,
and commands are handled after each one. The order is: learn new strokes; predict the view, once a newer model is worth
showing; compute the score; learn on, until that improves nothing. Then the process waits for the next command without
using the processor.
"""

from __future__ import annotations

import copy
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Optional

import numpy as np
import shapely
from rasterio.errors import RasterioError

from .. import events
from ..errors import ImageryError, ModelFileError, RoadSegError
from ..events import Reporter
from ..geodata.pixel_codes import IGNORE, NO_DATA, ROAD, reaches
from ..learning.history import MAX_POINTS, best_at_threshold
from ..segmentation.inference import Predictor
from ..system.work import critical_section
from .chip_choice import REHEARSED, ChipChoice
from .commands import PROBABILITY, Change, ChangeLabels, ChangeView, Command, Correct, Keep, Learn, Pause, read_command
from .corrections import correct
from .drawn_labels import BlockIndex, DrawnLabels
from .image_windows import ImageWindows, paste
from .kept_model import SessionSetup, keep
from .learner import CHIP_PX, Learner, Plateau
from .map_prediction import MapPrediction
from .scoring import Scoring, block_errors, is_telling, uncertain_places
from .session_files import Saved, SessionFiles
from .session_reports import SessionReports

# Steps with new strokes before the view is predicted again.
FRESH_STEPS = 6
# Least time between two predictions of the view; learning also gets at least as much time as predicting.
REFRESH_S = 3.0
# Least time between two scores, two rasters of an incomplete view, and two files of labels.
SCORE_S, SHOW_S, LABELS_S = 15.0, 0.7, 5.0
# Places of a new view that are rehearsed, one before each step.
REHEARSED_IN_VIEW = 16
# The process sleeps this long before it checks for signals.
IDLE_S = 1.0
# Learning restarts after this number of failed steps in a row, and pauses after this number of restarts.
MAX_FAILURES, MAX_RESTARTS = 3, 2


@dataclass
class _Shown:
    """The model that the map shows, from when it took the place of the former one."""

    predictor: Optional[Predictor] = None
    step: int = -1
    since_s: float = field(default_factory=time.perf_counter)
    # Time spent on learning and on predicting the view since then.
    learned_s: float = 0.0
    predicted_s: float = 0.0
    # The model has forgotten something since then; new strokes, which are learned by now, are to be shown.
    has_forgotten: bool = False
    has_new_strokes: bool = False


class Session:
    """A running session; the `lines` of its reporter are the commands."""

    def __init__(self, setup: SessionSetup, windows: ImageWindows, files: SessionFiles, reporter: Reporter) -> None:
        self._setup, self._windows, self._files, self._reporter = setup, windows, files, reporter
        self._labels = DrawnLabels(windows.grid, setup.job)
        self._choice = ChipChoice(windows, self._labels, setup.bands, CHIP_PX, setup.job.seed)
        self._learner, self._plateau = Learner(setup.base, setup.engine, setup.bands, self._choice), Plateau()
        self._view, self._reports = MapPrediction(windows), SessionReports(files.path, reporter)
        # WAITING for the first `Learn`, LEARNING as long as it helps, or PAUSED.
        self._mode, self._is_stopped = events.WAITING, False
        self._shown, self._quantity = _Shown(), str(PROBABILITY)
        self._scoring: Optional[Scoring] = None
        self._threshold, self._scored_s = setup.card.threshold, 0.0
        self._places: list[list[float]] = []
        # Commands whose labels no step has had yet: sequence, time, blocks. Steps left for them, and to rehearse.
        self._pending: list[tuple[int, float, set[BlockIndex]]] = []
        self._fresh_steps, self._to_rehearse = 0, REHEARSED
        self._failures = self._restarts = 0
        self._labels_are_saved = self._model_is_saved = True
        self._saved_labels_s = 0.0

    def resume(self) -> None:
        """Continue from the labels and the checkpoint in the folder, if any."""
        saved = self._files.read_checkpoint()
        self._labels.spared.update(saved.spared if saved else {})
        self.take_over(self._files.read_labels())
        if saved is None:
            return
        try:
            self._learner.resume(saved.state, saved.history)
        except (KeyError, IndexError, ValueError, RuntimeError):
            self._reporter.warning(
                "The checkpoint does not fit the model. Learning starts again from the drawn labels."
            )
            return
        if saved.state:
            self._choice.settle()
        self._model_is_saved = True
        self._reporter.log(f"The session continues at step {saved.history.step} with {self._labels.roads} drawn roads.")

    def run(self) -> dict[str, Any]:
        """Handle commands and work until the session is stopped; return its result."""
        lines = self._reporter.lines
        while not self._is_stopped:
            work = self._next_work()
            self._reports.report_state(self._state())
            line = lines.get(0 if work else IDLE_S) if lines else None
            if line is not None:
                self._hear(line)
            elif lines is None or lines.is_over or self._reporter.is_cancelled:
                break
            elif work:
                self._guarded(work)
            self._save(is_last=False)
        while lines and not self._is_stopped and (line := lines.get(0)) is not None:
            self._hear(line)
        with critical_section():
            self._save(is_last=True)
            self._files.finish()
        history = self._learner.history
        return {
            "folder": str(self._files.path),
            "step": history.step,
            "roads": self._labels.roads,
            **({"f1": history.validations[-1][2].f1} if history.validations else {}),
        }

    # Commands

    def _hear(self, line: bytes) -> None:
        command = read_command(line, self._reporter)
        if command is not None:
            self._guarded(partial(self._act, command))

    def _act(self, command: Command) -> None:
        if isinstance(command, ChangeLabels):
            self._change_labels(command)
        elif isinstance(command, ChangeView):
            self._change_view(command)
        elif isinstance(command, Correct):
            self._correct(command)
        elif isinstance(command, Keep):
            self._keep(command)
        elif isinstance(command, Learn):
            self._mode = events.LEARNING
            self._plateau.restart()
        elif isinstance(command, Pause):
            self._mode = events.PAUSED
        else:
            self._is_stopped = True

    def _change_labels(self, command: ChangeLabels) -> None:
        read_s = time.perf_counter()
        blocks = self.take_over(command.changes)
        if blocks:
            self._pending.append((command.sequence, read_s, blocks))
            self._fresh_steps = FRESH_STEPS
        else:
            self._reporter.pass_on(events.Learned(command.sequence, 0.0))

    def take_over(self, changes: tuple[Change, ...]) -> set[BlockIndex]:
        """Apply changed features; return the blocks to learn from again."""
        if not changes:
            return set()
        changed = self._labels.change(changes, self._shown_road)
        # The checkpoint also holds spared pixels, and erasing changes weights.
        self._labels_are_saved = self._model_is_saved = False
        self._choice.renew(changed.blocks)
        if changed.erased:
            # Forget in proportion to the erased fraction, then teach the opinion of the base model there.
            erased_px = sum(int(np.count_nonzero(lost)) for lost in changed.erased.values())
            left_px = sum(px for block, px in self._labels.labeled_px.items() if not self._labels.is_held_out(block))
            opinions = self._learner.opinions(changed.erased, self._windows)
            self._learner.forget(erased_px, left_px)
            for block, labels in opinions.items():
                self._choice.teach_back(block, labels)
            self._shown.has_forgotten = True
        if changed.blocks:
            self._plateau.restart()
        return set(changed.blocks)

    def _shown_road(self, column: int, row: int, width: int, height: int) -> np.ndarray:
        """Return which pixels of a window the map shows as road: (height, width), bool."""
        road = np.zeros((height, width), dtype=bool)
        left, top, _, _ = self._view.window
        paste(road, reaches(self._view.values, self._threshold), left - column, top - row)
        return road

    def _change_view(self, command: ChangeView) -> None:
        is_other_quantity, self._quantity = command.show != self._quantity, command.show
        self._view.move(command.extent)
        self._to_rehearse = max(self._to_rehearse, REHEARSED_IN_VIEW)
        self._reports.published_s = 0.0
        if self._view.is_cut:
            self._reports.warn("The view is too large: only its middle is predicted. Zoom in to see all of it.")
        if (is_other_quantity or self._view.is_complete) and (self._view.values != NO_DATA).any():
            self._publish()

    def _correct(self, command: Correct) -> None:
        drawn = self._labels.read_all(*self._view.window) == ROAD
        grid = self._windows.grid.window(*self._view.window)
        result = correct((command.x, command.y), self._view.values, drawn, grid, self._threshold)
        text = "" if result.geometry is None else shapely.to_wkt(result.geometry, rounding_precision=-1)
        self._reporter.pass_on(events.Correction(command.sequence, result.layer, text, result.message))

    def _keep(self, command: Keep) -> None:
        try:
            confusion = Scoring(self._learner.shown(), self._labels, self._windows).finish()
            f1 = keep(command, self._setup, self._learner, self._labels, confusion)
        except (RoadSegError, RasterioError, OSError) as error:
            self._reporter.warning(f"The model was not kept: {error}")
            return
        has_labels = command.labels and os.path.lexists(command.labels)  # a session without labels writes none
        self._reporter.pass_on(events.Kept(command.model, command.report, f1, command.labels if has_labels else ""))

    # Work

    def _next_work(self) -> Optional[Callable[[], None]]:
        """Return the most urgent work; None if there is nothing to do."""
        can_learn = self._can_learn
        if can_learn and self._fresh_steps:
            return self._step
        if self._is_renewal_due(can_learn):
            return self._renew
        if not self._view.is_complete:
            return self._predict
        if self._scoring is not None:
            return partial(self._score, self._scoring)
        return self._step if can_learn else None

    @property
    def _can_learn(self) -> bool:
        return self._mode == events.LEARNING and self._choice.has_any and not self._plateau.is_reached

    def _is_renewal_due(self, can_learn: bool) -> bool:
        """Whether to predict the view with the current model, in place of the one that is shown."""
        shown, view = self._shown, self._view
        if shown.predictor is None:
            return can_learn or not view.is_empty
        if self._learner.history.step == shown.step and not shown.has_forgotten:
            return False
        if not can_learn:
            return view.is_complete
        since_s = time.perf_counter() - shown.since_s
        if view.is_empty:
            return since_s >= SCORE_S
        if shown.has_new_strokes and since_s >= REFRESH_S:
            return True
        has_time = shown.learned_s >= max(REFRESH_S, shown.predicted_s)
        return has_time and view.is_complete and self._scoring is None

    def _step(self) -> None:
        began_s = time.perf_counter()
        if self._to_rehearse:
            self._to_rehearse -= 1
            whole = (0, 0, self._windows.grid.width, self._windows.grid.height)
            self._learner.rehearse(whole if self._view.is_empty else self._view.window, self._windows)
        loss, blocks = self._learner.step()
        now_s = time.perf_counter()
        self._shown.learned_s += now_s - began_s
        if not math.isfinite(loss):
            self._failures += 1
            if self._failures >= MAX_FAILURES:
                self._restart()
            return
        self._failures, self._model_is_saved = 0, False
        self._plateau.add(loss)
        if self._fresh_steps:
            self._fresh_steps -= 1
            self._shown.has_new_strokes |= not self._fresh_steps
        # A command counts as learned once one of its blocks was in a step.
        for sequence, read_s, changed in self._pending:
            if changed & blocks:
                self._reporter.pass_on(events.Learned(sequence, round(now_s - read_s, 3)))
        self._pending = [command for command in self._pending if not command[2] & blocks]

    def _restart(self) -> None:
        """Learn again from the base model, or pause after some restarts."""
        self._failures, self._restarts = 0, self._restarts + 1
        self._learner.start_again()
        if self._restarts > MAX_RESTARTS:
            self._mode = events.PAUSED
            self._reports.warn("Learning keeps failing (the loss is not a number) and is paused. The labels are kept.")
        else:
            self._reports.warn(
                "Learning failed (the loss is not a number) and restarts from the base model. The labels are kept."
            )

    def _renew(self) -> None:
        predictor, step = self._learner.shown(), self._learner.history.step
        self._shown = _Shown(predictor, step)
        self._view.renew(predictor)
        if step and (self._shown.since_s - self._scored_s >= SCORE_S or not self._can_learn):
            self._scoring = Scoring(predictor, self._labels, self._windows)

    def _predict(self) -> None:
        began_s = time.perf_counter()
        has_news, view = self._view.advance(), self._view
        if view.is_complete or (has_news and time.perf_counter() - self._reports.published_s >= SHOW_S):
            self._publish()
        self._shown.predicted_s += time.perf_counter() - began_s
        if view.is_complete:
            # Note where prediction and labels disagree, and where the model is most uncertain.
            for block, error in block_errors(view, self._labels):
                self._choice.disagree(block, error)
            labeled = self._labels.read_all(*view.window) != IGNORE
            self._places = uncertain_places(view.values, labeled, self._windows.grid.window(*view.window))

    def _score(self, scoring: Scoring) -> None:
        scoring.advance()
        if not scoring.is_complete:
            return
        self._scoring, self._scored_s = None, time.perf_counter()
        if is_telling(scoring.confusion):
            best = best_at_threshold({}, scoring.confusion)
            self._threshold = best.threshold
            history, step = self._learner.history, self._shown.step
            history.validations = [*history.validations, (step, history.elapsed_s, best.scores)][-MAX_POINTS:]
            self._reporter.metric("validation_f1", best.scores.f1, step)

    def _publish(self) -> None:
        self._reports.publish(self._view, self._windows, self._shown.step, self._quantity)

    def _state(self) -> events.State:
        activity, message = self._activity()
        return events.State(
            activity, message, self._learner.history.step, self._labels.roads, sum(self._labels.labeled_px.values()),
            round(self._learner.steps_per_s, 2), self._places,
        )  # fmt: skip

    def _activity(self) -> tuple[str, str]:
        can_learn, has_model = self._can_learn, self._shown.predictor is not None
        if not self._view.is_complete and has_model and not (can_learn and self._fresh_steps):
            return events.PREDICTING, "Predicting the view"
        if self._mode == events.PAUSED:
            return events.PAUSED, "Paused"
        if can_learn:
            return events.LEARNING, f"Learning: step {self._learner.history.step}"
        if self._mode == events.LEARNING and self._choice.has_any:
            return events.DONE_LEARNING, "All labels are learned; draw more, or correct"
        return events.WAITING, "Waiting for drawn roads"

    def _guarded(self, act: Callable[[], None]) -> None:
        """Act; warn and pause where the image cannot be read, and restart where the model computes no numbers."""
        try:
            act()
        except ModelFileError:
            self._scoring = None
            self._restart()
            if self._restarts > MAX_RESTARTS:
                self._view.give_up()  # the base model computes none either
            else:
                self._shown.predictor = None
        except (ImageryError, RasterioError) as error:
            self._mode, self._scoring = events.PAUSED, None
            self._view.give_up()
            self._reports.warn(f"The image {self._windows.name} can no longer be read ({error}). Learning is paused.")

    def _save(self, *, is_last: bool) -> None:
        """Write changed labels and the checkpoint, if the last ones are old enough."""
        now_s = time.perf_counter()
        if not self._labels_are_saved and (is_last or now_s - self._saved_labels_s >= LABELS_S):
            self._saved_labels_s = now_s
            self._labels_are_saved = self._files.write_labels(feature.change for feature in self._labels.features)
        if self._files.has_failed():
            self._model_is_saved = False
        if not self._model_is_saved and (is_last or self._files.is_checkpoint_due):
            self._model_is_saved = True
            # Copies, since the session goes on while they are written.
            history, state = copy.deepcopy(self._learner.history), self._learner.state_dict()
            self._files.write_checkpoint(Saved(history, state, dict(self._labels.spared)))
