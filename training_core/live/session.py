"""The session: hears commands, and does what is most urgent meanwhile, a short piece at a time.

Scope: what comes first. Independent of how labels are rasterized, models trained and views predicted.

A piece of work takes about half a second at most (a training step, a piece of the view, a batch of held-out blocks),
and between two of them commands are heard. In this order: what was just drawn, so that it is learned from; the view,
once a newer model is worth showing; the score; further learning, until it improves nothing; the margin of the view.
Then the process waits for the next command, without using the processor.
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Literal, Optional

import numpy as np
import shapely
from affine import Affine
from rasterio.errors import RasterioError

from .. import events
from ..errors import ImageryError, ModelFileError, OutputError, RoadSegError
from ..events import Reporter
from ..geodata.grid import Grid
from ..geodata.pixel_codes import CERTAIN, IGNORE, NO_DATA, ROAD, reaches
from ..learning.history import best_at_threshold
from ..segmentation.inference import Predictor
from ..system import shutdown
from .checkpoint import Saved
from .chip_choice import REHEARSED, ChipChoice
from .commands import PROBABILITY, Change, ChangeLabels, ChangeView, Correct, Keep, Learn, Pause, Stop, read_command
from .corrections import correct
from .drawn_labels import BLOCK_PX, Block, DrawnLabels, blocks_in
from .image_windows import ImageWindows
from .kept_model import SessionSetup, keep
from .learner import CHIP_PX, Learner, Plateau
from .scoring import Scoring, is_telling, uncertain_places
from .session_files import PredictionFiles, SessionFiles
from .view import View, copy_overlap

# Steps with what was just drawn before it is shown what they changed.
FRESH_STEPS = 6
# The view is not predicted anew more often than this, nor for more of the time than learning takes.
REFRESH_S = 3.0
SCORE_S, STATE_S, SHOW_S, LABELS_S = 15.0, 1.0, 0.7, 5.0
# So many places of another view are rehearsed, one more before each step.
REHEARSED_IN_VIEW = 16
# So long the process sleeps before it looks whether a signal has come.
IDLE_S = 1.0
# After so many steps in a row that failed, learning begins anew; and when that has failed so often, it pauses.
MAX_FAILURES, MAX_RESTARTS = 3, 2
# A warning is not repeated within this time.
QUIET_S = 30.0


class Session:
    """A session under way.

    Parameters
    ----------
    reporter : Reporter
        Its `lines` are the commands.
    """

    def __init__(self, setup: SessionSetup, windows: ImageWindows, files: SessionFiles, reporter: Reporter) -> None:
        self._setup, self._windows, self._files, self._reporter = setup, windows, files, reporter
        job = setup.job
        self._labels = DrawnLabels(windows.grid, job)
        self._choice = ChipChoice(windows, self._labels, setup.bands, CHIP_PX, job.seed)
        self._learner = Learner(setup.base, setup.engine, setup.bands, self._choice)
        self._view, self._predictions, self._plateau = View(windows), PredictionFiles(files.path), Plateau()
        self._predictor: Optional[Predictor] = None
        self._scoring: Optional[Scoring] = None
        self._scores: list[tuple[int, float, float]] = []
        self._threshold = setup.card.threshold
        self._show: Literal["probability", "uncertainty"] = PROBABILITY
        self._places: list[list[float]] = []
        self._is_learning = self._is_stopped = self._has_changed = False
        self._is_paused = self._pending_view = False
        self._fresh_steps = self._failures = self._restarts = 0
        self._to_rehearse = REHEARSED
        self._pending: list[tuple[int, float, set[Block]]] = []
        self._shown_step = -1
        self._renewed_s = self._scored_s = self._told_s = self._shown_s = self._saved_labels_s = 0.0
        self._learned_s = self._showing_s = 0.0
        self._told: Optional[events.State] = None
        self._warned_s: dict[str, float] = {}
        self._labels_are_saved = self._model_is_saved = True

    def resume(self) -> None:
        """Go on from what is in the folder, if there is anything."""
        saved = self._files.read_checkpoint()
        self._labels.spared.update(saved.spared if saved else {})
        self.take_over(self._files.read_labels())
        if saved is None:
            return
        try:
            if saved.state:
                self._learner.load_state_dict(saved.state, saved.step)
        except (KeyError, IndexError, ValueError, RuntimeError):
            self._reporter.warning("The checkpoint does not fit the model; learning begins anew from what is drawn.")
            return
        if saved.state:
            self._choice.settle()
        self._learner.step_count, self._learner.trained_s, self._scores = saved.step, saved.trained_s, saved.scores
        self._model_is_saved = True
        self._reporter.log(f"The session goes on at step {saved.step}, with {self._labels.roads} drawn roads.")

    def run(self) -> dict[str, Any]:
        """Hear commands and work until the session is stopped; return what is told at the end."""
        lines = self._reporter.lines
        while not self._is_stopped:
            work = self._next_work()
            self._tell_state()
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
        with shutdown.critical_section():
            self._save(is_last=True)
            self._files.finish()
        f1 = self._scores[-1][2] if self._scores else None
        return {
            "folder": str(self._files.path),
            "step": self._learner.step_count,
            "roads": self._labels.roads,
            **({} if f1 is None else {"f1": f1}),
        }

    # Commands

    def _hear(self, line: bytes) -> None:
        command = read_command(line, self._reporter)
        if command is not None:
            self._guarded(lambda: self._ACTIONS[type(command)](self, command))

    def _change_labels(self, command: ChangeLabels) -> None:
        read_s = time.perf_counter()
        blocks = self.take_over(command.changes)
        if not blocks:
            self._reporter.pass_on(events.Learned(command.sequence, 0.0))
            return
        self._pending.append((command.sequence, read_s, blocks))
        self._fresh_steps = FRESH_STEPS

    def take_over(self, changes: tuple[Change, ...]) -> set[Block]:
        """Take over changed features; return the blocks to learn from again."""
        if not changes:
            return set()
        changed = self._labels.change(changes, self._shown_road)
        self._labels_are_saved = self._model_is_saved = False  # the latter with what is spared, and forgotten
        self._choice.renew(changed.blocks)
        if changed.erased:
            erased_px = sum(int(np.count_nonzero(lost)) for lost in changed.erased.values())
            left_px = sum(px for block, px in self._labels.labeled_px.items() if not self._labels.is_held_out(block))
            opinions = self._learner.opinions(changed.erased, self._windows)
            self._learner.forget(erased_px, left_px)
            for block, labels in opinions.items():
                self._choice.teach_back(block, labels)
            self._has_changed = True
        if changed.blocks:
            self._plateau.restart()
        return set(changed.blocks)

    def _shown_road(self, column: int, row: int, width: int, height: int) -> np.ndarray:
        """Return which pixels of a window the map shows as road: (height, width), bool."""
        road = np.zeros((height, width), dtype=bool)
        copy_overlap(reaches(self._view.values, self._threshold), self._view.canvas, road, (column, row, width, height))
        return road

    def _change_view(self, command: ChangeView) -> None:
        is_other_show, self._show = command.show != self._show, command.show
        self._view.move(command.extent)
        self._to_rehearse = max(self._to_rehearse, REHEARSED_IN_VIEW)
        self._shown_s = 0.0
        if self._view.is_cut:
            self._warn("The view is too large: only its middle is predicted. Zoom in to see all of it.")
        if self._view.window and (is_other_show or self._view.is_complete) and (self._view.values != NO_DATA).any():
            self._publish()

    def _correct(self, command: Correct) -> None:
        column, row, width, height = self._view.canvas
        drawn = self._labels.read_all(column, row, width, height) == ROAD
        grid = self._windows.grid.window(column, row, width, height)
        found = correct((command.x, command.y), self._view.values, drawn, grid, self._threshold)
        text = "" if found.geometry is None else shapely.to_wkt(found.geometry, rounding_precision=-1)
        self._reporter.pass_on(events.Correction(command.sequence, found.layer, text, found.message))

    def _keep(self, command: Keep) -> None:
        try:
            confusion = Scoring(self._learner.shown(), self._labels, self._windows).finish()
            f1 = keep(command, self._setup, self._learner, self._labels, confusion, self._scores)
        except (RoadSegError, RasterioError, OSError) as error:
            self._reporter.warning(f"The model was not kept: {error}")
            return
        has_labels = command.labels and os.path.lexists(command.labels)  # where nothing was drawn, there are none
        self._reporter.pass_on(events.Kept(command.model, command.report, f1, command.labels if has_labels else ""))

    def _learn(self, _: Learn) -> None:
        self._is_learning, self._is_paused = True, False
        self._plateau.restart()

    def _pause(self, _: Pause) -> None:
        self._is_learning, self._is_paused = False, True

    def _stop(self, _: Stop) -> None:
        self._is_stopped = True

    _ACTIONS: ClassVar[dict[type, Callable[..., None]]] = {
        ChangeLabels: _change_labels,
        ChangeView: _change_view,
        Correct: _correct,
        Keep: _keep,
        Learn: _learn,
        Pause: _pause,
        Stop: _stop,
    }

    # What is to be done

    def _next_work(self) -> Optional[Callable[[], None]]:
        """Return what is most urgent; None where nothing is to be done."""
        is_due = self._can_learn
        if is_due and self._fresh_steps:
            return self._step
        if self._is_renewal_due():
            return self._renew
        if not self._view.is_complete:
            return self._predict
        if self._scoring is not None:
            return partial(self._score, self._scoring)
        if is_due:
            return self._step
        return self._predict if self._view.has_margin_left else None

    @property
    def _can_learn(self) -> bool:
        return self._is_learning and self._choice.has_any and not self._plateau.is_reached

    def _is_renewal_due(self) -> bool:
        """Whether the model that is shown is to be replaced by the one that has learned since."""
        if self._predictor is None:
            return self._view.window is not None or self._can_learn
        if self._learner.step_count == self._shown_step and not self._has_changed:
            return False
        since_s = time.perf_counter() - self._renewed_s
        if not self._can_learn:
            return self._view.is_complete
        if self._view.window is None:
            return since_s >= SCORE_S
        if self._pending_view and since_s >= REFRESH_S:
            return True
        is_shown = self._view.is_complete and self._scoring is None
        return is_shown and self._learned_s >= max(REFRESH_S, self._showing_s)

    def _step(self) -> None:
        began_s = time.perf_counter()
        if self._to_rehearse:
            self._to_rehearse -= 1
            whole = (0, 0, self._windows.grid.width, self._windows.grid.height)
            self._learner.rehearse(self._view.window or whole, self._windows)
        loss, blocks = self._learner.step()
        self._learned_s += time.perf_counter() - began_s
        if not math.isfinite(loss):
            self._fail()
            return
        self._failures, self._model_is_saved = 0, False
        self._plateau.add(loss)
        if self._fresh_steps:
            self._fresh_steps -= 1
            self._pending_view = self._pending_view or not self._fresh_steps
        now_s, left = time.perf_counter(), []
        for sequence, read_s, wanted in self._pending:
            if wanted & blocks:
                self._reporter.pass_on(events.Learned(sequence, round(now_s - read_s, 3)))
            else:
                left.append((sequence, read_s, wanted))
        self._pending = left

    def _fail(self) -> None:
        """After steps whose loss is no number: begin anew, and if that fails too, pause."""
        self._failures += 1
        if self._failures < MAX_FAILURES:
            return
        self._failures, self._restarts = 0, self._restarts + 1
        self._learner.start_again()
        if self._restarts > MAX_RESTARTS:
            self._is_learning, self._is_paused = False, True
            self._warn("Learning fails again and again (the loss is no number), and is paused. The labels are kept.")
            return
        self._warn("Learning has failed (the loss is no number) and begins anew from the base model, with all labels.")

    def _renew(self) -> None:
        self._predictor = self._learner.shown()
        self._shown_step, self._has_changed, self._pending_view = self._learner.step_count, False, False
        self._renewed_s = time.perf_counter()
        self._learned_s = self._showing_s = 0.0
        self._view.renew(self._predictor)
        is_score_due = self._renewed_s - self._scored_s >= SCORE_S or not self._can_learn
        if is_score_due and self._shown_step:
            self._scoring = Scoring(self._predictor, self._labels, self._windows)

    def _predict(self) -> None:
        began_s, was_complete = time.perf_counter(), self._view.is_complete
        has_news = self._view.advance()
        is_complete = self._view.is_complete and not was_complete
        is_time = time.perf_counter() - self._shown_s >= SHOW_S
        if is_complete or (has_news and is_time and not was_complete) or not self._view.has_margin_left:
            self._publish()
        self._showing_s += time.perf_counter() - began_s
        if is_complete:
            self._compare()

    def _score(self, scoring: Scoring) -> None:
        scoring.advance()
        if not scoring.is_complete:
            return
        confusion, self._scoring = scoring.confusion, None
        self._scored_s = time.perf_counter()
        if is_telling(confusion):
            found = best_at_threshold({}, confusion)
            self._threshold = found.threshold
            self._scores.append((self._shown_step, self._learner.trained_s, found.scores.f1))
            self._reporter.metric("validation_f1", found.scores.f1, self._shown_step)

    # What is told

    def _publish(self) -> None:
        """Write what is known of the view as a raster."""
        view, grid = self._view, self._windows.grid
        column, row, width, height = view.canvas
        values, ground = view.values, grid.window(column, row, width, height)
        if view.is_coarse:
            values = values[:: view.factor, :: view.factor]
            scale = Affine.scale(view.factor)
            ground = Grid(ground.crs, ground.transform @ scale, values.shape[1], values.shape[0])
        try:
            path = self._predictions.write(values, ground, self._show)
        except (OSError, OutputError) as error:
            self._warn(f"The prediction cannot be written to {self._files.path} ({error}); the session goes on.")
            return
        now_s = time.perf_counter()
        self._shown_s = now_s
        left, bottom, right, top = ground.outline.bounds
        self._reporter.pass_on(
            events.Prediction(
                str(path), [left, bottom, right, top], self._shown_step, round(view.fraction, 3),
                round(ground.resolution_m, 4), self._show, round(now_s - view.changed_s, 3),
            )
        )  # fmt: skip

    def _compare(self) -> None:
        """Note where prediction and labels disagree, and where the model is most uncertain."""
        if self._view.window is None:
            return
        column, row, width, height = self._view.window
        for block in blocks_in(column, row, width, height):
            truth = self._labels.labels.get(block)
            if truth is None or self._labels.is_held_out(block):
                continue
            found = self._view.part((block[1] * BLOCK_PX, block[0] * BLOCK_PX, BLOCK_PX, BLOCK_PX))
            if found is None:
                continue
            counts = (truth != IGNORE) & (found != NO_DATA)
            if counts.any():
                error = np.abs(found[counts] / CERTAIN - (truth[counts] == ROAD)).mean()
                self._choice.disagree(block, float(error))
        labeled = self._labels.read_all(column, row, width, height) != IGNORE
        ground = self._windows.grid.window(column, row, width, height)
        self._places = uncertain_places(self._view.inner, labeled, ground)

    def _tell_state(self) -> None:
        """Report what is being done, at once where that is another thing than before."""
        state, message = self._state()
        told = events.State(
            state, message, self._learner.step_count, self._labels.roads, sum(self._labels.labeled_px.values()),
            round(self._learner.steps_per_s, 2), self._places,
        )  # fmt: skip
        now_s = time.perf_counter()
        is_other = self._told is None or told.state != self._told.state
        if told != self._told and (is_other or now_s - self._told_s >= STATE_S):
            self._told, self._told_s = told, now_s
            self._reporter.pass_on(told)

    def _state(self) -> tuple[str, str]:
        if not self._view.is_complete and self._predictor is not None and not (self._can_learn and self._fresh_steps):
            return events.PREDICTING, "Predicting the view"
        if self._is_paused:
            return events.PAUSED, "Paused"
        if self._can_learn:
            return events.LEARNING, f"Learning: step {self._learner.step_count}"
        if self._is_learning and self._choice.has_any:
            return events.DONE_LEARNING, "All that is drawn is learned; draw more, or correct"
        return events.WAITING, "Waiting for drawn roads"

    def _warn(self, message: str) -> None:
        """Warn, but not of the same again and again."""
        now_s = time.perf_counter()
        if now_s - self._warned_s.get(message, -QUIET_S) >= QUIET_S:
            self._warned_s[message] = now_s
            self._reporter.warning(message)

    def _guarded(self, act: Callable[[], None]) -> None:
        """Do something; where the image cannot be read, or the model computes no numbers, say so and pause."""
        try:
            act()
        except ModelFileError:
            self._failures, self._scoring = MAX_FAILURES, None
            self._fail()
            if self._restarts > MAX_RESTARTS:
                self._view.give_up()  # not even the base model does
            else:
                self._predictor = None
        except (ImageryError, RasterioError) as error:
            self._is_learning, self._is_paused = False, True
            self._view.give_up()
            self._scoring = None
            self._warn(f"The image {self._windows.name} cannot be read any more ({error}). Learning is paused.")

    def _save(self, *, is_last: bool) -> None:
        """Write labels and checkpoint, if they have changed and it is time for it."""
        now_s = time.perf_counter()
        if not self._labels_are_saved and (is_last or now_s - self._saved_labels_s >= LABELS_S):
            self._saved_labels_s = now_s
            self._labels_are_saved = self._files.write_labels(each.change for each in self._labels.features)
        if self._files.has_failed():
            self._model_is_saved = False
        if not self._model_is_saved and (is_last or self._files.is_checkpoint_due):
            self._model_is_saved = True
            self._files.write_checkpoint(self._state_to_save())

    def _state_to_save(self) -> Saved:
        learner = self._learner
        state = learner.state_dict()
        if not any(name.startswith("optimizer.") for name in state):  # no step since it began, or began anew
            state = {}
        return Saved(learner.step_count, learner.trained_s, list(self._scores), state, dict(self._labels.spared))
