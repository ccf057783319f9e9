"""Regenerate what follows from the code: workflow models, pages in docs, translation sources, the import table.

Fails if a text has no translation yet, and lists those texts.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from qgis.analysis import QgsNativeAlgorithms
from qgis.core import QgsApplication

from scripts import algorithm_pages, import_table, processing_models
from scripts.translation_sources import ROOT, find_texts, source_text


def main() -> int:
    """Rewrite the files; return how many texts have no translation."""
    import_table.write_table()
    application = QgsApplication([], False)
    application.initQgis()
    application.processingRegistry().addProvider(QgsNativeAlgorithms(application.processingRegistry()))
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "roadseg").symlink_to(ROOT, target_is_directory=True)
        sys.path.insert(0, folder)
        from roadseg import classFactory
        from roadseg.algorithms import ALGORITHMS
        from roadseg.qgis_roadseg import translation
        from roadseg.qgis_roadseg.toolbox.provider import make_algorithms

        plugin = classFactory(None)
        plugin.initProcessing()
        translation.set_locale("en")
        processing_models.write_models()
        algorithms = [algorithm.create() for algorithm in make_algorithms(ALGORITHMS)]
        texts = find_texts(algorithms)
        missing, names = [], {}
        for language in translation.languages():
            source = translation.source(language)
            names[language] = translation.read_translations(source)
            source.write_text(source_text(language, texts, names[language]), encoding="utf-8")
            missing += [f"{source.relative_to(ROOT)}: {text}" for text in texts if text not in names[language]]
        algorithm_pages.write_pages(algorithm_pages.make_pages(algorithms, names))
    if missing:
        print("These texts have no translation yet:", *missing, sep="\n", file=sys.stderr)
    application.exitQgis()
    return len(missing)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
