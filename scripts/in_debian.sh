#!/bin/bash
# Runs targets of the Makefile with the QGIS of another Debian suite: scripts/in_debian.sh sid test-plugin test-gui
# "qt6" is trixie with a QGIS that scripts/qgis_qt6.sh builds there, in an hour; ended early, it goes on next time.
# The suite lies in a chroot in build/debian/, which is filled once, from the machine's own mirror; delete it for newer
# packages. Inside are this checkout, with a build folder of the suite's own, and the machine's runtime. Knows no host.
set -euo pipefail

suite=${1/qt6/trixie}
release=${suite%-backports}
targets=("${@:2}")
debian=$PWD/build/debian/$1
root=$debian/root
requirements=tests/plugin/requirements.txt
wheels=$debian/build/wheels

[ "$(id -u)" -eq 0 ] || { echo "Only root can enter another Debian; run this as root." >&2; exit 1; }
# Nobody else sees what is mounted here, and it goes with the last process.
[ "${OWN_MOUNTS:-}" ] || OWN_MOUNTS=yes exec unshare --mount "$0" "$@"

inside() {
    chroot "$root" env -i HOME="$HOME" PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"
}

show() { # a folder, or a file: FROM [TO]
    local to=$root${2:-$1}
    if [ -d "$1" ]; then mkdir -p "$to"; else mkdir -p "$(dirname "$to")" && touch "$to"; fi
    mount --rbind "$1" "$to"
}

mirror() {
    local codename
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Component: main' \
        "Codename: $codename" | grep -m 1 . || { echo "apt has no source of a Debian whose mirror to use." >&2; return 1; }
}

bootstrap() {
    local mirror
    mirror=$(mirror)
    command -v debootstrap >/dev/null || apt-get install -q -y --no-install-recommends debootstrap
    rm -rf --one-file-system "$debian"
    mkdir -p "$debian/build"
    debootstrap --variant=minbase "$release" "$root" "$mirror"
    printf 'deb %s %s main\n' "$mirror" "$release" "$mirror" "$suite" | sort -u >"$root/etc/apt/sources.list"
    apt-config dump Acquire >"$root/etc/apt/apt.conf.d/as-outside" # proxies, and whether old lists will do
}

install_qgis() {
    if [ "$1" = qt6 ]; then
        install scripts/qgis_qt6.sh "$root/usr/local/sbin/"
        inside nice /usr/local/sbin/qgis_qt6.sh
    else
        inside apt-get update -q
        inside apt-get install -q -y --no-install-recommends -t "$suite" \
            qgis python3-qgis python3-venv python3-pip xvfb make git
    fi
    inside apt-get clean
    touch "$debian/installed"
}

show_runtime() { # as an environment of the same path upon the same Python, which may not be the suite's python3
    local python each
    mapfile -t python < <("$(<build/runtime-python.txt)" -c '
import os, sys, sysconfig
executable = os.path.realpath(sys.executable)
whole = [executable, sysconfig.get_path("stdlib")] if sys.base_prefix == "/usr" else [sys.base_prefix]
print(executable, sys.prefix, *whole, sep="\n")')
    for each in "${python[@]:2}"; do show "$each"; done
    inside "${python[0]}" -m venv --without-pip "${python[1]}"
    show "${python[1]}/lib"
}

fetch_wheels() { # for the suite's Python, by the pip outside, which knows from where
    local version
    version=$(inside python3 -c 'import sys; print("{}.{}".format(*sys.version_info))')
    build/qgis-venv/bin/python -m pip download --quiet --only-binary :all: --python-version "$version" \
        --dest "$wheels" -r "$requirements"
    touch "$wheels"
}

[ -e "$root/etc/apt/apt.conf.d/as-outside" ] || bootstrap
for folder in /proc /sys /dev; do show "$folder"; done
[ -e "$debian/installed" ] || install_qgis "$1"
show "$PWD"
if git=$(git -c safe.directory="$PWD" rev-parse --path-format=absolute --git-common-dir); then show "$git"; fi
show "$debian/build" "$(realpath build)"
show_runtime
[ "$wheels" -nt "$requirements" ] || fetch_wheels
inside env PIP_NO_INDEX=1 PIP_FIND_LINKS="$PWD/build/wheels" make -C "$PWD" build/qgis-venv.stamp
inside make -C "$PWD" --keep-going "${targets[@]}"
