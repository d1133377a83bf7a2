# Two commands on a fresh machine: `make fit` (data, training, scores, report) and `make test`.
PYTHON ?= python3
ARGS ?= model=edge env=physics5 loss.epochs.quick=12
BIN := .venv/bin
VENV = $$($(PYTHON) -c "import sys; print('python%d.%d-venv' % sys.version_info[:2])")
export WANDB_MODE ?= offline

.PHONY: fit test slow bench clean

fit: .venv/core
	$(BIN)/python train/fit.py $(ARGS)

test: .venv/installed
	ALL_EXTRAS=1 $(BIN)/python -m pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

slow: .venv/installed
	$(BIN)/python -m pytest -m slow

bench: .venv/installed
	$(BIN)/python benchmarks/hot_paths.py

# torch and torchvision go in together first: a torchvision beside a torch it was not
# built for breaks `import pytorch_lightning`. A partly made .venv is repaired, since the
# stamps are written last. A fresh Debian may lack the venv module; the first line says so.
# `make fit` needs the core alone: the extras that the tests want would cost it a minute.
.venv/core: setup.py
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11))" || { \
	  echo "$(PYTHON) is older than 3.11: name another, make PYTHON=python3.11" >&2; exit 1; }
	@$(PYTHON) -c "import ensurepip, venv" 2>/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -qq && apt-get install -y -qq $(VENV); \
	  else echo "The Python module 'venv' is missing: run  sudo apt-get install $(VENV)  and try again." >&2; exit 1; fi; }
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip setuptools
	$(BIN)/pip install --quiet torch torchvision
	$(BIN)/pip install --quiet --editable .
	@touch $@

.venv/installed: .venv/core
	$(BIN)/pip install --quiet --editable ".[dev]"
	@touch $@

clean:
	rm -rf .venv runs data
