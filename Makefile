# Two commands do all the set-up: `make demo` and `make test`. Both are thin over tox, which makes its own environments.
PYTHON ?= python3.11
TOX := .tools/bin/tox
# Interpreters that pyenv keeps are found too; tox skips (and says so) those that are not there.
export PATH := $(PATH):$(subst $(eval ) ,:,$(wildcard $(HOME)/.pyenv/versions/3.12*/bin $(HOME)/.pyenv/versions/3.13*/bin))

.PHONY: demo test lint clean

demo: $(TOX)
	$(TOX) run -q -e demo

# Two at a time what takes one core: making the environments, and reading the code. The tests take both cores by themselves.
test: $(TOX)
	$(TOX) run-parallel -q --notest --parallel 2
	$(TOX) run-parallel -q --skip-pkg-install --parallel 2 -e lint,type
	$(TOX) run --skip-pkg-install -e py311,py312,py313

lint: $(TOX)
	$(TOX) run -e lint,type

$(TOX):
	$(PYTHON) -m venv .tools
	.tools/bin/python -m pip install --quiet "tox>=4.28"

clean:
	rm -rf .tools .tox build dist
