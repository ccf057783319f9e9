#!/bin/bash
# Builds QGIS with Qt 6 from Debian's source package and installs it, as Debian packages none; in_debian.sh runs it in a
# Debian of its own. Takes an hour on two idle cores. Begun again, it goes on where it stopped. Knows no host.
# Left out is what no test uses: the desktop, 3D, databases, translations, debug information.
set -euo pipefail

folder=/var/tmp/qgis-qt6
packages=(bison flex clang cmake dpkg-dev g++ git make mold ninja-build pkgconf python3-pip python3-venv xvfb
    gdal-bin python3-gdal libexiv2-dev libexpat1-dev libgdal-dev libgeos-dev libgsl-dev libproj-dev libprotobuf-dev
    libspatialindex-dev libspatialite-dev libsqlite3-dev libsqlite3-mod-spatialite libzip-dev libzstd-dev
    nlohmann-json3-dev protobuf-compiler libqca-qt6-dev libqca-qt6-plugins libqscintilla2-qt6-dev libqt6sql6-sqlite
    qt6-5compat-dev qt6-base-dev qt6-base-private-dev qt6-multimedia-dev qt6-positioning-dev qt6-serialport-dev
    qt6-svg-dev qt6-svg-plugins qt6-tools-dev qt6-tools-dev-tools qtkeychain-qt6-dev
    pyqt6-dev pyqt6-dev-tools pyqt6.qsci-dev python3-dev python3-pyqt6 python3-pyqt6.qsci python3-pyqt6.qtmultimedia
    python3-pyqt6.qtpositioning python3-pyqt6.qtserialport python3-pyqt6.qtsvg python3-pyqt6.sip python3-pyqtbuild
    python3-sipbuild sip-tools
    python3-jinja2 python3-lxml python3-numpy python3-owslib python3-psycopg2 python3-pygments python3-requests
    python3-termcolor python3-yaml)
off=(ENABLE_TESTS PEDANTIC USE_CCACHE USE_OPENCL WITH_3D WITH_APIDOC WITH_AUTH WITH_COPC WITH_CRASH_HANDLER
    WITH_CUSTOM_WIDGETS WITH_DESKTOP WITH_DRACO WITH_EPT WITH_GRASS WITH_GRASS7 WITH_GRASS8 WITH_INTERNAL_NLOHMANN_JSON
    WITH_OAUTH2_PLUGIN WITH_PDAL WITH_POSTGRESQL WITH_QSCIAPI WITH_QTSERIALPORT WITH_QTWEBENGINE WITH_QTWEBKIT)

sources() {
    local release
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    awk '$1 == "deb" { print "deb-src", $2, $3, $4; print "deb-src", $2, "sid", $4 }' /etc/apt/sources.list \
        | sort -u >/etc/apt/sources.list.d/sources.list
    apt-get update -q
    apt-get install -q -y --no-install-recommends "${packages[@]}"
    rm -rf $folder
    mkdir -p $folder/qwt
    cd $folder
    apt-get source -q --download-only "qgis/$release"
    dpkg-source --no-check -x qgis_*.dsc qgis
    # Qwt knows Qt 6 from 6.2 on, which only sid has.
    apt-get source -q --download-only --tar-only qwt
    tar -xf qwt_*.orig.tar.* -C qwt --strip-components 1
    sed -i -E '/add_subdirectory\((mssql|gpx|wfs)\)/d' qgis/src/providers/CMakeLists.txt
    sed -i -E '/add_subdirectory\((i18n|test|crssync)\)/d' qgis/CMakeLists.txt qgis/src/CMakeLists.txt
    touch $folder/sources
}

qwt() {
    cd $folder/qwt
    sed -i -E 's/^(QWT_CONFIG.*Qwt(Svg|OpenGL|Designer|Examples|Playground|Tests))/#\1/
        s#(QWT_INSTALL_PREFIX +=) .*#\1 /usr/local/qwt#' qwtconfig.pri
    qmake6 QMAKE_CXXFLAGS=-O0 qwt.pro
    make -j2
    make install
    echo /usr/local/qwt/lib >/etc/ld.so.conf.d/qwt.conf
    ldconfig
    touch $folder/qwt.built
}

