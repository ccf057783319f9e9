# Each target does all the set-up that it needs, and nothing twice. Everything made here but bytecode lies in build/ and
# demo/; the runtime lies in the person's data folder, as the plugin's own Set up runtime puts it there.
SHELL := /bin/bash
.DELETE_ON_ERROR:
.PHONY: demo docs pictures package starter test test-core test-plugin test-package test-end-to-end test-slow \
    test-routers test-other-set test-device test-hostile test-gui test-ltr test-sid test-qt6 lint lint-windows \
    runtime-python clean

export QT_QPA_PLATFORM := offscreen
# Whatever the environment says: a third of the time until the first test goes into compiling what has not changed.
export PYTHONDONTWRITEBYTECODE :=

QGIS_PYTHON := build/qgis-venv/bin/python
PYTEST := -m pytest -p no:cacheprovider
# Test processes of one thread each: two for the parts that `make test` runs side by side, else three, since many tests
# wait for processes of their own. One that is done takes over tests of the others.
TWO := -n 2 --dist worksteal
THREE := -n 3 --dist worksteal

demo: build/runtime-python.txt
	@/usr/bin/python3 -m scripts.demo $(if $(IMAGE),--image "$(IMAGE)") $(if $(ROADS),--roads "$(ROADS)") \
	    $(if $(AOI),--aoi "$(AOI)")

# The workflows, the pages of the algorithms and the sources of translations; fails where a text has no translation yet, and says which.
docs: build/qgis.stamp
	/usr/bin/python3 -m scripts.make_docs

# The tutorial's pictures, from QGIS itself on a screen that nobody sees; takes some five minutes.
pictures: build/screen.stamp build/runtime-python.txt
	/usr/bin/python3 -m scripts.desktop

# The design's pictures of each step from probability to road network, and the guide's of how roads connect; seconds.
.PHONY: design-pictures
design-pictures: build/runtime-python.txt
	"$$(cat build/runtime-python.txt)" -m scripts.extraction_pictures docs/images/extraction
	"$$(cat build/runtime-python.txt)" -m scripts.connecting_pictures docs/images/connecting

# The zip for the plugin hub and for QGIS' Install from ZIP: build/roadseg.<version>.zip.
package: build/qgis-venv.stamp
	@$(QGIS_PYTHON) -m scripts.package

# A folder of all wheels for a machine without internet, of any platform that scripts/wheels.py names.
.PHONY: wheels
PLATFORM := win_amd64
PYTHON := 3.12
SET := native
TO := build/wheels
wheels: build/qgis-venv.stamp
	@$(QGIS_PYTHON) -m scripts.wheels "$(PLATFORM)" "$(PYTHON)" "$(SET)" all --to "$(TO)"

# Trains the starter from an encoder learned on ImageNet, on scenes and the real ground in GROUND; the one on ResNet34
# labels towns that have no labels. Three trainings, some two and a half hours on one core.
GROUND ?= ../shared/data/real
ENCODER ?= ../shared/weights/efficientnet_lite0_imagenet.safetensors
FROM_IMAGENET := build/starter_from_imagenet
STYLED := build/starter_styled
.PHONY: starter-resnet34
starter: build/runtime-python.txt
	"$$(cat build/runtime-python.txt)" -m scripts.starter.pretrain $(FROM_IMAGENET)_full.safetensors \
	    $(FROM_IMAGENET).safetensors --recipe imagenet --start $(ENCODER) --ground $(GROUND) \
	    --teacher resources/starter/roads_resnet34.safetensors
	"$$(cat build/runtime-python.txt)" -m scripts.starter.pretrain $(STYLED)_full.safetensors \
	    $(STYLED).safetensors --recipe styled --start $(FROM_IMAGENET)_full.safetensors --ground $(GROUND) \
	    --teacher resources/starter/roads_resnet34.safetensors
	"$$(cat build/runtime-python.txt)" -m scripts.starter.pretrain build/starter.safetensors \
	    resources/starter/roads.safetensors --recipe styled --seed 14 --start $(STYLED)_full.safetensors \
	    --ground $(GROUND) --teacher resources/starter/roads_resnet34.safetensors

# What the starter's training draws from as one file of at most 55 MB; scripts/starter/train_pack.py trains from it on
# a GPU, and scripts/starter/from_pack.py makes a starter of the weights.
.PHONY: starter-pack
starter-pack: build/runtime-python.txt
	"$$(cat build/runtime-python.txt)" -m scripts.starter.pack build/starter.pack --ground $(GROUND) \
	    --teacher resources/starter/roads_resnet34.safetensors

