"""Set up runtime: build the Python environment that computes, or find that it is there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from qgis.core import (
    QgsProcessingContext,
    QgsProcessingFeedback,
    QgsProcessingOutputString,
    QgsProcessingParameterBoolean,
    QgsProcessingParameterDefinition,
    QgsProcessingParameterEnum,
    QgsProcessingParameterFile,
    QgsProcessingParameterString,
)

from ..qgis_roadseg.runtime import build, runtime
from ..qgis_roadseg.toolbox.algorithm import RoadSegAlgorithm, help_text


class SetUpRuntime(RoadSegAlgorithm):
    """Where the packages come from in; a working Python out."""

    group_id = "runtime"
    keywords = "install,python,environment,pip,dependencies,pytorch,torch"

    REQUIREMENTS = "REQUIREMENTS"
    INDEX_URL = "INDEX_URL"
    EXTRA_INDEX_URL = "EXTRA_INDEX_URL"
    WHEELS = "WHEELS"
    PYTHON = "PYTHON"
    FORCE = "FORCE"
    VERSION = "VERSION"

    AUTO = "auto"

    def initAlgorithm(self, config: Any = None) -> None:
        """Declare parameters and outputs."""
        names = [self.AUTO, *runtime.REQUIREMENT_SETS]
        self._add(
            QgsProcessingParameterEnum(
                self.REQUIREMENTS, self.tr("Packages"), names, False, self.AUTO, usesStaticStrings=True
            ),
            self.tr(
                "Which PyTorch: ipex is version 2.8 with the Intel extension, for Linux; native is the newest; "
                "auto takes ipex where it can be had."
            ),
        )
        self._add(
            QgsProcessingParameterString(self.EXTRA_INDEX_URL, self.tr("Extra index URL"), optional=True),
            self.tr("A package index beside the usual one, such as one that has CPU-only builds of PyTorch."),
        )
        self._add(
            QgsProcessingParameterString(self.INDEX_URL, self.tr("Index URL"), optional=True),
            self.tr("A package index instead of the usual one, such as your organization's mirror."),
        )
        self._add(
            QgsProcessingParameterFile(
                self.WHEELS, self.tr("Folder of wheels"), QgsProcessingParameterFile.Behavior.Folder, optional=True
            ),
            self.tr("A folder that holds all packages, for a machine without internet; no index is asked then."),
        )
        self._add(
            QgsProcessingParameterBoolean(self.FORCE, self.tr("Build anew"), False),
            self.tr("Replace a runtime that is there, even where it works."),
        )
        self._add(
            QgsProcessingParameterFile(self.PYTHON, self.tr("Base Python"), optional=True),
            self.tr("The Python to build upon; where none is given, QGIS' own or one on the PATH is taken."),
            advanced=True,
        )
        self.addOutput(QgsProcessingOutputString(self.PYTHON, self.tr("The runtime's Python")))
        self.addOutput(QgsProcessingOutputString(self.VERSION, self.tr("Versions")))

    def _add(self, parameter: QgsProcessingParameterDefinition, help_text: str, advanced: bool = False) -> None:
        parameter.setHelp(help_text)
        if advanced:
            parameter.setFlags(parameter.flags() | QgsProcessingParameterDefinition.Flag.FlagAdvanced)
        self.addParameter(parameter)

    def name(self) -> str:
        """Return the id."""
        return "setupruntime"

    def displayName(self) -> str:
        """Return the name in the toolbox."""
        return self.tr("Set up runtime")

    def shortDescription(self) -> str:
        """Return the tooltip in the toolbox."""
        return self.tr("Build the Python environment in which RoadSeg computes, or find that it is there.")

    def shortHelpString(self) -> str:
        """Return the help."""
        what = self.tr(
            "Builds the Python environment in which RoadSeg computes, outside of QGIS and of this plugin's folder. "
            "It is needed once, downloads up to some gigabytes, and takes some minutes. "
            "A runtime that is there and works is kept."
        )
        return help_text(what, self.parameterDefinitions())

    def _work(
        self, parameters: dict[str, Any], context: QgsProcessingContext, feedback: QgsProcessingFeedback
    ) -> dict[str, Any]:
        """Find a runtime that works, or build one."""
        requirements = runtime.REQUIREMENT_SETS.get(self.parameterAsEnumString(parameters, self.REQUIREMENTS, context))
        sources = build.Sources(
            self.parameterAsString(parameters, self.INDEX_URL, context),
            self.parameterAsString(parameters, self.EXTRA_INDEX_URL, context),
            self._path(parameters, self.WHEELS, context),
        )
        base = self._path(parameters, self.PYTHON, context)
        force = self.parameterAsBoolean(parameters, self.FORCE, context)
        python, versions = build.set_up(requirements, sources, Path(base) if base else None, force, feedback)
        version = ", ".join(f"{name} {number}" for name, number in versions.items() if number)
        feedback.pushInfo(self.tr("RoadSeg's runtime is {python}: {version}").format(python=python, version=version))
        return {self.PYTHON: str(python), self.VERSION: version}

    def _path(self, parameters: dict[str, Any], name: str, context: QgsProcessingContext) -> str:
        text = self.parameterAsString(parameters, name, context)
        return os.path.abspath(text) if text else ""
