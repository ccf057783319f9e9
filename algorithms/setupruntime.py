"""Processing algorithm *Set up runtime*: install the Python environment of the worker, unless it exists."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from qgis.core import (
    QgsProcessingContext,
    QgsProcessingFeedback,
    QgsProcessingOutputString,
    QgsProcessingParameterBoolean,
    QgsProcessingParameterEnum,
    QgsProcessingParameterFile,
    QgsProcessingParameterString,
)

from ..qgis_roadseg.runtime import build, runtime
from ..qgis_roadseg.runtime.runtime import CPU, CUDA
from ..qgis_roadseg.runtime.sources import Sources
from ..qgis_roadseg.toolbox.algorithm import RoadSegAlgorithm, Values


class SetUpRuntime(RoadSegAlgorithm):
    """Package sources in; a Python with the packages asked for out."""

    own_name = "setupruntime"
    title = "Set up runtime"
    summary = "Install the Python environment in which RoadSeg computes, unless it exists."
    description = (
        "Installs the Python environment in which RoadSeg computes, outside QGIS and the plugin's folder. You "
        f"need to run it only once. It downloads {CPU.download_gb} to {CUDA.download_gb} GB and takes a few "
        "minutes. Packages that only some jobs need are installed when one of these asks for them. On Linux, PyTorch "
        "comes from its own index of CPU builds if that index can be reached. This does not apply if you give an "
        "index or wheels here, or an index in the configuration of pip or uv. An existing runtime that works is kept."
    )
    group_id = "runtime"
    keywords = "install,python,environment,pip,dependencies,pytorch,torch"

    REQUIREMENTS = "REQUIREMENTS"
    INDEX_URL = "INDEX_URL"
    EXTRA_INDEX_URL = "EXTRA_INDEX_URL"
    WHEELS = "WHEELS"
    PYTHON = "PYTHON"
    ALSO_INSTALL = "ALSO_INSTALL"
    FORCE = "FORCE"
    VERSION = "VERSION"

    AUTO = "auto"

    def initAlgorithm(self, config: Any = None) -> None:
        names = [self.AUTO, *runtime.REQUIREMENT_SETS]
        self._add(
            QgsProcessingParameterEnum(
                self.REQUIREMENTS, self.tr("Packages"), names, False, self.AUTO, usesStaticStrings=True
            ),
            self.tr(
                "Package set. ipex is PyTorch 2.8 with the Intel extension, for Linux. native is the newest PyTorch. "
                "auto takes ipex on Linux with an Intel processor that has AVX-512 or AMX, and native elsewhere. cuda "
                "is for GPUs by NVIDIA, and xpu for GPUs by Intel. Apple's GPU needs no other set than native."
            ),
        )
        self._add(
            QgsProcessingParameterString(self.EXTRA_INDEX_URL, self.tr("Extra index URL"), optional=True),
            self.tr("Additional package index, such as your organization's."),
        )
        self._add(
            QgsProcessingParameterString(self.INDEX_URL, self.tr("Index URL"), optional=True),
            self.tr("Package index to use instead of the default, such as your organization's mirror."),
        )
        self._add(
            QgsProcessingParameterFile(
                self.WHEELS, self.tr("Folder of wheels"), QgsProcessingParameterFile.Behavior.Folder, optional=True
            ),
            self.tr("Folder with all packages as wheels, for offline installation. With it, no package index is used."),
        )
        self._add(
            QgsProcessingParameterEnum(
                self.ALSO_INSTALL, self.tr("Also install"), list(runtime.ADDED_SETS), True, [], True, True
            ),
            self.tr(
                "Sets of packages that only some jobs need, installed into the runtime if they are missing: onnx to "
                "export models; openvino, an engine that is often faster and runs ONNX models; quantize; osm for files "
                "of OpenStreetMap; fleet to map a region on several machines, and for GeoParquet. all takes all, as "
                "for a machine without internet."
            ),
        )
        self._add(
            QgsProcessingParameterBoolean(self.FORCE, self.tr("Rebuild"), False),
            self.tr("Replace an existing runtime, even if it works."),
        )
        self._add(
            QgsProcessingParameterFile(self.PYTHON, self.tr("Base Python"), optional=True),
            self.tr(
                "Python interpreter for building the runtime. By default, QGIS' own interpreter or another one that "
                "works."
            ),
            advanced=True,
        )
        self.addOutput(QgsProcessingOutputString(self.PYTHON, self.tr("The runtime's Python")))
        self.addOutput(QgsProcessingOutputString(self.VERSION, self.tr("Versions")))

    def _work(self, parameters: Values, context: QgsProcessingContext, feedback: QgsProcessingFeedback) -> Values:
        requirements = runtime.REQUIREMENT_SETS.get(self.parameterAsEnumString(parameters, self.REQUIREMENTS, context))
        sources = Sources(
            self.parameterAsString(parameters, self.INDEX_URL, context),
            self.parameterAsString(parameters, self.EXTRA_INDEX_URL, context),
            self._path(parameters, self.WHEELS, context),
        )
        base = self._path(parameters, self.PYTHON, context)
        force = self.parameterAsBoolean(parameters, self.FORCE, context)
        self._names = self.parameterAsEnumStrings(parameters, self.ALSO_INSTALL, context)
        added = [runtime.ADDED_SETS[name] for name in self._names]
        python, versions = build.set_up(requirements, sources, Path(base) if base else None, force, feedback, added)
        version = ", ".join(f"{name} {number}" for name, number in versions.items() if number)
        feedback.pushInfo(self.tr("RoadSeg's runtime is {python}: {version}").format(python=python, version=version))
        return {self.PYTHON: str(python), self.VERSION: version}

    def postProcessAlgorithm(self, context: QgsProcessingContext, feedback: QgsProcessingFeedback) -> dict[str, Any]:
        """Tell the window, in whose thread this runs, unless a job has asked for packages: it can be run again."""
        if self._names in ([], ["all"]):
            self.provider().runtime_ready.emit()
        return {}

    def _path(self, parameters: Values, name: str, context: QgsProcessingContext) -> str:
        text = self.parameterAsString(parameters, name, context)
        return os.path.abspath(text) if text else ""
