from roadseg.qgis_roadseg.runtime.environment import cleaned


def test_what_belongs_to_qgis_goes_and_what_tells_of_networks_stays():
    kept = {
        "PATH": "/usr/bin",
        "HOME": "/home/x",
        "HTTPS_PROXY": "http://proxy",
        "SSL_CERT_FILE": "/etc/certs",
        "PIP_INDEX_URL": "https://mirror",
        "REQUESTS_CA_BUNDLE": "/etc/certs",
        "ROADSEG_PYTHON": "/opt/python",
    }
    gone = {
        "PYTHONHOME": "/opt/qgis",
        "PYTHONPATH": "/opt/qgis/python",
        "PythonPath": "C:\\qgis",
        "PROJ_LIB": "/opt/qgis/proj",
        "PROJ_DATA": "/opt/qgis/proj",
        "GDAL_DATA": "/opt/qgis/gdal",
        "GDAL_DRIVER_PATH": "/opt/qgis/gdal",
        "LD_LIBRARY_PATH": "/opt/qgis/lib",
        "LD_PRELOAD": "/opt/qgis/lib/x.so",
        "DYLD_LIBRARY_PATH": "/opt/qgis/lib",
        "QT_PLUGIN_PATH": "/opt/qgis/qt",
        "QGIS_PREFIX_PATH": "/opt/qgis",
        "VIRTUAL_ENV": "/opt/venv",
        "OSGEO4W_ROOT": "C:\\OSGeo4W",
    }
    assert cleaned({**kept, **gone}) == kept
