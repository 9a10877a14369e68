"""Runs programs in fresh processes and reports the fingerprint each gives: the real `datasets` is the oracle.

A program binds `out` to the mapped Dataset (or DatasetDict). One process is started for each environment; it imports
the libraries once and forks for each program, so that no program sees what another one left behind.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

# What differs between two runs of one program: the hash seed, the process, and three settings a program may read.
ENVIRONMENTS: tuple[dict[str, str], ...] = (
    {"PYTHONHASHSEED": "0"},
    {"PYTHONHASHSEED": "1", "RUN_DIR": "runs/1", "OUT": "out/1"},
    {"PYTHONHASHSEED": "2", "RANK_": "1"},
)

_CHILD = r"""
import json, os, sys, tempfile, types
import datasets, numpy
programs, answers = sys.argv[1], sys.argv[2]
datasets.disable_progress_bars()
found = {}
for name, code, heavy in json.load(open(programs)):
    # The programs that need them come last: a process that has loaded them takes longer to fork.
    for library in heavy:
        __import__(library)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        os.chdir(tempfile.mkdtemp())
        main = types.ModuleType("__main__")
        main.__file__ = "program.py"
        sys.modules["__main__"] = main
        sys.argv = ["program.py"]
        try:
            exec(compile(code, "program.py", "exec"), main.__dict__)
            out = main.__dict__["out"]
            answer = {k: v._fingerprint for k, v in out.items()} if isinstance(out, dict) else out._fingerprint
        except BaseException as error:
            answer = f"raises {type(error).__name__}: {error}"
        os.write(writer, json.dumps(answer).encode() + b"\n")
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        # One line, not to the end: what a program started may outlive it and keep the pipe open.
        found[name] = json.loads(pipe.readline() or '"raises: nothing came back"')
    os.waitpid(child, 0)
json.dump(found, open(answers, "w"))
"""


def _heavy(code: str) -> list[str]:
    return [library for library in ("torch", "transformers") if library in code]


def _may_still_move(answers: list[object]) -> bool:
    return len({json.dumps(answer) for answer in answers}) < 2


def run(
    programs: Mapping[str, str], environments: tuple[dict[str, str], ...] = ENVIRONMENTS
) -> dict[str, list[object]]:
    """Each program's fingerprint in each environment, until it has moved; a program that raises gives `raises ...`."""
    answers: dict[str, list[object]] = {name: [] for name in programs}
    with tempfile.TemporaryDirectory() as folder:
        listing = Path(folder, "programs.json")
        for position, environment in enumerate(environments):
            # To move once is to move: the environments after that would say nothing more of a program.
            left = {name: code for name, code in programs.items() if _may_still_move(answers[name])}
            listed = [(name, code, _heavy(code)) for name, code in left.items()]
            listing.write_text(json.dumps(sorted(listed, key=lambda each: len(each[2]))))
            answer = Path(folder, f"answer{position}.json")
            inherited = {k: v for k, v in os.environ.items() if k not in ("RUN_DIR", "OUT", "RANK_", "PYTHONHASHSEED")}
            settings = inherited | {"HF_HUB_OFFLINE": "1", "HF_HOME": folder, "OMP_NUM_THREADS": "1"} | environment
            done = subprocess.run(
                [sys.executable, "-c", _CHILD, str(listing), str(answer)],
                env=settings,
                capture_output=True,
                text=True,
                check=False,
                timeout=1200,
            )
            assert done.returncode == 0, done.stderr[-2000:]
            for name, fingerprint in json.loads(answer.read_text()).items():
                answers[name].append(fingerprint)
    return answers


def moves(fingerprints: list[object]) -> bool:
    """True if the program gave more than one fingerprint; a program that raised proves nothing and is an error."""
    for fingerprint in fingerprints:
        assert not (isinstance(fingerprint, str) and fingerprint.startswith("raises")), fingerprint
    return len({json.dumps(fingerprint) for fingerprint in fingerprints}) > 1