# Trains the starter on ResNet34: on generated scenes, then on scenes and real ground, then with that model as a teacher,
# then on twice the ground. Some four hours on two cores.
SCENES_ONLY := build/starter_of_scenes
TEACHER := build/starter_teacher
TAUGHT := build/starter_taught
starter-resnet34: build/runtime-python.txt
	"$$(cat build/runtime-python.txt)" -m scripts.starter.pretrain $(SCENES_ONLY)_full.safetensors \
	    $(SCENES_ONLY).safetensors
	"$$(cat build/runtime-python.txt)" -m scripts.starter.pretrain $(TEACHER)_full.safetensors \
	    $(TEACHER).safetensors --recipe ground --start $(SCENES_ONLY).safetensors --ground $(GROUND)
	"$$(cat build/runtime-python.txt)" -m scripts.starter.pretrain $(TAUGHT)_full.safetensors \
	    $(TAUGHT).safetensors --recipe taught --start $(TEACHER)_full.safetensors --ground $(GROUND) \
	    --teacher $(TEACHER).safetensors
	"$$(cat build/runtime-python.txt)" -m scripts.starter.pretrain build/starter_resnet34.safetensors \
	    resources/starter/roads_resnet34.safetensors --recipe resnet34 --start $(TAUGHT).safetensors --ground $(GROUND) \
	    --teacher $(TAUGHT).safetensors --without shanghai

# Threads that wait give way to the other processes: two that spin beside a third are several times slower.
test-core test-plugin test-package test-end-to-end test-slow test-other-set test-hostile test-gui: export OMP_WAIT_POLICY := passive

# Side by side, so that no core waits: packages that are installed, then the core's tests beside QGIS', one after the
# other. Many of these wait for processes of their own.
test:
	$(MAKE) -j2 build/core-test-packages.stamp build/qgis-venv.stamp
	$(MAKE) lint
	$(MAKE) -j2 --output-sync=target test-core test-plugin test-end-to-end test-package

lint: build/core-test-packages.stamp
	PYTHONPATH=build/core-test-packages "$$(cat build/runtime-python.txt)" -m ruff check --no-cache .
	PYTHONPATH=build/core-test-packages "$$(cat build/runtime-python.txt)" -m ruff format --no-cache --check .
	export PYTHONPATH=build/core-test-packages; \
	"$$(cat build/runtime-python.txt)" -m mypy --cache-dir build/mypy-cache & core=$$!; \
	"$$(cat build/runtime-python.txt)" -m scripts.plugin_types && wait $$core

# The core's types as Windows has them: finds functions of Python that Windows lacks.
lint-windows: build/core-test-packages.stamp
	PYTHONPATH=build/core-test-packages "$$(cat build/runtime-python.txt)" -m mypy \
	    --cache-dir build/mypy-cache-windows --platform win32

test-core: build/core-test-packages.stamp
	PYTHONPATH=build/core-test-packages "$$(cat build/runtime-python.txt)" $(PYTEST) $(TWO) -m "not slow" \
	    tests/core tests/hostile

test-plugin: build/qgis-venv.stamp
	$(QGIS_PYTHON) $(PYTEST) $(TWO) -m "not slow" tests/plugin

test-package: build/qgis-venv.stamp build/runtime-python.txt
	$(QGIS_PYTHON) $(PYTEST) -m "not slow" tests/package

test-end-to-end: build/qgis-venv.stamp build/runtime-python.txt
	$(QGIS_PYTHON) $(PYTEST) $(TWO) -m "not slow" tests/end_to_end

# What takes long and shows what changes rarely; no part of `make test`.
test-slow: build/core-test-packages.stamp build/stac-test-packages.stamp build/qgis-venv.stamp lint-windows \
    test-other-set
	PYTHONPATH=build/core-test-packages "$$(cat build/runtime-python.txt)" $(PYTEST) $(THREE) -m slow tests/core
	PYTHONPATH=build/core-test-packages:build/stac-test-packages "$$(cat build/runtime-python.txt)" $(PYTEST) tests/stac
	$(QGIS_PYTHON) $(PYTEST) $(THREE) -m slow tests/plugin
	$(QGIS_PYTHON) $(PYTEST) -m slow tests/package
	$(QGIS_PYTHON) $(PYTEST) $(THREE) -m slow tests/end_to_end

# Models and learning with the requirement set that `auto` does not take on this machine: native, or else ipex.
test-other-set: build/core-test-packages.stamp build/other-set-python.txt
	PYTHONPATH=build/core-test-packages "$$(cat build/other-set-python.txt)" $(PYTEST) $(THREE) -m "not slow" \
	    tests/core/models tests/core/learning

# Models, learning, segmentation and a fine-tune on this machine's GPU, at most 8 minutes; without one, it says so. Any
# Python will do that has PyTorch for the GPU and the packages of the core: make test-device DEVICE_PYTHON=python3.
DEVICE_PYTHON = $$(cat build/runtime-python.txt)
test-device: $(if $(filter command line,$(origin DEVICE_PYTHON)),,build/core-test-packages.stamp)
	PYTHONPATH=build/core-test-packages "$(DEVICE_PYTHON)" $(PYTEST) -sv tests/device

