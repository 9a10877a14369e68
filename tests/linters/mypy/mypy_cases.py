"""Case files for the mypy plugin: what mypy must say of a line stands on that line, as `# E:` and `# N:`.

`# E: message  [code]` is an error and `# N: Revealed type is "…"` an answer to reveal_type; a line may have several.
Errors that no line expects fail, as do expectations that are not met. Other notes are not compared.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from mypy import api

DATA = Path(__file__).parent / "data"
_EXPECTED = re.compile(r"# (?P<kind>[EN]): (?P<text>.*?)(?=\s*# [EN]: |$)")
_SAID = re.compile(r"^(?P<path>.+?):(?P<line>\d+): (?P<kind>error|note): (?P<text>.*)$")

Remark = tuple[str, int, str, str]  # file name, line, "E" or "N", text


def _unions(text: str) -> str:
    """`Union[a, b]`, as older versions of mypy print it, as `a | b`."""
    while (start := text.find("Union[")) >= 0:
        depth, parts, last = 0, [], start + 6
        for at in range(start + 6, len(text)):
            if text[at] in "[(":
                depth += 1
            elif text[at] in ")]" and depth:
                depth -= 1
            elif (text[at] == "," and not depth) or text[at] == "]":
                parts.append(text[last:at].strip())
                last = at + 1
                if text[at] == "]":
                    break
        text = text[:start] + " | ".join(parts) + text[last:]
    return text


def normal(text: str) -> str:
    """A message without what only differs between versions of mypy."""
    return _unions(text.replace("builtins.", "").replace("typing.Any", "Any")).replace("  [", " [").strip()


def expected(files: list[Path]) -> set[Remark]:
    """What the comments in these files say."""
    found = set()
    for path in files:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for match in _EXPECTED.finditer(line):
                found.add((path.name, number, match["kind"], normal(match["text"])))
    return found


def check(
    files: list[Path],
    cache: Path,
    *,
    stubs: Path | None = None,
    containers: bool = False,
    plugin: bool = True,
    options: tuple[str, ...] = (),
) -> tuple[set[Remark], str]:
    """One run of mypy over the files: its errors and revealed types, and everything that it printed."""
    cache.mkdir(parents=True, exist_ok=True)
    config = cache / "mypy.ini"
    text = "[mypy]\n" + ("plugins = tensorlint.mypy_plugin\n" if plugin else "")
    text += f"cache_dir = {cache / 'cache'}\nshow_error_codes = true\n"
    text += f"[tensorlint-mypy]\ncontainers = {str(containers).lower()}\n"
    config.write_text(text, encoding="utf-8")
    arguments = ["--config-file", str(config), "--no-error-summary", "--hide-error-context", "--no-pretty", *options]
    before = {name: os.environ.get(name) for name in ("MYPYPATH", "TENSORLINT_MYPY_DEBUG")}
    os.environ["TENSORLINT_MYPY_DEBUG"] = "1"
    os.environ["MYPYPATH"] = str(stubs) if stubs else ""
    try:
        out, err, _ = api.run([*arguments, *map(str, files)])
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
    return remarks(out + err), out + err


def remarks(output: str) -> set[Remark]:
    """The errors and revealed types in what mypy printed."""
    found = set()
    for line in output.splitlines():
        match = _SAID.match(line)
        if match and (match["kind"] == "error" or "Revealed type" in match["text"]):
            kind = "E" if match["kind"] == "error" else "N"
            found.add((Path(match["path"]).name, int(match["line"]), kind, normal(match["text"])))
    return found


def difference(wanted: set[Remark], found: set[Remark]) -> str:
    """What is missing (-) and what is too much (+), a line each; empty where both agree."""
    lines = [(remark, "-") for remark in wanted - found] + [(remark, "+") for remark in found - wanted]
    return "\n".join(f"{sign} {name}:{number}: {kind}: {text}" for (name, number, kind, text), sign in sorted(lines))
