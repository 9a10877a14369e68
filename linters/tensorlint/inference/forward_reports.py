"""Modules that are called through `.forward`, and the code that must do so."""

from __future__ import annotations

import ast
import re

from tensorlint.inference.frames import Frame
from tensorlint.inference.handling import last_name
from tensorlint.inference.hazards import DirectForwardHazard
from tensorlint.inference.meant_forwards import MeantForwards
from tensorlint.inference.module_calls import has_own_call
from tensorlint.inference.module_evidence import ModuleEvidence
from tensorlint.inference.ops import modules
from tensorlint.inference.patched_forwards import PatchedForwards
from tensorlint.inference.state import State
from tensorlint.inference.values import (
    ONE_LAYER,
    ONE_MODULE,
    PLAIN,
    UNKNOWN,
    Attribute,
    Class,
    Function,
    Instance,
    Library,
    LibraryObject,
    Opaque,
    Partial,
    Value,
)
from tensorlint.inference.walking import children, walk
from tensorlint.inference.words import has_word

# Each with letters that it begins with, and so looked for quickly.
_PATCHES_FORWARD = re.compile(r"\.forward\s*=[^=]"), re.compile(r"\"forward\"\s*,"), re.compile(r"'forward'\s*,")
# `nn.Module.__call__ = traced`: in such a file forward is called by whoever replaced the call.
_PATCHES_CALL = re.compile(r"Module\.(?:__call__|_call_impl)\s*=[^=]|Module,\s*[\"'](?:__call__|_call_impl)[\"']")
# Libraries whose modules do something else when called: ExactGP.forward is the prior, calling it gives the posterior.
_OWN_CALLS = re.compile(r"^\s*(?:import|from) gpytorch\b", re.MULTILINE)


def patches_forward(text: str) -> bool:
    """Whether a line of the file may replace some module's forward."""
    return has_word(text, "forward") and any(pattern.search(text) for pattern in _PATCHES_FORWARD)


def _has_own_calls(text: str) -> bool:
    return "gpytorch" in text and _OWN_CALLS.search(text) is not None


# Functions that call what they are given with the other arguments: the bound forward goes past the hooks there too.
_CALLERS = frozenset({
    "torch.utils.checkpoint.checkpoint", "builtins.map", "torch.vmap", "torch.func.vmap", "torch.func.jacrev",
    "torch.func.jacfwd", "torch.func.hessian", "torch.func.grad", "torch.autograd.functional.jacobian",
    "torch.autograd.functional.hessian", "torch.autograd.functional.jvp", "torch.autograd.functional.vjp", "torchdiffeq.odeint",
    "torch.autograd.functional.vhp", "torch.autograd.functional.hvp", "torch.func.jvp", "torch.func.vjp", "torch.func.linearize",
    "torch.func.grad_and_value", "torch.autograd.gradcheck", "torch.autograd.gradgradcheck", "torch.autograd.gradcheck.gradcheck",
    "itertools.starmap", "threading.Thread", "threading.Timer", "multiprocessing.Process", "torch.multiprocessing.Process",
    "multiprocessing.dummy.Process", "asyncio.to_thread", "joblib.delayed", "scipy.optimize.minimize", "scipy.optimize.root",
    "scipy.optimize.least_squares", "scipy.integrate.solve_ivp", "scipy.integrate.odeint",
})  # fmt: skip
# Methods that do so, of whatever has a method of that name: executors, pools, event loops.
CALLING_METHODS = frozenset({
    "submit", "map", "apply_async", "map_async", "starmap", "starmap_async", "imap", "imap_unordered", "run_in_executor",
})  # fmt: skip