# OpenStreetMap files in OSMnx and Valhalla, which are no part of the runtime. Of Valhalla's wheel, for Python 3.12 or
# newer, only the programs are used; they run beside any Python.
test-routers: build/core-test-packages.stamp build/router-packages.stamp
	PYTHONPATH=build/router-packages:build/core-test-packages "$$(cat build/runtime-python.txt)" $(PYTEST) -m slow \
	    tests/core/pipelines/test_osm_routers.py

# All hostile input, of which `make test` tries a fixed set; kills at random moments, and inputs that change while they
# are read, which it leaves out. The plugin's run even where one of the core's fails.
test-hostile: build/core-test-packages.stamp build/qgis-venv.stamp
	PYTHONPATH=build/core-test-packages "$$(cat build/runtime-python.txt)" $(PYTEST) $(THREE) --all-cases tests/hostile; \
	core=$$?; $(QGIS_PYTHON) $(PYTEST) $(THREE) tests/plugin/hostile && exit $$core

# QGIS' own window under Xvfb; no part of `make test`, since how long a window may be dead is a matter of the machine.
test-gui: build/qgis-venv.stamp build/screen.stamp build/runtime-python.txt
	$(QGIS_PYTHON) $(PYTEST) tests/gui

# What depends on QGIS, with that of other Debian suites: the long term release, and the newest with the newest Python.
# Needs root, 2.5 GB each, and three minutes to install a suite the first time.
test-ltr: SUITE := trixie-backports
test-sid: SUITE := sid
test-ltr test-sid: build/qgis-venv.stamp build/runtime-python.txt
	scripts/in_debian.sh $(SUITE) $(MAKEOVERRIDES) test-plugin test-package test-end-to-end test-gui

# With a QGIS that is built with Qt 6 for this, less its window: two hours of computing and 12 GB the first time.
test-qt6: build/qgis-venv.stamp build/runtime-python.txt
	scripts/in_debian.sh qt6 $(MAKEOVERRIDES) test-plugin test-package test-end-to-end

# Prints the path of the runtime's Python, building the runtime first where it is missing.
runtime-python: build/runtime-python.txt
	@cat build/runtime-python.txt

clean:
	rm -rf build demo

build/qgis.stamp: scripts/install_qgis_debian.sh
	@mkdir -p build
	@scripts/install_qgis_debian.sh >&2
	@touch $@

build/screen.stamp: build/qgis.stamp
	@command -v Xvfb >/dev/null || $$([ "$$(id -u)" -eq 0 ] || echo sudo) apt-get install -q -y --no-install-recommends xvfb >&2
	@touch $@

build/qgis-venv.stamp: build/qgis.stamp tests/plugin/requirements.txt
	/usr/bin/python3 -m venv --clear --system-site-packages build/qgis-venv
	$(QGIS_PYTHON) -m pip install --quiet --no-compile -r tests/plugin/requirements.txt
	@touch $@

# Made anew where the runtime's requirements change, or where the runtime it names has gone.
build/runtime-python.txt: build/qgis.stamp $(addprefix resources/runtime/, \
        ipex.txt native.txt common.txt onnx.txt openvino.txt quantize.txt osm.txt) \
    $(shell [ -x "$$(cat build/runtime-python.txt 2>/dev/null)" ] || echo always)
	@/usr/bin/python3 -m scripts.setup_runtime > $@

# In a data folder of its own, as the set that was set up last is the one used.
build/other-set-python.txt: build/runtime-python.txt
	@XDG_DATA_HOME="$(abspath build/other-set)" /usr/bin/python3 -m scripts.setup_runtime \
	    $$(grep -q /native- $< && echo ipex || echo native) > $@

# Beside the runtime, so that the runtime stays what a person has; only what is imported is compiled, then. PyQt6 gives
# its stubs alone.
build/core-test-packages.stamp: build/runtime-python.txt tests/core/requirements.txt tests/core/stubs.txt
	rm -rf build/core-test-packages
	"$$(cat build/runtime-python.txt)" -m pip install --quiet --no-compile --target build/core-test-packages \
	    -r tests/core/requirements.txt
	"$$(cat build/runtime-python.txt)" -m pip install --quiet --no-compile --no-deps --target build/core-test-packages \
	    -r tests/core/stubs.txt
	@touch $@

# Apart from them, since they bring a numpy of their own.
build/stac-test-packages.stamp: build/runtime-python.txt tests/stac/requirements.txt
	rm -rf build/stac-test-packages
	"$$(cat build/runtime-python.txt)" -m pip install --quiet --target build/stac-test-packages \
	    -r tests/stac/requirements.txt
	@touch $@

build/router-packages.stamp: build/runtime-python.txt
	rm -rf build/router-packages
	"$$(cat build/runtime-python.txt)" -m pip install --quiet --no-deps --target build/router-packages osmnx
	"$$(cat build/runtime-python.txt)" -m pip install --quiet --no-deps --target build/router-packages \
	    --only-binary=:all: --python-version 3.12 --abi abi3 --platform manylinux_2_28_x86_64 pyvalhalla
	@touch $@

.PHONY: always
always:
