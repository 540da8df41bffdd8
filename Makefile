PYTHON ?= $(shell command -v python3.11 || command -v python3)
PIP = -m pip install --quiet --disable-pip-version-check
USE = .venv/bin
DEV = .venv-dev/bin
LANGUAGE ?= en

.PHONY: demo cloze check test test-ray format wheel clean

demo: .venv/ready
	$(USE)/morphorder run --out morphorder-run

# make cloze TREEBANKS="UD_English-EWT UD_English-PUD" UNIMORPH=eng.tsv CORPUS=en.txt.xz
cloze: demo
	$(USE)/morphorder cloze build $(TREEBANKS:%=--treebank %) --unimorph $(UNIMORPH) --corpus $(CORPUS) --out morphorder-cloze
	$(USE)/morphorder cloze audit morphorder-cloze:$(LANGUAGE)
	$(USE)/morphorder cloze run morphorder-cloze:$(LANGUAGE) --out morphorder-run/cloze/$(LANGUAGE)
	$(USE)/morphorder report morphorder-run

check: .venv-dev/ready
	$(DEV)/ruff format --check .
	$(DEV)/ruff check .
	$(DEV)/mypy
	$(DEV)/lint-imports

test: .venv-dev/ready
	$(DEV)/python -m pytest -n 2 --dist loadfile

test-ray: .venv-dev/ready
	$(DEV)/python -m pytest tests/cluster -m ''

format: .venv-dev/ready
	$(DEV)/ruff format .
	$(DEV)/ruff check --fix .

wheel: .venv-dev/ready
	$(DEV)/python -m build --outdir dist .

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(USE)/python $(PIP) -e '.[cpu]'
	@touch $@

.venv-dev/ready: pyproject.toml
	$(PYTHON) -m venv .venv-dev
	$(DEV)/python $(PIP) torch==2.13.0
	$(DEV)/python $(PIP) -e '.[cpu,export,cluster,dev]'
	@touch $@

clean:
	rm -rf .venv .venv-dev dist build *.egg-info
