"""The plugin: provider, parameters, runtime, worker client, layers, styles. Knows QGIS; computes nothing."""
