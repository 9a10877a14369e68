"""Whether a name is used as only an nn.Module can be: tested to be one, or asked for two parts of a module's interface."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection

from tensorlint.inference.module_sources import is_base
from tensorlint.inference.ops import modules
from tensorlint.inference.source_bindings import COMPREHENSIONS, FUNCTIONS, bindings, binds
from tensorlint.inference.values import Library, Value
from tensorlint.inference.walking import walk

_DEEPEST = 12  # classes derived from one another
# What is done with a module, by the part of its interface. One use proves little: two parts are asked for.
_USES = {
    **dict.fromkeys(
        ("parameters", "named_parameters", "state_dict", "load_state_dict", "zero_grad", "buffers"), "state"
    ),
    **dict.fromkeys(("eval", "train"), "mode"),
    **dict.fromkeys(("cuda", "cpu", "half", "to"), "place"),
    **dict.fromkeys(("register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook"), "hooks"),
}


# Methods of a module that give the module itself.
_ITSELF = frozenset(["to", "cuda", "cpu", "eval", "train", "half"])


class ModuleUses:
    """A part of `ModuleEvidence`, which knows the file's tree and what its names are."""

    parents: dict[ast.AST, ast.AST]
    resolve: Callable[[ast.expr], Value]

    def class_of_self(self, node: ast.Attribute) -> ast.ClassDef | None:
        raise NotImplementedError

    def is_module_class(self, node: ast.expr) -> bool:
        raise NotImplementedError

    def narrowed(self, node: ast.expr) -> str | None:
        """Inside `if isinstance(node, nn.Module):`."""
        text = ast.unparse(node)
        current: ast.AST = node
        while current in self.parents:
            above = self.parents[current]
            if isinstance(above, (ast.If, ast.IfExp)) and current is not above.test:
                holds = current in above.body if isinstance(above, ast.If) else current is above.body
                if holds and self._states_module(above.test, text):
                    return "it was tested to be an nn.Module"
            current = above
        return None

    def _states_module(self, test: ast.expr, text: str) -> bool:
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            return any(self._states_module(part, text) for part in test.values)
        if not (isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "isinstance"):
            return False
        if len(test.args) != 2 or ast.unparse(test.args[0]) != text:
            return False
        # A class of the user's own may be called in a way of its own.
        value = self.resolve(test.args[1]) if isinstance(test.args[1], (ast.Name, ast.Attribute)) else None
        return isinstance(value, Library) and (is_base(value.path) or modules.known(value.path))

    def used_as_module(self, node: ast.expr) -> str | None:
        """Two parts of a module's interface are used on the same object: a name of a function, or `self.name`."""
        if not isinstance(node, (ast.Name, ast.Attribute)):
            return None
        text = ast.unparse(node)
        area: ast.AST | None = node
        if isinstance(node, ast.Attribute):
            if not isinstance(node.value, ast.Name):
                return None
            area = self.class_of_self(node)
        else:
            while area in self.parents and not isinstance(area, (*FUNCTIONS, ast.Lambda, ast.Module)):
                area = self.parents[area]
                if isinstance(area, COMPREHENSIONS) and any(bindings(area, text)):
                    return None  # another object of that name
            if area is not None and self._is_rebound(area, text):
                return None
        own = {each.name for each in walk(area) if isinstance(each, FUNCTIONS)} if area is not None else set()
        used: dict[str, str] = {}
        for part in walk(area) if area is not None else ():
            if not (isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute)):
                continue
            use = _USES.get(part.func.attr)
            if use is not None and not (use == "place" and not part.args and part.func.attr == "to"):
                if ast.unparse(part.func.value) == text and not (text == "self" and part.func.attr in own):
                    used.setdefault(use, part.func.attr)
        if used and self._imitated(used.values()):
            return None
        if "hooks" in used or len(used) >= 2:
            return " and ".join(f"{text}.{name}()" for name in list(used.values())[:2]) + " are a module's"
        if isinstance(area, (ast.Module, *FUNCTIONS)) and (mode := self._mode_of_loaded(area, text, used.get("mode"))):
            return f"what torch.load gave has the {mode}() of a module"
        return None

    def _mode_of_loaded(self, area: ast.AST, name: str, mode: str | None) -> str | None:
        """`eval` or `train`, called of what torch.load gave where that is all that the name is bound to."""
        found = [(target, value) for target, value, _ in bindings(area, name)]
        for target, value in found:
            while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _ITSELF:
                mode = value.func.attr if _USES[value.func.attr] == "mode" else mode
                value = value.func.value
            made = (
                self.resolve(value.func)
                if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute)
                else None
            )
            if not (isinstance(target, ast.Name) and isinstance(made, Library) and made.path == "torch.load"):
                return None
        return mode if found else None

    def _is_rebound(self, area: ast.AST, name: str) -> bool:
        """Whether the name may mean one object where it is used as a module and another one elsewhere in the scope."""
        found = [
            (target, value, iterated) for target, value, iterated in bindings(area, name)
            if value is None or iterated or not any(binds(part, name) for part in walk(value))
        ]  # fmt: skip
        if len(found) < 2:
            return False
        if any(iterated or isinstance(target, ast.arg) for target, _, iterated in found):
            return True
        blocks = [self.parents.get(self.parents[value]) for _, value, _ in found if value is not None]
        return len(blocks) != len(set(blocks)) and not any(isinstance(block, ast.If) for block in blocks)

    def _imitated(self, methods: Collection[str]) -> bool:
        """Whether a class of the file that is no module has a forward and one of the methods too."""
        for node in self.parents:
            if isinstance(node, ast.ClassDef):
                own = {each.name for each in node.body if isinstance(each, FUNCTIONS)}
                if "forward" in own and not any(self.is_module_class(b) for b in node.bases):
                    if (own | self._inherited(node, 0)) & set(methods):
                        return True
        return False

    def _inherited(self, cls: ast.ClassDef, depth: int) -> set[str]:
        """The methods of the bases that the file holds."""
        names = {base.id for base in cls.bases if isinstance(base, ast.Name)}
        found: set[str] = set()
        for node in self.parents if names and depth < _DEEPEST else ():
            if isinstance(node, ast.ClassDef) and node.name in names and node is not cls:
                found |= {each.name for each in node.body if isinstance(each, FUNCTIONS)}
                found |= self._inherited(node, depth + 1)
        return found
