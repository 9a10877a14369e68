"""Whether an expression is an nn.Module, read off the source where the interpreter has lost it.

The interpreter follows values; it forgets an attribute that a method sets, the members of a list that a loop fills, a
parameter that nobody passes. What a name is bound to in its whole scope, and what is done with it there, still says
that it is a module: every binding makes one, or it is used as only a module can be (`model.eval()`, `model.parameters()`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Literal

from tensorlint.inference import computed_names
from tensorlint.inference.handling import last_name
from tensorlint.inference.module_calls import has_own_call
from tensorlint.inference.module_sources import is_base, makes_module
from tensorlint.inference.module_uses import ModuleUses
from tensorlint.inference.ops import modules
from tensorlint.inference.source_bindings import (
    FUNCTIONS,
    assigned,
    bindings,
    binds,
    is_none,
    own_nodes,
)
from tensorlint.inference.values import CONTAINERS, Class, Function, Library, Value
from tensorlint.inference.walking import children, walk

# A container of modules, a module of a library, a module of the user's own; one that is called in another way: its class
# has a `__call__` of its own, or TorchScript made it.
Kind = Literal["container", "module", "own", "special"]

_DEEPEST = 12
# Methods of a module that give the module itself, and those that give its parts.
_ITSELF = frozenset(
    ["to", "cuda", "cpu", "eval", "train", "half", "float", "double", "bfloat16", "requires_grad_", "apply"]
)
_PARTS = frozenset(["children", "modules", "named_children", "named_modules"])
_NAMESPACES = frozenset(["types.SimpleNamespace", "argparse.Namespace"])
_PUTS = frozenset(["append", "extend", "insert", "add_module"])
# What gives the module it is given, or a copy of it.
_SAME_MODULE = frozenset([
    "copy.deepcopy", "copy.copy", "torch.nn.SyncBatchNorm.convert_sync_batchnorm", "apex.parallel.convert_syncbn_model",
    "torch.distributed.fsdp.fully_shard", "torch.distributed._composable.fsdp.fully_shard", "torch.distributed.fsdp.wrap.wrap",
])  # fmt: skip
# What gives a module around the one it is given.
_AROUND_MODULE = frozenset([
    "torch.nn.DataParallel", "torch.nn.parallel.DistributedDataParallel", "torch.optim.swa_utils.AveragedModel",
    "torch.distributed.fsdp.FullyShardedDataParallel",
    "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel",
    "fairscale.nn.FullyShardedDataParallel", "fairscale.nn.data_parallel.FullyShardedDataParallel",
    "fairscale.nn.data_parallel.ShardedDataParallel", "apex.parallel.DistributedDataParallel",
    "peft.get_peft_model", "peft.PeftModel.from_pretrained",
])  # fmt: skip
# Methods of accelerate's and Lightning's launchers that give back, prepared, what they are given, in its order.
_PREPARE = frozenset(["prepare", "prepare_model", "setup", "setup_module"])
_LAUNCHERS = frozenset(["accelerator", "fabric"])
_WRAPS_ITERABLE = frozenset(["reversed", "list", "tuple", "iter", "sorted"])
_OTHER_FRAMEWORKS = ("paddle", "mindspore", "oneflow", "jittor", "tinygrad", "mxnet", "mlx", "keras", "flax")


class ModuleEvidence(ModuleUses):
    """Evidence from one file. `resolve` gives the value of a name or attribute at the top of the file."""

    def __init__(self, tree: ast.Module, resolve: Callable[[ast.expr], Value]) -> None:
        self.tree = tree
        self.resolve = resolve
        self.parents: dict[ast.AST, ast.AST] = {}
        for node in walk(tree):
            for child in children(node):
                self.parents[child] = node
        imported = {
            name.partition(".")[0]
            for node in self.parents
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for name in (
                [node.module or ""] if isinstance(node, ast.ImportFrom) else [each.name for each in node.names]
            )
        }
        self.applies = "torch" in imported and not imported & set(_OTHER_FRAMEWORKS)
        self._asked: set[ast.AST] = set()

    def of(self, node: ast.expr) -> str | None:
        """Why `node` is an nn.Module, in words, or None."""
        if not self.applies:
            return None
        kind = self._kind(node, 0)
        if kind == "special":
            return None
        if kind is not None:
            return "it is a container of modules" if kind == "container" else "an nn.Module is all that it is bound to"
        return self.narrowed(node) or self.used_as_module(node)

    def is_special(self, node: ast.expr) -> bool:
        """Whether `node` is a module that is called in a way of its own: TorchScript made it."""
        return self._kind(node, 0) == "special"

    def is_compiled(self, node: ast.expr | None) -> bool:
        """Whether `node` is what torch.compile gave: its `forward` calls the module it wraps, hooks and all."""
        if isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)):
            value = self.resolve(node.func)
            return isinstance(value, Library) and value.path == "torch.compile"
        if isinstance(node, ast.Name):
            scope: ast.AST = node
            while scope in self.parents:
                scope = self.parents[scope]
                found = list(bindings(scope, node.id))
                if found and not isinstance(scope, ast.ClassDef):
                    return any(self.is_compiled(value) and self._is_certain(value) for _, value, _ in found)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = self.class_of_self(node)
            given = assigned(owner, node.value.id, node.attr) if owner is not None else ()
            return any(self.is_compiled(value) and self._is_certain(value) for value in given)
        return False

    def _is_certain(self, node: ast.AST | None) -> bool:
        """Whether the statement of `node` stands under no condition."""
        while node in self.parents and not isinstance(node, FUNCTIONS):
            node = self.parents[node]
            if isinstance(node, (ast.If, ast.IfExp)):
                return False
        return True

    # -- what it is made by ---------------------------------------------------------------------------------------

    def _kind(self, node: ast.expr | None, depth: int) -> Kind | None:
        """What the node is, None for what may be no module at all."""
        if node is None or depth > _DEEPEST or node in self._asked:
            return None
        self._asked.add(node)
        try:
            if isinstance(node, ast.Name):
                return _agreed(self._bindings_of_name(node, depth))
            if isinstance(node, ast.Attribute):
                return self._of_attribute(node, depth)
            if isinstance(node, ast.Call):
                return self._of_call(node, depth)
            if isinstance(node, ast.Subscript):
                if isinstance(node.slice, ast.Slice):
                    return "container" if self._kind(node.value, depth + 1) == "container" else None
                return self._element(node.value, None, "", depth + 1)
            if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.List, ast.Tuple)):
                return "container" if self._element(node, None, "", depth + 1) else None
            if isinstance(node, ast.IfExp):
                return _agreed(self._kind(part, depth + 1) for part in (node.body, node.orelse))
            return self._kind(node.value, depth + 1) if isinstance(node, ast.NamedExpr) else None
        finally:
            self._asked.discard(node)

    def _of_attribute(self, node: ast.Attribute, depth: int) -> Kind | None:
        """`self.layer`: every assignment of the class makes a module; None stands for one that is not there yet."""
        if node.attr == "_modules":
            return "container"
        owner = self.class_of_self(node)
        if owner is not None:
            assert isinstance(node.value, ast.Name)
            given = [value for value in assigned(owner, node.value.id, node.attr) if not is_none(value)]
            return _agreed(self._kind(value, depth + 1) for value in given)
        held = self._held_by(node.value, node.attr)
        if held is not None:
            return self._kind(held, depth + 1)
        # What has a forward and is a part of a library's module is a module. Parts of the user's own may be anything.
        return "module" if self._kind(node.value, depth + 1) in ("module", "container") else None

    def _held_by(self, node: ast.expr, name: str) -> ast.expr | None:
        """The value of a field of a namespace: `SimpleNamespace(model=...)`."""
        if not isinstance(node, ast.Name):
            return None
        found = [value for scope in self._scopes(node) for _, value, _ in bindings(scope, node.id)]
        made = found[0] if len(found) == 1 else None
        if not isinstance(made, ast.Call) or not isinstance(made.func, (ast.Name, ast.Attribute)):
            return None
        value = self.resolve(made.func)
        if not isinstance(value, Library) or value.path not in _NAMESPACES:
            return None
        return next((given.value for given in made.keywords if given.arg == name), None)

    def _scopes(self, node: ast.AST) -> Iterator[ast.AST]:
        """The scopes around a node in which its names may be bound."""
        while node in self.parents:
            node = self.parents[node]
            if not isinstance(node, ast.ClassDef):
                yield node

    def class_of_self(self, node: ast.Attribute) -> ast.ClassDef | None:
        """The class whose method `node` is in, where its object is the method's first parameter."""
        found = self._method_of(node.value)
        return None if found is None else found[0]

    def _method_of(self, node: ast.expr) -> tuple[ast.ClassDef, ast.AST] | None:
        """The class whose method `node` is in, and the method, where `node` is its first parameter."""
        current: ast.AST | None = node if isinstance(node, ast.Name) else None
        while current is not None:
            current = self.parents.get(current)
            if isinstance(current, FUNCTIONS) and isinstance(owner := self.parents.get(current), ast.ClassDef):
                first = (*current.args.posonlyargs, *current.args.args)[:1]
                return (owner, current) if first and binds(node, first[0].arg) else None
        return None

    def _of_computed_name(self, node: ast.Call, depth: int) -> Kind | None:
        """`getattr(self, f"fc{n}")`: all that the class gives such a name is a module."""
        found = self._method_of(node.args[0])
        if found is None:
            return None
        owner, method = found
        wanted = computed_names.patterns_of(node.args[1], method)
        if wanted is None or any(
            isinstance(each, (*FUNCTIONS, ast.ClassDef)) and computed_names.fits_any(each.name, wanted)
            for each in owner.body
        ):
            return None
        given: list[ast.expr] = []
        for own in [each for each in owner.body if isinstance(each, FUNCTIONS)]:
            first = next((each.arg for each in (*own.args.posonlyargs, *own.args.args)), "")
            for part in walk(own):
                if isinstance(part, ast.Attribute) and binds(part.value, first) and isinstance(part.ctx, ast.Store):
                    if computed_names.fits_any(part.attr, wanted):
                        given += assigned(owner, first, part.attr)
                elif isinstance(part, ast.Call) and (put := _put_by_name(part, first)) is not None:
                    names = computed_names.patterns_of(put[0], own)
                    if names is None or any(mine.meets(other) for mine in names for other in wanted):
                        given.append(put[1])
        return _agreed(self._kind(value, depth + 1) for value in given if not is_none(value))

    def _of_call(self, node: ast.Call, depth: int) -> Kind | None:
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr in _ITSELF:
            return self._kind(func.value, depth + 1)
        if isinstance(func, ast.Name) and func.id == "getattr" and len(node.args) == 2:
            return self._of_computed_name(node, depth)
        if isinstance(func, ast.Name) and func.id in ("next", *_WRAPS_ITERABLE) and node.args:
            found = self._element(node.args[0], None, "", depth + 1)
            return found if func.id == "next" or found is None else "container"
        if not isinstance(func, (ast.Name, ast.Attribute)) or (isinstance(func, ast.Name) and self.is_local(func)):
            return None
        inner = self._inner_class(func)
        if inner is not None:
            return "own" if any(self.is_module_class(base) for base in inner.bases) else None
        value = self.resolve(func)
        if isinstance(value, Class):
            return None if not value.is_module else "special" if has_own_call(value) else "own"
        if isinstance(value, Function) and not isinstance(value.node, ast.Lambda):
            return self._returned(value.node, depth)
        if not isinstance(value, Library):
            return None
        if value.path == "torch.jit.trace":
            return "module"  # unlike a scripted one it has hooks
        if value.path.startswith(("torch.jit.", "torch.export.")):
            return "special"
        if value.path in _SAME_MODULE:
            return self._kind(node.args[0], depth + 1) if node.args else None
        if value.path in _AROUND_MODULE:
            return (self._kind(node.args[0], depth + 1) if node.args else None) or "module"
        if value.path in CONTAINERS:
            return None if value.path.endswith("ParameterList") else "container"
        known = modules.known(value.path) or is_base(value.path) or makes_module(value.path)
        return "module" if known or value.path == "torch.hub.load" else None

    def _returned(self, function: ast.FunctionDef | ast.AsyncFunctionDef, depth: int) -> Kind | None:
        """What a function of the file gives: its annotation says so, or every return makes one."""
        if function.returns is not None and self.is_module_class(function.returns):
            return "own"
        if function not in self.parents:  # of another file
            return None
        returns = [node for node in own_nodes(function) if isinstance(node, ast.Return)]
        return _agreed(self._kind(node.value, depth + 1) for node in returns)

    def _inner_class(self, func: ast.expr) -> ast.ClassDef | None:
        """The class written inside the class of the method: `self.Layer`."""
        owner = self.class_of_self(func) if isinstance(func, ast.Attribute) else None
        if owner is None or not isinstance(func, ast.Attribute):
            return None
        return next((each for each in owner.body if isinstance(each, ast.ClassDef) and each.name == func.attr), None)

    def is_module_class(self, node: ast.expr) -> bool:
        value = self.resolve(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        if isinstance(value, Class):
            return value.is_module
        return isinstance(value, Library) and (is_base(value.path) or modules.known(value.path))

    # -- names ----------------------------------------------------------------------------------------------------

    def _bindings_of_name(self, node: ast.Name, depth: int) -> Iterator[Kind | None]:
        for scope in self._scopes(node):
            found = list(bindings(scope, node.id))
            for target, value, iterated in found:
                if value is not None and is_none(value):
                    continue  # not there yet
                elif iterated:
                    yield self._element(value, target, node.id, depth)
                elif (given := self._prepared(target, value, node.id)) is not None:
                    if not binds(given, node.id):  # `model, optimizer = accelerator.prepare(model, optimizer)`
                        yield self._kind(given, depth + 1)
                else:
                    yield self._bound(target, value, depth)
            if found:
                return

    def _bound(self, target: ast.AST | None, value: ast.expr | None, depth: int) -> Kind | None:
        if isinstance(target, ast.arg):
            return self._annotated(target)
        if not isinstance(target, ast.Name):  # a part of something unpacked
            return None
        return self._kind(value, depth + 1)

    def _prepared(self, target: ast.AST | None, value: ast.expr | None, name: str) -> ast.expr | None:
        """What was given in the place that the name has among what a launcher gives back, each of it prepared."""
        if not isinstance(value, ast.Call) or any(isinstance(each, ast.Starred) for each in value.args):
            return None
        if isinstance(value.func, (ast.Name, ast.Attribute)) and not isinstance(target, ast.Name):
            made = self.resolve(value.func)
            if isinstance(made, Library) and made.path == "deepspeed.initialize":
                first = isinstance(target, ast.Tuple) and bool(target.elts) and binds(target.elts[0], name)
                return next((each.value for each in value.keywords if first and each.arg == "model"), None)
        if not isinstance(value.func, ast.Attribute) or value.func.attr not in _PREPARE:
            return None
        receiver = value.func.value
        if last_name(receiver) not in _LAUNCHERS and not self._is_launcher(receiver):
            return None
        if isinstance(target, ast.Name):
            return value.args[0] if len(value.args) == 1 else None
        if not isinstance(target, ast.Tuple) or len(target.elts) != len(value.args):
            return None
        return next((given for part, given in zip(target.elts, value.args, strict=True) if binds(part, name)), None)

    def _is_launcher(self, node: ast.expr) -> bool:
        """Whether an accelerate.Accelerator or a Fabric is all that the name is bound to."""
        found = next((each for scope in self._scopes(node) if (each := list(bindings(scope, ast.unparse(node))))), [])
        return bool(found) and all(
            isinstance(value, ast.Call)
            and isinstance(value.func, (ast.Name, ast.Attribute))
            and isinstance(made := self.resolve(value.func), Library)
            and made.path.rpartition(".")[2] in ("Accelerator", "Fabric")
            for _, value, _ in found
        )

    def _annotated(self, parameter: ast.arg) -> Kind | None:
        """What a parameter's annotation says, taken at its word: `base: nn.Linear`, `block: Block | None`."""
        arguments = self.parents.get(parameter)
        if isinstance(arguments, ast.arguments) and parameter in (arguments.vararg, arguments.kwarg):
            return None
        node = parameter.annotation
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            node = node.left if is_none(node.right) else node.right if is_none(node.left) else None
        elif isinstance(node, ast.Subscript) and last_name(node.value) == "Optional":
            node = node.slice
        if not isinstance(node, (ast.Name, ast.Attribute)) or not self.is_module_class(node):
            return None
        value = self.resolve(node)
        if isinstance(value, Class):
            return "special" if has_own_call(value) else "own"
        if isinstance(value, Library) and value.path in CONTAINERS:
            return None if value.path.endswith("ParameterList") else "container"
        return "module"

    def is_local(self, node: ast.Name) -> bool:
        scope: ast.AST = node
        while scope in self.parents:
            scope = self.parents[scope]
            if isinstance(scope, (*FUNCTIONS, ast.Lambda)) and any(bindings(scope, node.id)):
                return True
        return False

    def _element(self, iterable: ast.expr | None, target: ast.AST | None, name: str, depth: int) -> Kind | None:
        """What a loop over `iterable` gives to `name`, the loop's target or one of its parts; no target: one element."""
        whole = target is None or binds(target, name)
        if isinstance(iterable, ast.Call):
            return self._element_of_call(iterable, target, name, depth, whole)
        if not whole or iterable is None:
            return None
        if isinstance(iterable, (ast.List, ast.Tuple)):
            return _agreed(self._kind(part, depth + 1) for part in iterable.elts)
        if isinstance(iterable, (ast.ListComp, ast.GeneratorExp)):
            return self._kind(iterable.elt, depth + 1)
        return self._member(iterable, depth)

    def _member(self, container: ast.expr, depth: int) -> Kind | None:
        """A member of a container of modules, by what is put into it in this file."""
        if self._kind(container, depth + 1) != "container":
            return None
        text = ast.unparse(container)
        for part in self.parents:
            if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in _PUTS:
                if part.args and ast.unparse(part.func.value) == text:
                    if self._kind(part.args[-1], depth + 1) == "special":
                        return "special"
        return "special" if any(self._may_call_itself(part, depth) for part in self._put_in(container)) else "module"

    def _put_in(self, container: ast.expr) -> Iterator[ast.expr]:
        """What a container of modules was made with: `ModuleList([Block(), ...])`, `Sequential(Block(), ...)`."""
        while isinstance(container, ast.Subscript):
            container = container.value
        owner = self.class_of_self(container) if isinstance(container, ast.Attribute) else None
        values: list[ast.expr | None] = []
        if owner is not None and isinstance(container, ast.Attribute) and isinstance(container.value, ast.Name):
            values += assigned(owner, container.value.id, container.attr)
        elif isinstance(container, ast.Name):
            found = (each for scope in self._scopes(container) for each in bindings(scope, container.id))
            values += [value for _, value, elements in found if not elements]
        for made in values:
            yield from self._members_in(made, made, 0)

    def _members_in(self, node: ast.expr | None, whole: ast.expr | None, depth: int) -> Iterator[ast.expr]:
        """The members in what a container is made with: lists, dictionaries, branches, names of lists; `whole` is the
        container's own call."""
        if node is None or depth > _DEEPEST:
            return
        inner: list[ast.expr | None]
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if node is not whole and name not in (*_WRAPS_ITERABLE, "dict", "OrderedDict", *_ITSELF):
                yield node
                return
            itself = node.func.value if name in _ITSELF and isinstance(node.func, ast.Attribute) else None
            whole = itself if itself is not None and node is whole else whole
            inner = [itself, *node.args, *(each.value for each in node.keywords)]
        elif isinstance(node, (ast.List, ast.Tuple)):
            inner = [*node.elts]
        elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            inner = [node.elt]
        elif isinstance(node, ast.Dict):
            inner = [*node.values]
        elif isinstance(node, ast.DictComp):
            inner = [node.value]
        elif isinstance(node, ast.IfExp):
            for part in (node.body, node.orelse):
                yield from self._members_in(part, part if node is whole else whole, depth + 1)
            return
        elif isinstance(node, ast.Starred):
            inner = [node.value]
        elif isinstance(node, ast.Name):
            inner = [*self._listed(node)]
        else:
            yield node
            return
        for each in inner:
            yield from self._members_in(each, whole, depth + 1)

    def _listed(self, name: ast.Name) -> Iterator[ast.expr]:
        """What a name of a list is bound to, and what is put into that list."""
        for scope in self._scopes(name):
            found = [value for _, value, elements in bindings(scope, name.id) if value is not None and not elements]
            yield from found
            for part in own_nodes(scope) if found else ():
                if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute) and part.func.attr in _PUTS:
                    if binds(part.func.value, name.id):
                        yield from part.args
            if found:
                return

    def _may_call_itself(self, made: ast.expr, depth: int) -> bool:
        """Whether a member is of a class with a `__call__` of its own, or of one in a file of the project not at hand."""
        if self._kind(made, depth + 1) == "special":
            return True
        if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Name):
            return False
        return made.func.id in self._imported_beside

    @cached_property
    def _imported_beside(self) -> frozenset[str]:
        """Names of relative imports whose files are unknown here."""
        names = [
            alias.asname or alias.name
            for node in self.parents
            if isinstance(node, ast.ImportFrom) and node.level
            for alias in node.names
        ]
        return frozenset(name for name in names if not isinstance(self.resolve(ast.Name(name, ast.Load())), Class))

    def _element_of_call(
        self, call: ast.Call, target: ast.AST | None, name: str, depth: int, whole: bool
    ) -> Kind | None:
        func = call.func
        called = func.id if isinstance(func, ast.Name) else ""
        parts = target.elts if isinstance(target, ast.Tuple) else []
        if called in _WRAPS_ITERABLE and call.args:
            return self._element(call.args[0], target, name, depth + 1)
        if called in ("enumerate", "zip"):
            sources: list[ast.expr | None] = [*call.args] if called == "zip" else [None, *call.args[:1]]
            for part, source in zip(parts, sources, strict=False):
                if any(binds(each, name) for each in walk(part)):
                    return self._element(source, part, name, depth + 1)
            return None
        if isinstance(func, ast.Attribute) and not call.args and func.attr in (*_PARTS, "items", "values"):
            member: Kind | None = "module"
            if func.attr in ("items", "values"):
                member = self._member(func.value, depth)
            if func.attr == "items" or func.attr.startswith("named_"):
                whole = len(parts) == 2 and binds(parts[1], name)
            return member if whole else None
        return "module" if whole and self._kind(call, depth + 1) == "container" else None


def _agreed(kinds: Iterable[Kind | None]) -> Kind | None:
    """What is true of all of them."""
    found = set(kinds)
    if not found or None in found:
        return None
    if "special" in found:
        return "special"
    return next(iter(found)) if len(found) == 1 else "own" if "own" in found else "module"


def _put_by_name(call: ast.Call, own: str) -> tuple[ast.expr, ast.expr] | None:
    """The name and the value in `setattr(self, name, value)`, `self.add_module(name, value)`."""
    if len(call.args) == 3 and isinstance(call.func, ast.Name) and call.func.id == "setattr":
        return (call.args[1], call.args[2]) if binds(call.args[0], own) else None
    if len(call.args) == 2 and isinstance(call.func, ast.Attribute) and binds(call.func.value, own):
        return (call.args[0], call.args[1]) if call.func.attr in ("add_module", "register_module") else None
    return None