class ForwardReports(State):
    """Mixed into the interpreter."""

    __slots__ = ()

    @property
    def module_evidence(self) -> ModuleEvidence:
        known: ModuleEvidence | None = self.memory.get(ModuleEvidence)
        if known is None:
            known = self.memory[ModuleEvidence] = ModuleEvidence(self.own_file.tree, self._at_the_top)
        return known

    @property
    def meant_forwards(self) -> MeantForwards:
        known: MeantForwards | None = self.memory.get(MeantForwards)
        if known is None:
            known = self.memory[MeantForwards] = MeantForwards(self.module_evidence)
        return known

    def may_be_patched(self, receiver: Value | None) -> bool:
        """Whether the file replaces the forward of such a module."""
        if not self.patches_forward:
            return False
        known: PatchedForwards | None = self.memory.get(PatchedForwards)
        if known is None:
            known = self.memory[PatchedForwards] = PatchedForwards(self.module_evidence)
        return known.reach(receiver)

    def _at_the_top(self, node: ast.expr) -> Value:
        """The value of a name or an attribute in the module's own scope."""
        outer = self.frame
        self.frame = self.module_frame
        try:
            return self.eval(node)
        finally:
            self.frame = outer

    def saw_forward(
        self,
        receiver: Value | None,
        node: ast.Call | ast.Attribute,
        *,
        called: bool,
        known: bool,
        handed: str = "",
        unbound: ast.expr | None = None,
    ) -> None:
        """`receiver.forward(...)`: a hazard where the receiver is known to be an nn.Module.

        `handed` is the function that `receiver.forward`, which is then `node`, is handed to; `unbound` is the receiver of
        a call by the class, `Net.forward(receiver, ...)`.
        """
        if self.file is not self.own_file:
            return
        func = node.func if isinstance(node, ast.Call) else node
        receiver_node = unbound or (func.value if isinstance(func, ast.Attribute) else None)
        enclosing = [code for code in self.active if isinstance(code, (ast.FunctionDef, ast.AsyncFunctionDef))]
        current = enclosing[-1] if enclosing else None
        known_as = self.known_module(receiver, receiver_node)
        if known_as is None or self._call_is_patched():
            return
        module, why = known_as
        if current is not None:
            owners = self.methods_of(receiver)
            own_call = any(getattr(method, "name", "") == "__call__" for method in owners)
            if own_call or (owners and self.may_be_patched(receiver)) or self.is_exported(current):
                return
        named = receiver_node
        if not called:
            own = self.frame.first_argument
            named = ast.Name(own, ast.Load()) if own is not None and self.frame.env.get(own) is receiver else None
        if self.meant_forwards.holds(node, named):
            return
        if receiver_node is not None and "torch.jit" in self.own_file.text:
            if self.module_evidence.is_special(receiver_node):
                return
        if receiver_node is not None and "torch.compile" in self.own_file.text:
            if self.module_evidence.is_compiled(receiver_node):
                return
        text = self.text_of(receiver_node if called else func)
        if called and isinstance(receiver_node, ast.Call) and len(text) > 40:
            text = f"{self.text_of(receiver_node.func)}(…)"
        self.add(node, DirectForwardHazard(
            node=node, receiver=text, module=module, why=why, called=called, handed=handed,
            unbound="" if unbound is None else self.text_of(func),
            evidence=tuple(each for each in [
                self.evidence_at(receiver.made, f"{text} was made here")
                if isinstance(receiver, (Instance, LibraryObject)) and not getattr(receiver, "generic", False)
                and receiver.made is not receiver_node and not self._is_own_object(receiver_node) else None
            ] if each is not None),
        ))  # fmt: skip

    def _is_own_object(self, node: ast.expr | None) -> bool:
        """Whether it is a method's `self`, which is every object of the class, not only the one that was followed here."""
        return isinstance(node, ast.Name) and node.id == self.frame.first_argument

    def known_module(self, receiver: Value | None, node: ast.expr | None) -> tuple[str, str] | None:
        """(name, reason) of what is known to be an nn.Module that is called through `nn.Module.__call__`."""
        if isinstance(receiver, Instance):
            cls = receiver.cls
            if not cls.is_module and not cls.complete and isinstance(node, ast.Name):
                return self.module_by_evidence(node) if self.find_in_class(cls, "__call__") is None else None
            if not cls.is_module or "forward" in receiver.fields:
                return None
            if has_own_call(cls) or self.find_in_class(cls, "__call__") is not None:
                return None
            if any(self.is_scripted(base) for base in cls.bases) or self.has_own_call(cls):
                return None
            return cls.name, f"{cls.name} is an nn.Module"
        if isinstance(receiver, LibraryObject):
            if not modules.known(receiver.path) or "forward" in receiver.fields:
                return None
            if receiver.path.endswith(".classifier"):
                name = f"model of {receiver.path.partition('.')[0]}"
                return name, f"it is a {name}"
            name = receiver.path.replace("torch.nn.", "nn.")
            return name, f"it is an {name}"
        if isinstance(receiver, Opaque) and receiver.kind is not None:
            if receiver.kind == PLAIN:
                return None
            if receiver.kind in (ONE_LAYER, ONE_MODULE):
                known = [self.known_module(each, None) for each in receiver.parts if type(each) is not Opaque]
                named = next((each for each in known if each is not None), None)
                return None if named is None or None in known else (named[0], "each that it may be is an nn.Module")
            if receiver.kind.startswith("model of "):
                return receiver.kind, f"it is a {receiver.kind}"
            name = receiver.kind.replace("torch.nn.", "nn.").removeprefix("class ")
            return name, f"it is annotated as {name}"
        if receiver is UNKNOWN or isinstance(receiver, (Opaque, Attribute)):
            return self.module_by_evidence(node)
        return None

    def _call_is_patched(self) -> bool:
        text = self.own_file.text
        return ("__call__" in text or "_call_impl" in text) and _PATCHES_CALL.search(text) is not None

    def module_by_evidence(self, node: ast.expr | None) -> tuple[str, str] | None:
        if node is None or self.may_be_patched(None) or _has_own_calls(self.own_file.text):
            return None
        why = self.module_evidence.of(node)
        return ("nn.Module", why) if why is not None else None

    def saw_handed_forward(self, function: Value, node: ast.Call) -> None:
        """`checkpoint(self.block.forward, x)`: calls the bound forward as `self.block.forward(x)` would."""
        if not self.takes_forward or self.file is not self.own_file:
            return
        if type(function) is Library:
            if function.path in _CALLERS:
                self.saw_forward_among(node, function.path.rpartition(".")[2])
        elif type(function) is Function and function.scope.file is self.own_file and not function.decorated:
            if isinstance(function.node, ast.FunctionDef) and hands_forward(node):
                self.saw_forward_parameter(function, function.node, node)

    def saw_forward_among(self, node: ast.Call, handed: str) -> None:
        """A bound forward among the arguments of what calls it: `Thread(target=net.forward)`, `map(partial(net.forward), xs)`."""
        for given in (*node.args, *(keyword.value for keyword in node.keywords)):
            if isinstance(given, ast.Call) and given.args and last_name(given.func) == "partial":
                given = given.args[0]
            if isinstance(given, ast.Attribute) and given.attr == "forward" and not _is_super(given.value):
                self.saw_forward(self.eval(given.value), given, called=True, known=True, handed=handed)

    def saw_unbound_forward(self, cls: Value, node: ast.Call, args: list[Value]) -> None:
        """`Net.forward(net, x)`, `type(net).forward(net, x)`: what its own class has for the module, past its `__call__`.

        A class that is not the module's own is chosen on purpose, and so is the original where something replaces forward.
        """
        func = node.func
        if not node.args or isinstance(node.args[0], ast.Starred) or not args:
            return
        first, receiver = node.args[0], args[0]
        if self.may_be_patched(receiver):
            return
        own = isinstance(func, ast.Attribute) and class_of(func.value) == ast.unparse(first)
        if isinstance(receiver, Instance):
            own = own or (receiver.cls is cls and not receiver.generic)
        elif isinstance(receiver, LibraryObject) and isinstance(cls, Library):
            own = own or receiver.path == cls.path
        if own:
            self.saw_forward(receiver, node, called=True, known=True, unbound=first)

    def saw_forward_parameter(self, function: Function, code: ast.FunctionDef, node: ast.Call) -> None:
        """`remote(shard.forward, x)`, where `def remote(fn, *args)` of the same file calls `fn`."""
        names = [each.arg for each in (*code.args.posonlyargs, *code.args.args)]
        if function.receiver is not None and function.kind != "static":
            names = names[1:]
        given: list[tuple[str | None, ast.expr]] = []
        if not any(isinstance(arg, ast.Starred) for arg in node.args):
            given += zip(names, node.args, strict=False)
        given += [(keyword.arg, keyword.value) for keyword in node.keywords]
        for name, arg in given:
            if name is None or not isinstance(arg, ast.Attribute) or arg.attr != "forward":
                continue
            if _is_super(arg.value):
                continue
            if calls_parameter(code, name):
                self.saw_forward(self.eval(arg.value), arg, called=True, known=True, handed=code.name)

    def saw_handed_lambda(self, function: Function) -> None:
        """`checkpoint(lambda x: self.block.forward(x), x)`: whoever is handed the lambda calls it, with whatever."""
        code = function.node
        if self.file is not self.own_file or not isinstance(code, ast.Lambda):
            return
        if any(isinstance(part, ast.Attribute) and part.attr == "forward" for part in walk(code.body)):
            required = len(code.args.posonlyargs) + len(code.args.args) - len(code.args.defaults)
            self.places.append(None)  # nobody knows whether it is called
            self.call_function(function, [Opaque(None) for _ in range(required)], {}, code)
            self.places.pop()

    def saw_kept_forward(self, function: Value, node: ast.Call) -> None:
        """A bound `module.forward` that was kept under another name, called."""
        if not self.takes_forward or self.file is not self.own_file:
            return
        while isinstance(function, Partial):
            function = function.function
        if type(function) is Function:
            if function.receiver is None or getattr(function.node, "name", "") != "forward":
                return
        elif type(function) is not Attribute or function.name != "forward":
            return
        func = node.func
        if isinstance(func, ast.Attribute) and func.attr == "forward":
            return
        if isinstance(func, ast.Name) and self.active:
            code = self.active[-1]
            arguments = getattr(code, "args", None)
            if arguments is not None and any(
                func.id == each.arg for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            ):
                return
        if not self.may_be_patched(function.receiver) and not self.meant_forwards.is_chosen(func):
            self.saw_forward(function.receiver, node, called=False, known=True)

    def is_scripted(self, base: Value) -> bool:
        path = getattr(base, "path", "")
        return isinstance(path, str) and ("ScriptModule" in path or "torch.jit" in path)

    def has_own_call(self, cls: Class) -> bool:
        """Whether instances are called in another way: an interface of TorchScript, which only has `forward`, or a
        model of a library whose `__call__` computes something else."""
        if any("jit" in ast.dump(decorator) for decorator in cls.node.decorator_list):
            return True
        return any(_has_own_calls(file.text) for file in (self.own_file, cls.scope.file))

    def methods_of(self, receiver: Value | None) -> list[ast.AST]:
        """The methods of `receiver` that the current code stands in, from the innermost."""
        found: list[ast.AST] = []
        frame: Frame | None = self.frame
        while frame is not None:
            if frame.env.get(frame.first_argument or "self") is receiver:
                found.append(frame.node)
            frame = frame.parent
        return found

    def is_exported(self, code: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        """Whether the code is (also) compiled by TorchScript, which does not call modules as Python does."""
        if any("jit" in ast.dump(decorator) or "export" in ast.dump(decorator) for decorator in code.decorator_list):
            return True
        return any(isinstance(node, ast.Attribute) and node.attr == "is_scripting" for node in walk(code))


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "super"


def class_of(node: ast.expr) -> str | None:
    """The object in `type(x)` and `x.__class__`, as text."""
    if isinstance(node, ast.Attribute) and node.attr == "__class__":
        return ast.unparse(node.value)
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "type"
        and len(node.args) == 1
    ):
        return ast.unparse(node.args[0])
    return None


