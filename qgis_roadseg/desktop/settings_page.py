"""RoadSeg's page in QGIS' options dialog.

Scope: widgets. Independent of keys and validation; see `settings`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Optional

from qgis.gui import QgsDoubleSpinBox, QgsFileWidget, QgsOptionsPageWidget, QgsOptionsWidgetFactory, QgsSpinBox
from qgis.PyQt.QtGui import QIcon
from qgis.PyQt.QtWidgets import QComboBox, QFormLayout, QGroupBox, QLabel, QVBoxLayout, QWidget

from ...training_core.jobs import DEVICES
from .. import settings
from ..paths import ICON
from ..runtime import runtime
from ..settings import Settings
from ..translation import tr
from .dialogs import wrapped_label

PAGE = "roadsegOptions"


class SettingsPageFactory(QgsOptionsWidgetFactory):
    """Creates the page whenever the options dialog is opened."""

    def __init__(self) -> None:
        super().__init__("RoadSeg", QIcon(str(ICON)), PAGE)

    def createWidget(self, parent: Optional[QWidget] = None) -> "SettingsPage":
        """Return a page with the stored settings."""
        return SettingsPage(parent)


class SettingsPage(QgsOptionsPageWidget):
    """The page with RoadSeg's settings."""

    def __init__(self, parent: "QWidget | None" = None) -> None:
        super().__init__(parent)
        self.setObjectName(PAGE)
        self.python = _file_widget(QgsFileWidget.StorageMode.GetFile, tr("Python"), tr("RoadSeg's own runtime"))
        self.models_folder = _file_widget(QgsFileWidget.StorageMode.GetDirectory, tr("Models folder"), tr("No folder"))
        self.threads, self.memory_gb = QgsSpinBox(), QgsDoubleSpinBox()
        self.threads.setRange(0, settings.most_threads())
        self.threads.setClearValue(0, tr("All ({count})").format(count=settings.most_threads()))
        self.memory_gb.setRange(0, settings.most_memory_gb())
        self.memory_gb.setDecimals(1)
        self.memory_gb.setSuffix(" GB")
        self.memory_gb.setClearValue(0, tr("Automatic"))
        self.device = QComboBox()
        self.device.addItems(DEVICES)
        self.problem = QLabel()
        self.problem.setWordWrap(True)
        self.problem.setStyleSheet("color: red")
        self._lay_out()
        self._show(settings.load())
        for field in (self.python, self.models_folder):
            field.fileChanged.connect(self.isValid)
        self.isValid()

    def settings(self) -> Settings:
        """Return the settings that the page shows."""
        return Settings(
            self.python.filePath().strip(),
            self.threads.value(),
            self.memory_gb.value(),
            self.models_folder.filePath().strip(),
            self.device.currentText() if self.device.currentIndex() else "",
        )

    def isValid(self) -> bool:
        """Return whether all settings are valid; the page lists the invalid ones."""
        problems = self.settings().problems()
        self.problem.setText("\n".join(problems))
        self.problem.setVisible(bool(problems))
        return not problems

    def apply(self) -> None:
        """Store the settings; QGIS calls this when the user accepts the dialog."""
        if self.isValid():
            settings.save(self.settings())

    def _show(self, shown: Settings) -> None:
        self.python.setFilePath(shown.python)
        self.threads.setValue(shown.threads)
        self.memory_gb.setValue(shown.memory_gb)
        self.models_folder.setFilePath(shown.models_folder)
        self.device.setCurrentText(shown.device or DEVICES[0])

    def _lay_out(self) -> None:
        computing = _group(
            tr("Runtime"),
            [(tr("Status"), wrapped_label(_status_text(runtime.status()))), (tr("Python"), self.python)],
            tr(
                "The Python environment in which RoadSeg computes. Set up runtime builds it. Choose another one only "
                "if it has all packages."
            ),
        )
        if os.environ.get(runtime.VARIABLE):
            text = tr("The environment variable {name} is set and takes precedence.")
            computing.layout().addRow(wrapped_label(text.format(name=runtime.VARIABLE)))
        limits = _group(
            tr("Resources"),
            [(tr("Threads"), self.threads), (tr("Memory"), self.memory_gb), (tr("Device"), self.device)],
            tr("These apply if an algorithm's own threads and memory are 0, and its device is auto."),
        )
        files = _group(
            tr("Files"),
            [(tr("Models folder"), self.models_folder)],
            tr(
                "Dialogs start with the newest model in this folder. For a model to write, they propose a new name in "
                "it."
            ),
        )
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        for part in (computing, limits, files, self.problem):
            layout.addWidget(part)
        layout.addStretch()


def _file_widget(mode: QgsFileWidget.StorageMode, title: str, placeholder: str) -> QgsFileWidget:
    widget = QgsFileWidget()
    widget.setStorageMode(mode)
    widget.setDialogTitle(title)
    widget.setDefaultRoot(str(Path.home()))
    widget.lineEdit().setPlaceholderText(placeholder)
    return widget


def _group(title: str, rows: "list[tuple[str, QWidget]]", note: str) -> QGroupBox:
    group = QGroupBox(title)
    form = QFormLayout(group)
    for label, widget in rows:
        form.addRow(label, widget)
    form.addRow(wrapped_label(note))
    return group


def _status_text(status: runtime.Status) -> str:
    return "\n".join(filter(None, (status.text, str(status.python or ""))))
