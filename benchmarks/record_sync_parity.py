"""Runs the corpus of known waits on a real GPU and stores what CUDA itself says, for comparison with the simulator.

    python benchmarks/record_sync_parity.py            # needs a CUDA GPU; writes tests/data/sync_parity_<gpu>.json
    python benchmarks/record_sync_parity.py --simulate # no GPU: the same file format from the simulator, to stdout

Each function runs twice: once to warm up (the first use of cuBLAS, cuDNN and the allocator waits by itself), and once under
CUDA's sync debug mode "warn" with every warning shown. The line is that of the warning's Python frame; in backward the
engine replays its warnings at the line that called it, so those of a function with a backward pass are compared with the
lines that call backward as well. `trace` holds the lines that our own watcher of the GPU reports. Some waits neither knows of
(those inside Thrust): where both are silent, `waited` says whether the function came back only when a kernel of half a second,
queued before it, had ended.
"""

from __future__ import annotations

import contextlib
import datetime
import io
import json
import re
import sys
import warnings
from pathlib import Path
from types import FrameType
from typing import Any

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "plugin" / "sync"))

import sync_corpus_runner as runner  # noqa: E402

from pytest_tensorcheck.sync import no_sync  # noqa: E402

_WARNING = "called a synchronizing CUDA operation"


def debug_mode_lines(function: Any) -> tuple[list[int], str]:
    """(lines of the corpus that CUDA's sync debug mode warns about, text of the exception if there was one)."""
    lines: set[int] = set()
    crash = ""

    def show(message: Any, *_: Any, **__: Any) -> None:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != str(runner.CORPUS):
            frame = frame.f_back
        if _WARNING in str(message) and frame is not None:
            lines.add(frame.f_lineno)

    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        warnings.showwarning = show
        before = torch.cuda.get_sync_debug_mode()
        torch.cuda.set_sync_debug_mode("warn")
        try:
            function("cuda")
        except Exception as error:
            crash = f"{type(error).__name__}: {error}".split("\n")[0]
        finally:
            torch.cuda.set_sync_debug_mode(before)
    return sorted(lines), crash


def trace_lines(function: Any) -> list[int]:
    """The lines that `no_sync` reports on this GPU."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception), no_sync(allow=10**9) as seen:
        function("cuda")
    return sorted({e.where.line for e in seen if e.where is not None and e.where.file == str(runner.CORPUS)})


def waited(function: Any) -> bool:
    """Whether the host waits for work that was queued before."""
    torch.cuda.synchronize()
    before = torch.cuda.Event()
    torch.cuda._sleep(10**9)  # half a second, in cycles of the GPU
    before.record()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(Exception):
        function("cuda")
    ended = before.query()
    torch.cuda.synchronize()
    return bool(ended)


def relative(function: Any, lines: list[int]) -> list[int]:
    """Line numbers counted from the function's own first line, so that the corpus may grow."""
    return [line - function.__code__.co_firstlineno for line in lines]


def source_of(function: Any) -> str:
    """The function's text, so that a record is not compared with a function that was changed since."""
    return "\n".join(runner.marked(function).values()).rstrip()


def record(simulate: bool) -> dict[str, Any]:
    corpus = runner.load_corpus()
    out: dict[str, Any] = {}
    for name, function in sorted(
        {**runner.functions(corpus, aside=False), **runner.functions(corpus, aside=True)}.items()
    ):
        if simulate:
            result = runner.run(function)
            lines = sorted(
                {*result["wanted"]} - {*result["missed"]} | {x for x in result["false"] if isinstance(x, int)}
            )
            entry = {"debug_mode": lines, "trace": lines, "crash": result["crash"]}
        else:
            with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
                function("cuda")
            torch.cuda.synchronize()
            lines, crash = debug_mode_lines(function)
            entry = {"debug_mode": lines, "trace": trace_lines(function), "crash": crash}
            if not entry["debug_mode"] and not entry["trace"]:
                entry["waited"] = waited(function)
        entry["debug_mode"] = relative(function, entry["debug_mode"])
        entry["trace"] = relative(function, entry["trace"])
        entry["source"] = source_of(function)
        out[name] = entry
    return out


def main() -> int:
    simulate = "--simulate" in sys.argv[1:]
    if not simulate and not torch.cuda.is_available():
        print("record_sync_parity.py needs a CUDA GPU: torch.cuda.is_available() is False here", file=sys.stderr)
        return 2
    gpu = "simulated" if simulate else torch.cuda.get_device_name()
    document = {
        "gpu": gpu,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "date": datetime.date.today().isoformat(),
        "functions": record(simulate),
    }
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    if simulate:
        sys.stdout.write(text)
        return 0
    target = ROOT / "tests" / "data" / f"sync_parity_{re.sub(r'[^a-z0-9]+', '_', gpu.lower()).strip('_')}.json"
    target.write_text(text)
    print(
        f"wrote {target.relative_to(ROOT)}: {len(document['functions'])} functions on {gpu}, torch {torch.__version__}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