def hands_forward(node: ast.Call) -> bool:
    for arg in node.args:
        if type(arg) is ast.Attribute and arg.attr == "forward":
            return True
    for keyword in node.keywords:
        arg = keyword.value
        if type(arg) is ast.Attribute and arg.attr == "forward":
            return True
    return False


def calls_parameter(code: ast.FunctionDef, name: str) -> bool:
    """Whether a function calls what it is given by that name, and does nothing else with it: a module in its place
    would do."""
    called, used = 0, 0
    waiting: list[ast.AST] = list(code.body)
    while waiting:
        part = waiting.pop()
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            # Whether that is ever called is not looked at.
            used += any(isinstance(each, ast.Name) and each.id == name for each in walk(part))
            continue
        if isinstance(part, ast.Compare) and all(isinstance(op, (ast.Is, ast.IsNot)) for op in part.ops):
            continue  # whether it was given at all
        if isinstance(part, ast.Call):
            called += _calls(part, name)
        used += isinstance(part, ast.Name) and part.id == name
        waiting.extend(children(part))
    return 0 < called == used


def _calls(call: ast.Call, name: str) -> bool:
    """`fn(...)`, `partial(fn, ...)()`, `map(fn, ...)`."""
    func: ast.expr = call.func
    if isinstance(func, ast.Call) and func.args and last_name(func.func) == "partial":
        func = func.args[0]
    elif isinstance(func, ast.Name) and func.id == "map" and call.args:
        func = call.args[0]
    return isinstance(func, ast.Name) and func.id == name
