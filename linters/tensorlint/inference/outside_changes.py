"""What the text or the tree of a module does to what others hold: attributes that it assigns of anything but `self`, and
lists, dictionaries and objects that it has in hand for more than to read them.

Only files that ask for a name of another module of the project need this.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tensorlint.inference.changes import SHAPED_IN_PLACE
from tensorlint.inference.import_chains import ends_of, module_text
from tensorlint.inference.kept import kept_with
from tensorlint.inference.walking import children, root_name, walk
from tensorlint.inference.words import places_of

if TYPE_CHECKING:
    from tensorlint.project import Project

# What goes before is looked for behind the mark that the pattern begins with: such patterns take a quarter of the time.
# `m.x = `, `m.x += `, `type(m).x = `, `sys.modules["m"].x = `, `m[0].x = `
_ASSIGNED = re.compile(r"\.(?<!\bself\.)(\w++)[ \t]*+(?:[-+*/|&@%]|//|\*\*)?=(?!=)")
_OWNER = re.compile(r"(\w+)$|\b(type|modules|__import__|import_module)[(\[][^()\[\]\n]*[)\]]$")
# `m.x, m.y = `: what stands before the sign, of a line with several. Looked for where an attribute is one of them that does
# not stand right before the sign.
_AMONG = re.compile(r"\.\w++(?:,[^\n=]*+|\)[ \t]*+)=(?!=)")
_SEVERAL = re.compile(r"[ \t]*+\(?((?:[\w.\[\]\"']++,[ \t]*+)++[\w.\[\]\"']++)\)?[ \t]*+=(?!=)")
_ATTRIBUTE = re.compile(r"(\w+)\.(\w+)(?=,|$)")
_SET = re.compile(r"setattr(?:__)?\(\s*([\w.]*)[^\n,]*,\s*(?:[\"'](\w+)[\"']|(\w))")
_NAMED = re.compile(r"\((?:(?<=patch\()|(?<=setattr\()|(?<=patch\.object\())[^\n\"']*[\"'](?:\w+\.)*(\w+)[\"']")
# `vars(m)["x"] = `, `m.__dict__.update(x=3)`, `globals()["x"] = `
_OF_NAMESPACE = re.compile(
    r"(?:(?:vars|globals)\(([\w.]*)[^\n]*?\)|\.__dict__)\s*(?:\[\s*(?:[\"'](\w+)[\"'])?[^\]]*\]\s*[-+*|]?=(?!=)|\.update\(([^\n)]*))"
)
_MODULE = re.compile(r" = (?:sys\.modules\b|(?:importlib\.)?import_module\(|__import__\()")
_RENAMED = re.compile(r" as (\w+)")
_KEYWORD = re.compile(r"(\w+)=")
_FUNCTION_PARTS = re.compile(r"\.__(?:code|defaults|kwdefaults)__(?:\s*=(?!=)|\[)")
_LONGEST = 60  # what is looked at of what goes before
# What gives a module or a class.
COMPUTED = frozenset(["type", "__class__", "modules", "__import__", "import_module"])
# What tells something of a list or a dictionary, or what it holds.
_TELLS = frozenset(
    ["len", "isinstance", "print", "bool", "str", "repr", "id", "type", "hasattr", "max", "min", "sum", "any", "all", "range"]
)  # fmt: skip
_GIVES = frozenset(["list", "tuple", "set", "dict", "sorted", "enumerate", "zip", "reversed", "iter", "map"])
_LIBRARIES = frozenset(["torch", "np", "numpy", "math"])
_LOOKS = frozenset(["keys", "index", "count"])
_HANDS_OUT = frozenset(["items", "values", "get", "copy"])
_RUNS = frozenset(["eval", "train", "parameters", "state_dict", "forward", "zero_grad"])
# A call's keywords are looked at with the call.
_USE_NOTHING = frozenset([ast.keyword, ast.Name, ast.Constant, ast.alias, ast.Import, ast.Pass])
_SAFE, _ITEMS, _OUT = range(3)  # what a use tells others: nothing, the items, the object itself


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Assigned:
    """Attributes that a text assigns of anything but `self`: `outside` those of what it imports, or computes, which may
    be a module or a class; `named` says of which, `Box.make`, and `put_back` which of them it sets to what they were
    before. `any_of` are the last words of what it assigns attributes
    to whose names it computes."""

    names: frozenset[str] = frozenset()
    outside: frozenset[str] = frozenset()
    named: frozenset[tuple[str, str]] = frozenset()
    put_back: frozenset[tuple[str, str]] = frozenset()
    any_of: frozenset[str] = frozenset()


_NOTHING = Assigned()


def assigned_by(text: str, imported: set[str]) -> Assigned:
    found = {(_owner(text, match.start()), match[1]) for match in _ASSIGNED.finditer(text)}
    for among in _AMONG.finditer(text):
        several = _SEVERAL.match(text, text.rfind("\n", 0, among.start()) + 1)
        if several is not None:
            found.update(_ATTRIBUTE.findall(several[1]))
    any_of: set[str] = set()
    if "setattr" in text or "patch" in text:
        for owner, name, computed in _SET.findall(text):
            word = owner.rpartition(".")[2]
            if computed:
                any_of.add(word)
            else:
                found.add((word, name))
        found.update(("modules", name) for name in _NAMED.findall(text))
    if ".__dict__" in text or "vars(" in text or "globals()" in text:
        for match in _OF_NAMESPACE.finditer(text):
            held, name, words = match.groups()
            owner = _owner(text, match.start()) if held is None else held.rpartition(".")[2]
            if name or (words and "=" in words):
                found.update((owner or "modules", each) for each in ([name] if name else _KEYWORD.findall(words)))
            else:
                any_of.add(owner)
    if "__code__" in text or "defaults__" in text:
        found.update(("modules", _owner(text, match.start())) for match in _FUNCTION_PARTS.finditer(text))
    found = {(owner, name) for owner, name in found if owner != "self"}
    if not (found or any_of):  # as in most texts
        return _NOTHING
    outside = {*COMPUTED, *imported}
    if "import_module(" in text or "__import__(" in text or "sys.modules" in text:
        outside.update(_owner(text, match.start()) for match in _MODULE.finditer(text))
    named = {(owner, name) for owner, name in found if owner in outside or owner[:1].isupper()}
    renamed = {match[1]: _owner(text, match.start()) for match in _RENAMED.finditer(text)} if named or any_of else {}
    put_back = {(owner, name) for owner, name in named if _is_put_back(text, f"{owner}.{name}")}
    return Assigned(
        frozenset(name for _, name in found),
        frozenset(name for owner, name in found if owner in outside),
        frozenset((renamed.get(owner, owner), name) for owner, name in named),
        frozenset((renamed.get(owner, owner), name) for owner, name in put_back),
        frozenset(renamed.get(each, each) for each in any_of),
    )


def _is_put_back(text: str, path: str) -> bool:
    """`kept = Box.make`, and later `Box.make = kept`."""
    for at in places_of(f"{path}\n", text):
        kept, sign, _ = text[text.rfind("\n", 0, at) + 1 : at].partition(" = ")
        if sign and f"{path} = {kept.strip()}\n" in text:
            return True
    return False


def _owner(text: str, at: int) -> str:
    """The word that ends there, or what calls or holds what does."""
    match = _OWNER.search(text, max(text.rfind("\n", 0, at) + 1, at - _LONGEST), at)
    return (match[1] or match[2]) if match else ""


def together(found: list[Assigned]) -> Assigned:
    none: frozenset[Any] = frozenset()
    return Assigned(
        none.union(*(each.names for each in found)),
        none.union(*(each.outside for each in found)),
        none.union(*(each.named for each in found)),
        none.union(*(each.put_back for each in found)),
        none.union(*(each.any_of for each in found)),
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Uses:
    """The names and attributes of a module that it has in hand for more than to read what they hold (`out`), or of which
    it hands out an item (`items`); `renamed` are those that it imports by another name."""

    out: frozenset[str]
    items: frozenset[str]
    renamed: tuple[tuple[str, str], ...]


def uses_in(tree: ast.Module) -> Uses:
    return kept_with(tree, "uses", lambda: _uses_in(tree))


def _uses_in(tree: ast.Module) -> Uses:
    out: set[str] = set()
    items: set[str] = set()
    renamed: list[tuple[str, str]] = []
    called: set[ast.AST] = set()
    part: ast.AST
    for part in walk(tree):
        kind = type(part)
        if kind is ast.ImportFrom:
            renamed += [(each.name, each.asname) for each in part.names if each.asname]  # type: ignore[attr-defined]
        elif kind is ast.Call:
            called.add(part.func)  # type: ignore[attr-defined]
            _in_call(part, out, items)  # type: ignore[arg-type]
        elif kind not in _USE_NOTHING and part not in called:
            for child in children(part):
                below = type(child)
                if below is ast.Name or below is ast.Attribute:
                    use = _use(part, child)
                    if use:
                        (out if use == _OUT else items).add(child.id if below is ast.Name else child.attr)  # type: ignore[attr-defined]
    return Uses(frozenset(out), frozenset(items | out), tuple(renamed))


def _name_of(node: ast.AST) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else None


def _in_call(call: ast.Call, out: set[str], items: set[str]) -> None:
    func = call.func
    name = _name_of(func)
    if isinstance(func, ast.Attribute) and (owner := _name_of(func.value)) is not None and name not in _LOOKS | _RUNS:
        (items if name in _HANDS_OUT else out).add(owner)
    if isinstance(func, ast.Name) and func.id in _TELLS:
        return
    if name == "getattr" and len(call.args) > 1 and isinstance(call.args[1], ast.Constant):
        out.add(str(call.args[1].value))
    reads = root_name(func) in _LIBRARIES and not (isinstance(func, ast.Attribute) and _name_of(func.value) == "nn")
    for given in (*call.args, *(word.value for word in call.keywords)):
        if (held := _name_of(given)) is not None and not reads:
            (items if name in _GIVES else out).add(held)


def _use(node: ast.AST, part: ast.AST) -> int:
    """What the expression or statement does with a name or an attribute that is a part of it."""
    kind = type(node)
    if kind is ast.Attribute or kind is ast.BinOp or kind is ast.Starred:
        return _ITEMS
    if kind is ast.Subscript:
        if part is node.slice:  # type: ignore[attr-defined]
            return _SAFE
        return _ITEMS if isinstance(node.ctx, ast.Load) else _OUT  # type: ignore[attr-defined]
    if kind in (ast.For, ast.AsyncFor, ast.comprehension) and part is node.iter:  # type: ignore[attr-defined]
        return _ITEMS
    if kind is ast.AugAssign:
        return _OUT if part is node.target else _SAFE  # type: ignore[attr-defined]
    if kind is ast.Assign and part is not node.value:  # type: ignore[attr-defined]
        return _SAFE
    if kind is ast.Assign and all(isinstance(each, (ast.Tuple, ast.List)) for each in node.targets):  # type: ignore[attr-defined]
        return _ITEMS
    if kind in (ast.If, ast.While, ast.IfExp, ast.Assert) and part is node.test:  # type: ignore[attr-defined]
        return _SAFE
    if not isinstance(getattr(part, "ctx", None), ast.Load):
        return _SAFE
    return _SAFE if kind in (ast.Compare, ast.UnaryOp, ast.FormattedValue, ast.Expr, ast.Slice) else _OUT


def uses_of_module(project: Project, path: str) -> Uses | None:
    """Kept for every file that asks: the tree of a module lives for a few files only."""
    module = module_text(project, path)
    if module.uses is None:
        parsed = project.read_module(path)
        if parsed is not None:
            module.uses = uses_in(parsed.tree)
    return module.uses


def has_out(uses: Uses, name: str, deep: bool) -> bool:
    names = uses.items if deep else uses.out
    return name in names or any(before == name and after in names for before, after in uses.renamed)


def module_has_out(project: Project, paths: Iterable[str], name: str, deep: bool) -> bool:
    """Whether one of the modules has what goes by that name in hand: what is found out is kept, for many files ask the same."""
    effects = project.effects
    key = name, deep
    for path in paths:
        known = effects.get(path)
        module = module_text(project, path) if known is None else known
        found = module.has_out.get(key)
        if found is None:
            text = project.text(path)
            uses = uses_of_module(project, path) if name in text and any(True for _ in ends_of(name, text)) else None
            found = module.has_out[key] = uses is not None and has_out(uses, name, deep)
        if found:
            return True
    return False


def assigned_in(project: Project, path: str) -> Assigned:
    module = module_text(project, path)
    if module.assigned is None:
        module.assigned = assigned_by(project.text(path), module.names)
    return module.assigned


def reshapes_in(project: Project, path: str) -> bool:
    """Whether the module gives tensors another shape in place."""
    module = module_text(project, path)
    if module.reshapes is None:
        module.reshapes = SHAPED_IN_PLACE.search(project.text(path)) is not None
    return module.reshapes
