#!/bin/sh
# Installs QGIS and what a virtual environment needs, on Debian 12; does nothing where both are there.
# Knows Debian's package names and the form of apt's source files; knows no host: the backports source is derived
# from the machine's own.
set -eu

minimum=34000
packages="qgis python3-qgis python3-venv python3-pip"

installed_qgis_version() { # as QGIS counts: 3.40.6 -> 34006
    dpkg-query -W -f '${db:Status-Status} ${Version}\n' python3-qgis 2>/dev/null \
        | awk '$1 == "installed" { sub(/^[0-9]+:/, "", $2); split($2, v, /[.+~-]/); printf "%d%02d%02d", v[1], v[2], v[3] }'
}

all_installed() {
    for package in $packages; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || return 1
    done
    [ "$(installed_qgis_version)" -ge "$minimum" ]
}

explain() {
    cat >&2 <<'TEXT'
RoadSeg needs these on the PATH, and can install them by itself only on Debian 12:
  - QGIS 3.40 or newer with its command line client qgis_process and its Python modules
  - /usr/bin/python3, the Python that imports qgis, with the venv module
Install them with your system's packages (see qgis.org for your system), then run make again.
TEXT
    exit 1
}

add_backports_source() { # prints the stanzas or lines of the release's main suite, moved to backports
    target=/etc/apt/sources.list.d/roadseg-backports
    suite="$VERSION_CODENAME-backports"
    if apt-cache policy | grep -q "n=$suite"; then return; fi
    for file in /etc/apt/sources.list.d/*.sources; do
        [ -f "$file" ] || continue
        awk -v RS= -v main="$VERSION_CODENAME" -v suite="$suite" '
            $0 ~ ("(^|\n)Suites:[^\n]*[ ]" main "([ \n]|$)") {
                sub(/Suites:[^\n]*/, "Suites: " suite); print $0 "\n"; exit }' "$file"
    done | $as_root tee "$target.sources" >/dev/null
    if [ -s "$target.sources" ]; then return; fi
    $as_root rm "$target.sources"
    awk -v main="$VERSION_CODENAME" -v suite="$suite" '
        $1 == "deb" { for (i = 2; i < NF; i++) if ($i == main) { $i = suite; print; exit } }' \
        /etc/apt/sources.list | $as_root tee "$target.list" >/dev/null
    [ -s "$target.list" ] || { echo "No apt source of $VERSION_CODENAME was found to derive backports from." >&2; exit 1; }
}

if command -v dpkg-query >/dev/null && all_installed; then exit 0; fi
[ -r /etc/os-release ] || explain
. /etc/os-release
[ "${ID:-}" = debian ] && [ "${VERSION_ID:-}" = 12 ] || {
    if command -v qgis_process >/dev/null && /usr/bin/python3 -c "
import sys, venv
from qgis.core import Qgis
sys.exit(Qgis.QGIS_VERSION_INT < $minimum)" 2>/dev/null; then exit 0; fi
    explain
}
as_root=""
if [ "$(id -u)" -ne 0 ]; then as_root="sudo"; fi
add_backports_source
# A third-party source that does not answer must not stop the installation.
$as_root apt-get update -q || echo "Some apt sources did not answer; going on with the others." >&2
# shellcheck disable=SC2086  # the package names are words on purpose
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -q -y --no-install-recommends -t "$VERSION_CODENAME-backports" $packages
all_installed || { echo "QGIS 3.40 or newer was not to be had from $VERSION_CODENAME-backports." >&2; exit 1; }
