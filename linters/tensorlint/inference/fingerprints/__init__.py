"""Caching transforms of `datasets` whose fingerprint moves although nothing changed.

`Dataset.map(f)` keeps its result under a hash of `f`: of its code, its defaults, the names it captures and, for code
of the script itself, the globals it reads. A part that is not the same in the next process, or that changes with an
unrelated setting, throws the cache away without a word. `find_hazards` follows all of that in the source.
"""

from __future__ import annotations

import ast

from tensorlint.inference.hazards import Hazard
from tensorlint.project import Project


def find_hazards(tree: ast.Module, source: str, *, path: str = "", project: Project | None = None) -> list[Hazard]:
    """The hazards of one file, in the order of the source. A file that never says `datasets` costs one search."""
    if "datasets" not in source or (
        ".map(" not in source and ".filter(" not in source and "from_generator" not in source
    ):
        return []
    from tensorlint.inference.fingerprints.triggers import hazards_of

    return hazards_of(tree, path, project)