# Precompiled headers make the build four times as fast.
headers() {
    cat >$folder/headers.cmake <<'TEXT'
function(precompile_headers)
  foreach(header QtCore QtGui QtWidgets QtXml QtNetwork QtSql QtConcurrent qgis.h qgsgeometry.h qgsfeature.h
      qgsexpression.h qgsexpressioncontextutils.h qgsvectorlayer.h qgsrasterlayer.h qgsproject.h qgssymbol.h
      qgsprocessingalgorithm.h qgsprocessingparameters.h qgsapplication.h qgssettingsentryimpl.h qgslayoutitem.h)
    list(APPEND headers "$<$<COMPILE_LANGUAGE:CXX>:<${header}$<ANGLE-R>>")
  endforeach()
  set(targets qgis_core qgis_analysis qgis_gui python_module_qgis__core python_module_qgis__analysis
      python_module_qgis__gui)
  foreach(provider wms wcs arcgisrest spatialite virtual delimitedtext)
    get_property(parts DIRECTORY src/providers/${provider} PROPERTY BUILDSYSTEM_TARGETS)
    list(APPEND targets ${parts})
  endforeach()
  # With them, its qHash is ambiguous.
  set_source_files_properties(${CMAKE_SOURCE_DIR}/src/core/pointcloud/qgspointcloudrequest.cpp
      TARGET_DIRECTORY qgis_core PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  foreach(target IN LISTS targets)
    if(target MATCHES "_a$") # what is compiled again for the module
      set_target_properties(${target} PROPERTIES EXCLUDE_FROM_ALL ON)
    elseif(target MATCHES "^python_module") # Qt's macro slots is no word for Python
      target_precompile_headers(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:<Python.h$<ANGLE-R>>" ${headers})
    elseif(NOT target MATCHES "autogen")
      target_precompile_headers(${target} PRIVATE ${headers})
    endif()
  endforeach()
endfunction()
if(CMAKE_CURRENT_SOURCE_DIR STREQUAL CMAKE_SOURCE_DIR)
  cmake_language(DEFER CALL precompile_headers)
endif()
TEXT
}

configure() {
    headers
    cmake -G Ninja -S $folder/qgis -B $folder/build $(printf -- ' -D%s=OFF' "${off[@]}") \
        -DBUILD_WITH_QT6=ON -DBINDINGS_GLOBAL_INSTALL=ON -DCMAKE_PROJECT_INCLUDE=$folder/headers.cmake \
        -DCMAKE_INSTALL_PREFIX=/usr -DCMAKE_BUILD_TYPE=None -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ \
        -DCMAKE_C_FLAGS="-O0 -w" -DCMAKE_CXX_FLAGS="-O0 -w" -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=mold \
        -DCMAKE_SHARED_LINKER_FLAGS=-fuse-ld=mold -DCMAKE_MODULE_LINKER_FLAGS=-fuse-ld=mold \
        -DQWT_INCLUDE_DIR=/usr/local/qwt/include -DQWT_LIBRARY=/usr/local/qwt/lib/libqwt.so
    touch $folder/configured
}

[ -e $folder/sources ] || sources
[ -e $folder/qwt.built ] || qwt
[ -e $folder/configured ] || configure
ninja -C $folder/build -j2 -k 0 # what one source that fails does not need, is built
ninja -C $folder/build install
# pytest-qgis takes Qt 6 for granted from QGIS 4 on only.
echo "QSettings.IniFormat, QSettings.UserScope = QSettings.Format.IniFormat, QSettings.Scope.UserScope" \
    >>"$(/usr/bin/python3 -c 'import qgis.PyQt.QtCore as module; print(module.__file__)')"
