# Two commands do all the set-up: `make demo` and `make test`. Both are thin over tox, which makes its own environments.
PYTHON ?= python3.11
TOX := .tools/bin/tox
# Interpreters that pyenv keeps are found too; tox skips (and says so) those that are not there.
export PATH := $(PATH):$(subst $(eval ) ,:,$(wildcard $(HOME)/.pyenv/versions/3.12*/bin $(HOME)/.pyenv/versions/3.13*/bin))

.PHONY: demo test lint clean

demo: $(TOX)
	$(TOX) run -q -e demo

test: $(TOX)
	$(TOX) run

lint: $(TOX)
	$(TOX) run -e lint,type

$(TOX):
	$(PYTHON) -m venv .tools
	.tools/bin/python -m pip install --quiet "tox>=4.28"

clean:
	rm -rf .tools .tox build dist
