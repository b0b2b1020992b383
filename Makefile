# make demo · make test · make lab     each sets itself up on first use; nothing but Python >= 3.11 and make is needed
#
#   make setup PYTHON=python3.12                                             with a Python of your choice
#   PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu make setup      a CPU-only torch on Linux (far smaller)

PYTHON      ?= python3
JOBS        ?= 2
PYTEST_ARGS ?=
LAB_ARGS    ?=

VENV  := .venv
BIN   := $(CURDIR)/$(VENV)/bin
STAMP := $(VENV)/.installed

# Our own Jupyter folders: the user's settings and extensions neither break the course nor are touched by it.
# nbgrader's extensions are enabled by files inside .venv, which Jupyter reads as well.
JUPYTER := JUPYTER_CONFIG_DIR="$(CURDIR)/build/jupyter/config" JUPYTER_DATA_DIR="$(CURDIR)/build/jupyter/data"
# No question about news and no look-up of updates: the course works without a network.
QUIET_LAB := --LabApp.news_url=None --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate

# The PATH of the caller makes the virtual environment; from then on .venv/bin comes first (nbgrader starts `alembic`
# and `jupyter` by name).
CALLER_PATH := $(PATH)
export PATH := $(BIN):$(PATH)

.PHONY: help setup demo test lab instructor check clean distclean

help:
	@echo 'make setup       create .venv with the pinned packages (the other targets do it by themselves)'
	@echo 'make demo        build the lessons, grade a sample class, write its feedback to build/demo'
	@echo 'make test        run the tests (PYTEST_ARGS="-m dpo" for some of them, JOBS=0 for one process)'
	@echo 'make lab         open the first lesson in JupyterLab'
	@echo 'make instructor  open the whole course in JupyterLab: solutions as notebooks, formgrader'
	@echo 'make check       ruff, mypy, and whether notebooks/ is what solutions/ gives'
	@echo 'make clean       remove what was built; make distclean: .venv too'

setup: $(STAMP)

$(STAMP): pyproject.toml requirements.lock
	@PATH="$(CALLER_PATH)" "$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
	  { echo "Python 3.11 or newer is needed, and '$(PYTHON)' is not one: name one, as in 'make $(or $(MAKECMDGOALS),setup) PYTHON=python3.12'." >&2; exit 1; }
	@echo "Installing the pinned packages into $(VENV): a few minutes the first time."
	PATH="$(CALLER_PATH)" "$(PYTHON)" -m venv $(VENV)
	"$(BIN)/python" -m pip install --disable-pip-version-check -c requirements.lock -e '.[test,cluster]'
	@touch $(STAMP)

demo: $(STAMP)
	"$(BIN)/grader" build
	"$(BIN)/grader" demo build/demo

test: $(STAMP)
	"$(BIN)/python" -m pytest -q -n $(JOBS) $(PYTEST_ARGS)

lab: $(STAMP)
	"$(BIN)/grader" build
	first=$$(cd notebooks && ls */*.ipynb | head -n 1) && $(JUPYTER) "$(BIN)/jupyter" lab \
	  --notebook-dir=notebooks --LabApp.default_url="/lab/tree/$$first" $(QUIET_LAB) $(LAB_ARGS)

instructor: $(STAMP)
	"$(BIN)/grader" build
	$(JUPYTER) "$(BIN)/jupyter" lab --notebook-dir=. $(QUIET_LAB) $(LAB_ARGS)

check: $(STAMP)
	"$(BIN)/ruff" check .
	"$(BIN)/ruff" format --check .
	"$(BIN)/mypy"
	"$(BIN)/grader" build --check

clean:
	rm -rf build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -print | while read -r folder; do rm -rf "$$folder"; done

distclean: clean
	rm -rf $(VENV)
