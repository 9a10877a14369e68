"""Runs the default shape and module rules over pinned packages and compares the findings with the verdicts.

usage: real_packages.py [--cache FOLDER] [PACKAGE ...]

Every package is downloaded as published (the source archive where it can be had without building, else the wheel),
unpacked into the cache folder and checked. Printed are the lines, the findings for each rule and, at the end, what
`results/verdicts.md` does not know: findings without a verdict, and verdicts whose finding is gone. Exits 1 if there
is a finding without a verdict, 2 if a package cannot be had or the check fails.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

RULES = ("TSR101", "TSR102", "TSR111", "TSR112", "TSR201", "TSR202", "TSR301")
VERDICTS = Path(__file__).parent / "results" / "verdicts.md"
_ROW = re.compile(r"^\| ([\w.-]+-\d[\w.]*) \| (\S+) \| (\d+) \| (TSR\d+) \| (true|false) \|")

# Taken as a source archive, with its tests and examples.
SOURCES = (
    "accelerate==1.15.0", "botorch==0.18.1", "darts==0.48.1", "diffusers==0.42.1", "einops==0.8.2",
    "elegantrl==0.3.6", "fairseq==0.12.2", "fastai==2.8.12", "gpytorch==1.15.2", "kornia==0.9.0",
    "lightning-bolts==0.7.0", "mne==1.13.2", "neuralforecast==3.3.0", "neurodiffeq==0.7.0", "nilearn==0.14.1",
    "numpy-ml==0.1.2", "peft==0.21.2", "pfrl==0.4.0", "pykeen==1.11.1", "pyro_ppl==1.9.2",
    "pytorch_forecasting==1.8.0", "segmentation_models_pytorch==0.6.0", "sentence_transformers==6.2.0",
    "skorch==1.4.0", "speechbrain==1.1.2", "stable_baselines3==2.9.2", "torchmetrics==1.9.0", "trl==1.16.0",
    "ultralytics==8.4.190",
)  # fmt: skip
# Taken as a wheel: the source archive has no metadata without a compiler or a build of its own.
WHEELS = (
    "avalanche_lib==0.6.0", "cleverhans==4.0.0", "d3rlpy==2.8.1", "deepctr_torch==0.3.0", "deepxde==1.15.0",
    "econml==0.17.0", "filterpy==2.0.0", "hmmlearn==0.3.3", "lightning==2.6.6", "monai==1.6.1",
    "open_clip_torch==3.3.0", "parlai==1.7.2", "pyod==3.6.7", "pytorch_metric_learning==2.9.0", "scikit_learn==1.9.1",
    "scvi_tools==1.4.2", "spikingjelly==2.0.0", "statsmodels==0.15.0", "stumpy==1.14.1", "tianshou==2.0.1",
    "timm==1.0.31", "torch_geometric==2.8.1", "torchvision==0.29.2", "transformers==5.23.0", "tsai==1.0.1",
)  # fmt: skip


class Place(NamedTuple):
    """Where a finding or a verdict is: the package with its version, the file below it, the line and the rule."""

    package: str
    file: str
    line: int
    rule: str


def read_verdicts(path: Path) -> dict[Place, bool]:
    """The table's rows: whether the finding at a place is true."""
    rows = (_ROW.match(line) for line in path.read_text(encoding="utf-8").splitlines())
    return {Place(row[1], row[2], int(row[3]), row[4]): row[5] == "true" for row in rows if row}


def download(pin: str, cache: Path) -> Path:
    """The folder of an unpacked package, `name-version` below `cache`; downloaded where it is not there yet."""
    folder = cache / pin.replace("==", "-")
    if folder.is_dir():
        return folder
    name = pin.partition("==")[0]
    kind = ["--no-binary", name] if pin in SOURCES else ["--only-binary", ":all:"]
    with tempfile.TemporaryDirectory(dir=cache) as temporary:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *kind, "--dest", temporary, pin]
        subprocess.run(command, check=True)
        (archive,) = Path(temporary).iterdir()
        unpacked = Path(temporary) / "unpacked"
        if archive.name.endswith(".whl") or archive.name.endswith(".zip"):
            with zipfile.ZipFile(archive) as wheel:
                wheel.extractall(unpacked)
        else:
            with tarfile.open(archive) as source:
                source.extractall(unpacked, filter="data")
            (unpacked,) = unpacked.iterdir()
        unpacked.rename(folder)
    return folder


def check(folder: Path) -> dict[str, Any]:
    """The report of `tensorlint check` for one package, run beside it so that paths begin with its folder."""
    command = [sys.executable, "-m", "tensorlint", "check", "--no-cache", "--jobs", "1", "--select", ",".join(RULES)]
    done = subprocess.run(
        [*command, "--output-format", "json", folder.name], cwd=folder.parent, capture_output=True, text=True
    )
    if not done.stdout:
        raise RuntimeError(done.stderr.strip() or f"tensorlint ended with {done.returncode}")
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def count_lines(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.rglob("*.py"))


def main() -> int:
    parser = argparse.ArgumentParser(description="Check pinned packages and compare with the verdicts.")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "tensorlint_real_packages")
    parser.add_argument("packages", nargs="*", help="name==version; default: all that are pinned")
    options = parser.parse_args()
    cache: Path = options.cache.resolve()
    cache.mkdir(parents=True, exist_ok=True)
    verdicts = read_verdicts(VERDICTS)
    found: set[Place] = set()
    ran: set[str] = set()
    failed = False
    lines = 0
    for pin in options.packages or sorted((*SOURCES, *WHEELS), key=str.lower):
        start = time.monotonic()
        try:
            folder = download(pin, cache)
            report = check(folder)
        except (subprocess.CalledProcessError, RuntimeError, OSError, ValueError) as problem:
            print(f"{pin}: {problem}", file=sys.stderr)
            failed = True
            continue
        package = folder.name
        ran.add(package)
        for error in report["errors"]:
            if "does not parse" not in error["message"]:
                print(f"{error['path']}: {error['message']}", file=sys.stderr)
                failed = True
        places = [
            Place(package, item["path"].partition("/")[2], item["line"], item["code"]) for item in report["findings"]
        ]
        found.update(places)
        size = count_lines(folder)
        lines += size
        counts = Counter(place.rule for place in places)
        words = ", ".join(f"{rule} {count}" for rule, count in sorted(counts.items())) or "nothing"
        print(f"{pin}: {size:,} lines, {time.monotonic() - start:.0f} s: {words}", flush=True)
    print(f"\n{len(ran)} packages, {lines:,} lines")
    for rule in RULES:
        judged = [verdicts[place] for place in found if place.rule == rule and place in verdicts]
        total = sum(place.rule == rule for place in found)
        share = f"{sum(judged) / len(judged):.0%} of {len(judged)} judged are true" if judged else "none judged"
        print(f"{rule}: {total} findings, {share}")
    unjudged = sorted(found - verdicts.keys())
    for place in unjudged:
        print(f"no verdict: {place.package}/{place.file}:{place.line} {place.rule}")
    for place in sorted(place for place in verdicts.keys() - found if place.package in ran):
        print(f"gone: {place.package}/{place.file}:{place.line} {place.rule}")
    return 2 if failed else 1 if unjudged else 0


if __name__ == "__main__":
    sys.exit(main())
