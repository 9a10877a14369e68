"""Writes docs/rules/*.md from the rules' own files. With `--check` it writes nothing, and fails if it would."""

from __future__ import annotations

import sys
from pathlib import Path

from tensorlint.rules.page import fixability, page
from tensorlint.rules.registry import load

FOLDER = Path(__file__).parent / "rules"
_DEFAULT = {"on": "on", "strict": "`--strict`", "off": "off"}


def index() -> str:
    """The table of all rules."""
    rows = ["# The rules", "", "| code | name | default | fix | flags |", "|---|---|---|---|---|"]
    for rule in load():
        summary = rule.summary.replace("|", "\\|")
        rows.append(
            f"| {rule.code} | [{rule.name}]({rule.name}.md) | {_DEFAULT[rule.default]} | {fixability(rule)} | {summary} |"
        )
    rows += [
        "",
        "A code and a name mean the same wherever a rule is named. These pages are made from the rules' files.",
    ]
    return "\n".join(rows) + "\n"


def pages() -> dict[str, str]:
    """File name to text of everything in the folder."""
    return {"index.md": index(), **{f"{rule.name}.md": page(rule) for rule in load()}}


def main(check: bool) -> int:
    wanted = pages()
    found = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    changed = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    if check:
        for name in changed:
            print(f"docs/rules/{name} is not what the rules' files say; run python docs/generate_rules.py")
        return 1 if changed else 0
    FOLDER.mkdir(exist_ok=True)
    for name in changed:
        if name in wanted:
            (FOLDER / name).write_text(wanted[name], encoding="utf-8")
        else:
            (FOLDER / name).unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
