"""What a file does to layers where the interpreter does not see which layers they are.

`model.conv.stride = 2` in a function changes what the methods of the model's class find; `for part in model.modules():
part.padding = 1` may change any layer. Read off the statements, since the methods may be looked at before them.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tensorlint.inference import forward_hooks
from tensorlint.inference.changes import adds_layers
from tensorlint.inference.source_bindings import own_nodes
from tensorlint.inference.walking import children, statements, walk
from tensorlint.inference.words import (
    has_part,
    has_word,
    is_mentioned_once,
    is_of_word,
    lines_with,
    places_of,
    words_of,
)

# Stands for the layers that a container holds, among the settings that may have changed.
MEMBERS = "<members>"
# Stands for them, too, where what is put there may be a layer, or what it is put into may be no container.
PERHAPS_MEMBERS = "<perhaps members>"
# Stands for the values of parameters, which other tensors may have taken the place of.
DATA = "<data>"
# Of a model of another library, what decides on its result.
HEADS = ("fc", "classifier", "heads", "head", "_forward_impl")
# Numbers that a layer shows but does not look at: the shape of its weight decides.
SHOWN = frozenset([
    "in_features", "out_features", "in_channels", "out_channels", "num_features", "num_embeddings", "embedding_dim",
])  # fmt: skip
# What decides on the shape of a layer's result and can be assigned.
SETTINGS = frozenset([
    "weight", "kernel_size", "stride", "padding", "dilation", "groups", "output_padding", "padding_mode", "ceil_mode",
    "return_indices", "output_size", "start_dim", "end_dim", "dim", "unflattened_size", "size", "scale_factor",
    "upscale_factor", "downscale_factor", "batch_first", "bidirectional", "hidden_size", "proj_size", "num_layers",
    "reduction", "keepdim", "num_heads", "embed_dim", "mode", "__class__", "forward", *HEADS, *SHOWN,
])  # fmt: skip
# Attributes that hold no layer.
NO_LAYERS = (SETTINGS - {*HEADS}) | {"data", "bias", "grad", "requires_grad", "training"}
# Methods that give a tensor another shape in place.
RESHAPING = frozenset([
    "set_", "resize_", "resize_as_", "t_", "transpose_", "swapaxes_", "swapdims_", "unsqueeze_", "squeeze_", "as_strided_",
])  # fmt: skip
# Attributes of arrays, and of tensors, that give them another shape.
_DECIDES = frozenset(["shape", "dtype", "strides", "data"])
PUTS = frozenset(
    [
        "append",
        "extend",
        "insert",
        "pop",
        "add_module",
        "register_module",
        "update",
        "clear",
        "popitem",
        "__setitem__",
        "__delitem__",
        "__setattr__",
        "__delattr__",
        "set_submodule",
    ]
)
# Methods that are given the name of the attribute that they set.
_SETTERS = frozenset(["register_parameter", "register_buffer", "__setattr__", "__delattr__"])
PUTS_OR_SETS = PUTS | _SETTERS
# The dictionaries of a module that hold its attributes, and what else gives a layer itself: `partial(layer).func`.
_NAMESPACES = frozenset(["__dict__", "_parameters", "_buffers"])
_OF_LAYERS = frozenset(["_modules", "func"])
_CHANGING = RESHAPING | PUTS | _SETTERS | {"register_parametrization", "setattr", "delattr", "setdefault", "to"}
REPLACED = frozenset({"forward", "__class__"})
# What makes a new model of torchvision.
_FACTORIES = re.compile(
    r"(?:wide_)?res(?:net|next)\d|(?:vgg|densenet)\d|mobilenet_v|efficientnet_|shufflenet_v|alexnet$"
)
_ITSELF = frozenset({"to", "cuda", "cpu", "eval", "train", "float", "half", "double", "contiguous", "requires_grad_"})
# `model.apply(lambda layer: setattr(layer, "forward", quick))`
_SET_BY_LAMBDA = re.compile(r"lambda\b[^\n]*?(?:setattr|register_\w+)[^\n]*")
_NAME_GIVEN = re.compile(r"(?:setattr(?:__)?|register_parameter|register_buffer)\([\w.,\s\[\]]*[\"'](\w+)[\"']")
_DISPLAYS = (ast.List, ast.ListComp, ast.Dict, ast.DictComp, ast.Tuple, ast.Constant)
_LISTS = (ast.List, ast.ListComp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BINDING = frozenset([
    ast.Assign, ast.AnnAssign, ast.NamedExpr, ast.For, ast.AsyncFor, ast.withitem, ast.arg, ast.MatchAs, ast.MatchStar,
    ast.Import, ast.ImportFrom,
])  # fmt: skip
_BINDING_BUT_PARAMETERS = _BINDING - {ast.arg}
_Bound = ast.expr | ast.arg | None  # what a name is bound to, None where that is no expression of its own
_OF_PYTHON = frozenset(["self", "cls", "ctx"])
OF_MEMBERS = frozenset([MEMBERS, PERHAPS_MEMBERS])


class _Parameter(NamedTuple):
    """The place is that in a call, or -1 where the parameter is given by its name only."""

    function: str
    name: str
    place: int
    of_method: bool
    of_class: bool = False  # of an initialiser, by the name of its class


@dataclass(slots=True, eq=False, repr=False)
class DistantChanges:
    """Settings by the attribute that holds the layer: `of_class` where the methods of its class meet the change,
    `of_any` where it is not known of which object; `anywhere` those of a layer nobody knows."""

    of_class: dict[str, set[str]] = field(default_factory=dict)
    of_any: dict[str, set[str]] = field(default_factory=dict)
    anywhere: set[str] = field(default_factory=set)
    # (name, attribute that holds the layer, setting) of the scope that is being read.
    waiting: list[tuple[str, str | None, str]] = field(default_factory=list)
    # What names of that scope were assigned that stands for something else: an attribute, an item, another name.
    aliases: dict[str, list[ast.expr]] = field(default_factory=dict)
    # Attributes whose layers the initialiser that is being read changes: its class knows, the bases do not.
    own: set[str] = field(default_factory=set)
    # The parameters of functions that put layers into what they are given, and whether these are layers for sure.
    filled: list[tuple[_Parameter, bool]] = field(default_factory=list)
    # Names of the module to whose objects functions give members, and whether anything but an initialiser does so.
    of_names: set[str] = field(default_factory=set)
    fills: bool = False
    # How many calls that may change a container are statements, by the line on which the name of the method stands.
    said: dict[int, int] = field(default_factory=dict)
    # Whether `x.to(...)` stands as a statement of its own, as it does of modules only, and may give another dtype.
    converts: bool = False

    def attribute(self, target: ast.Attribute, value: ast.expr | None, initialiser: bool) -> None:
        """`owner.stride = value`."""
        setting, owner = target.attr, target.value
        if setting == "data" and not _is_alike(value, owner) and _may_be_tensors(owner, value):
            if isinstance(owner, ast.Attribute):
                self.change(owner, "shape", initialiser)
            else:
                self.anywhere.add(DATA)
        if setting == "data" and isinstance(owner, ast.Attribute):
            setting, owner = owner.attr, owner.value
        if setting in SETTINGS:
            self.change(owner, setting, initialiser)
        if _may_be_layer(value) and setting not in NO_LAYERS:  # which a container has among its members from then on
            self.change(owner, PERHAPS_MEMBERS, initialiser)

    def augmented(self, target: ast.expr, value: ast.expr, initialiser: bool) -> None:
        """`owner += [nn.Linear(4, 2)]`; of an attribute, whatever is added."""
        if adds_layers(value) or (isinstance(target, ast.Attribute) and _may_be_layer(value)):
            self.change(target, PERHAPS_MEMBERS, initialiser)

    def stands_for(self, name: str, value: ast.expr) -> None:
        """`name = owner.layers`, `for name in owner.layers`."""
        self.aliases.setdefault(name, []).append(value)

    def item(self, target: ast.Subscript, value: ast.expr | None, initialiser: bool) -> None:
        """`owner[0] = ...`, `del owner[0]` (no value)."""
        if isinstance(target.value, ast.Attribute) and target.value.attr in _NAMESPACES:
            self._set_by_name(target.value.value, target.slice, target.value.attr, initialiser)
        elif not isinstance(target.value, ast.Name) or _is_made(value):
            self.change(target.value, MEMBERS, initialiser)
        elif value is None or _may_be_layer(value):  # of a tensor, a list, ... it may be
            self.change(target.value, PERHAPS_MEMBERS, initialiser)

    def taken(self, node: ast.Call, initialiser: bool) -> None:
        """`layer = owner.layers.pop(0)`, `return owner.insert(0, layer)`."""
        func = node.func
        if type(func) is ast.Attribute and func.attr in PUTS and not (node.args and _is_text(node.args[0])):
            self.call(node, initialiser)

    def call(self, node: ast.Call, initialiser: bool) -> None:
        """`owner.append(...)`."""
        func = node.func
        name = _name(func)
        if name not in _CHANGING:
            if name == "__init__" and isinstance(func, ast.Attribute) and not _is_class(func.value):
                if not isinstance(func.value, ast.Call):  # `super().__init__()`
                    self.change(func.value, "forward", initialiser)  # `model.fc.__init__(3, 5)`
            return
        line = func.end_lineno or 0
        self.said[line] = self.said.get(line, 0) + 1
        if node.args and name == "register_parametrization":
            self.change(node.args[0], "weight", initialiser)  # what it computes may have any shape
        elif isinstance(func, ast.Name) and func.id in ("setattr", "delattr") and len(node.args) > 1:
            self._set_by_name(node.args[0], node.args[1], func.id, initialiser)
            if len(node.args) == 3 and _may_be_layer(node.args[2]):
                self.change(node.args[0], PERHAPS_MEMBERS, initialiser)
        elif (
            isinstance(func, ast.Attribute) and isinstance(func.value, ast.Attribute) and func.value.attr in _NAMESPACES
        ):
            for each in (*node.args, *(ast.Constant(word.arg) for word in node.keywords)):
                self._set_by_name(func.value.value, each, func.value.attr, initialiser)
        elif isinstance(func, ast.Attribute) and func.attr == "to":
            self.converts = self.converts or may_convert(node)
        elif isinstance(func, ast.Attribute) and func.attr in RESHAPING and isinstance(func.value, ast.Attribute):
            owner = func.value.value if func.value.attr == "data" else func.value
            self.change(owner, "shape", initialiser)
        elif isinstance(func, ast.Attribute) and func.attr in PUTS_OR_SETS:
            if func.attr in _SETTERS and node.args:
                # `layer.register_parameter("weight", w)`, `object.__setattr__(layer, "weight", w)`
                given = node.args
                of_any = (
                    len(given) > 1 and isinstance(given[1], ast.Constant) and not isinstance(given[0], ast.Constant)
                )
                target, name_given = given[:2] if of_any else (func.value, given[0])
                self._set_by_name(target, name_given, func.attr, initialiser)
            if func.attr not in PUTS:
                return
            # `layers.append(layer)`, `nn.Sequential.append(layers, layer)`
            owner = node.args[0] if node.args and _is_class(func.value) else func.value
            sure = not isinstance(owner, ast.Name) or _is_made(node.args[-1] if node.args else None)
            self.change(owner, MEMBERS if sure else PERHAPS_MEMBERS, initialiser)

    def _set_by_name(self, owner: ast.expr, name: ast.expr, by: str, initialiser: bool) -> None:
        """`setattr(owner, "stride", value)`, `owner._parameters["weight"] = value`, where the name may be computed."""
        setting = name.value if isinstance(name, ast.Constant) else None
        if setting is None and by == "_parameters":
            setting = "weight"
        if setting in SETTINGS:
            self.change(owner, str(setting), initialiser)

    def change(self, owner: ast.expr, setting: str, initialiser: bool) -> None:
        held = None
        while isinstance(owner, (ast.Attribute, ast.Subscript, ast.NamedExpr)):
            if isinstance(owner, ast.Attribute) and held is None and owner.attr not in _OF_LAYERS:
                held = owner.attr
            elif isinstance(owner, ast.Subscript) and held is None and _name(owner.value) == "_modules":
                if isinstance(owner.slice, ast.Constant):  # `self._modules["conv"].stride = 2`
                    held = str(owner.slice.value)
                elif setting not in OF_MEMBERS:
                    self.anywhere.add(setting)
                    return
            owner = owner.value
        if isinstance(
            owner, (ast.IfExp, ast.BoolOp, ast.Tuple, ast.List)
        ):  # `(self.a if flag else self.b).append(layer)`
            for each in _held_in(owner):
                if isinstance(each, (ast.Name, ast.Attribute)):
                    self.change(each if held is None else ast.Attribute(each, held), setting, initialiser)
                elif setting not in OF_MEMBERS:
                    self.anywhere.add(setting)
            return
        if setting in OF_MEMBERS and not (initialiser and isinstance(owner, ast.Name) and owner.id in _OF_PYTHON):
            self.fills = True
        if isinstance(owner, ast.Name):
            if held is not None and setting == PERHAPS_MEMBERS:
                setting = MEMBERS
            if owner.id in _OF_PYTHON:
                if held is not None and initialiser:
                    self.own.add(held)
                elif held is not None:
                    self.of_class.setdefault(held, set()).add(setting)
                return
            if held is not None:
                self.of_class.setdefault(held, set()).add(setting)
            self.waiting.append((owner.id, held, setting))
        elif setting not in OF_MEMBERS or (isinstance(owner, ast.Call) and _name(owner.func) == "get_submodule"):
            self.anywhere.add(MEMBERS if setting in OF_MEMBERS else setting)

    def leave(self, scope: ast.AST) -> list[tuple[str, str | None, str]]:
        """The end of a scope: what its own names hold is known where they are bound to nothing but new objects.

        Gives the changes of lists that the scope does not bind, which are those of a scope around it.
        """
        if not self.waiting:
            return []
        perhaps = [name for name, held, setting in self.waiting if setting == PERHAPS_MEMBERS and held is None]
        free: list[tuple[str, str | None, str]] = []
        if perhaps:
            self.waiting = [each for each in self.waiting if each[2] != PERHAPS_MEMBERS or each[1] is not None]
            free += [(name, None, PERHAPS_MEMBERS) for name in dict.fromkeys(perhaps) if self._is_free(name, scope)]
        if not self.waiting:
            return free
        bound = _bound_in(walk(scope), _BINDING_BUT_PARAMETERS)
        for name, parameter in _bound_in(walk(scope.args) if isinstance(scope, _FUNCTIONS) else ()).items():
            bound.setdefault(name, []).extend(parameter)
        puts = any(held is None and setting == MEMBERS for _, held, setting in self.waiting)
        own = _own_names(scope) if puts and not isinstance(scope, ast.Module) else set()
        for change in self.waiting:
            name, held, setting = change
            if held is None and setting == MEMBERS and name not in own and not isinstance(scope, ast.Module):
                free.append(change)
                self.of_names.add(name)
            elif name in bound and all(map(_is_new, bound[name])):
                continue
            elif setting in HEADS and held is None and all(_is_model(value, name) for value in bound.get(name, [None])):
                continue
            elif held is not None:
                self.of_any.setdefault(held, set()).add(setting)
            elif setting != MEMBERS:
                self.anywhere.add(setting)
            else:
                self._change_bound(name, scope, bound.get(name, [None]))
        self.waiting = []
        return free

    def _is_free(self, name: str, scope: ast.AST) -> bool:
        """Perhaps other layers in what the name holds, as far as the scope tells what that is; whether it does not tell."""
        values = self.aliases.pop(name, [])  # each of them once: they may stand for one another
        for value in values:
            for each in _held_in(value):
                if isinstance(each, ast.Attribute):
                    self.of_any.setdefault(each.attr, set()).add(MEMBERS)
                elif isinstance(each, ast.Name) and each.id != name and self._is_free(each.id, scope):
                    self.of_names.add(each.id)
        parameter = _parameter(scope, name)
        if parameter is not None:
            self.filled.append((parameter, False))
        if values or parameter is not None or isinstance(scope, ast.Module):
            return False
        self.of_names.add(name)
        return True

    def _change_bound(self, name: str, scope: ast.AST, values: list[_Bound]) -> None:
        """Other layers in whatever these values hold, to which a name of the scope is bound."""
        parameter = _parameter(scope, name)
        for value in values:
            if isinstance(value, ast.arg) and parameter is not None:
                self.filled.append((parameter, True))
            elif isinstance(value, ast.Name):  # of the module, it may be
                self.of_names.add(value.id)
                if (given := _parameter(scope, value.id)) is not None:
                    self.filled.append((given, True))
                self._change_held(value, True)
            elif value is None or not (isinstance(scope, _FUNCTIONS) and value is scope.args.kwarg):  # a new dictionary
                self._change_held(value, True)

    def _change_held(self, value: _Bound, sure: bool) -> None:
        """Other layers in what the value holds: nothing else does if it is new, an attribute, or anything (if that is `sure`)."""
        if _is_new(value):
            return
        for each in (None,) if value is None else _held_in(value):
            if isinstance(each, ast.Attribute):
                self.of_any.setdefault(each.attr, set()).add(MEMBERS)
            elif sure or (isinstance(each, ast.Call) and _name(each.func) in _GIVE_LAYERS):
                self.anywhere.add(MEMBERS)

    def finish(self, tree: ast.Module, text: str | None) -> None:
        """The end of the file: functions that put layers into what they are given do so to what their calls give them."""
        if text is not None and has_word(text, "lambda") and has_word(text, "setattr", *_SETTERS):
            for line in _SET_BY_LAMBDA.findall(text):
                self.anywhere.update(SETTINGS.intersection(_NAME_GIVEN.findall(line)))
        speaks = text is None or speaks_of_layers(text)  # else it is of lists
        given_on = ((each, False) for each in self._given_on(tree, text)) if speaks else ()
        waiting = dict.fromkeys([*self.filled, *given_on])
        self.filled = []
        # A function that is mentioned once, where it is defined, is called by other files, if by any.
        filled = [each for each in waiting if text is None or not is_mentioned_once(each[0].function, text)]
        if any(sure for _, sure in waiting.keys() - filled):
            self.anywhere.add(MEMBERS)
        seen = set(filled)
        while speaks and filled and MEMBERS not in self.anywhere:
            # What a function is given may be what another one was given.
            further = [*self._finish(filled, tree, text), *((each, False) for each in self._given_on(tree, text))]
            filled = [each for each in dict.fromkeys(further) if each not in seen]
            seen.update(filled)

    def _given_on(self, tree: ast.Module, text: str | None) -> Iterator[_Parameter]:
        """The parameters of initialisers that keep what they are given where members are taken out: `self.layers = layers`."""
        changed = [name for of in (self.of_class, self.of_any) for name, settings in of.items() if MEMBERS in settings]
        names = {name for name in changed if text is None or f".{name} = " in text}
        classes = [each for each in statements(tree) if isinstance(each, ast.ClassDef)] if names else []
        for cls in classes:
            for method in cls.body:
                if not isinstance(method, ast.FunctionDef) or method.name != "__init__":
                    continue
                places = [each.arg for each in (*method.args.posonlyargs, *method.args.args, *method.args.kwonlyargs)]
                for statement in method.body:
                    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name):
                        target, given = statement.targets[0], statement.value.id
                        if isinstance(target, ast.Attribute) and target.attr in names and given in places:
                            yield _Parameter(cls.name, given, places.index(given) - 1, False, True)

    def _finish(
        self, filled: list[tuple[_Parameter, bool]], tree: ast.Module, text: str | None
    ) -> Iterator[tuple[_Parameter, bool]]:
        names = {each.function for each, _ in filled}
        surely = {each.function for each, sure in filled if sure or not (each.of_method or each.of_class)}
        nodes = _nodes_near(tree, text, names)
        calls = [node for node in nodes if isinstance(node, ast.Call) and _name(node.func) in names]
        called = {call.func for call in calls}
        for node in nodes if surely else ():
            if isinstance(node, (ast.Name, ast.Attribute)) and _name(node) in surely and node not in called:
                self.anywhere.add(MEMBERS)  # in other hands, which may give it anything
        of: dict[str, list[ast.Call]] = {}
        for call in calls:
            of.setdefault(_name(call.func), []).append(call)
        held: dict[str, bool] = {}  # by names, and whether surely
        seen: set[str] = set()
        for parameter, sure in filled:
            given = [part for call in of.get(parameter.function, ()) for part in _given(call, parameter)]
            if sure and not given:
                self.anywhere.add(MEMBERS)  # other files call it, if any
            for value in given:
                if isinstance(value, ast.Name):
                    held[value.id] = sure or held.get(value.id, False)
                elif value in calls and _unpacks(value) and not parameter.of_method:
                    self.anywhere.add(MEMBERS)
                else:
                    self._change_held(value, sure)
        while held:
            nodes = _nodes_near(tree, text, held)
            bound = _bound_in(nodes)
            further: list[_Bound] = []
            for name, sure in held.items():
                for each in bound.get(name, [None]):
                    if not isinstance(each, ast.arg):
                        self._change_held(each, sure)
                        further.append(each)
            for node in nodes:
                if isinstance(node, _FUNCTIONS):
                    for name, sure in held.items():
                        if (given_on := _parameter(node, name)) is not None:
                            yield given_on, sure
                elif isinstance(node, (ast.comprehension, ast.For)) and isinstance(node.target, ast.Name):
                    if node.target.id in held:
                        for each in _held_in(node.iter):
                            self._change_held(each, held[node.target.id])
                        further.append(node.iter)
            seen |= held.keys()
            names_held = (each.id for value in further for each in _held_in(value) if isinstance(each, ast.Name))
            held = {name: False for name in names_held if name not in seen}

    def turned(self, scopes: Iterable[ast.AST], lines: list[int]) -> None:
        """`x = self.kept` and `x.unsqueeze_(0)`, `return self.kept.t_()`, `self.kept.shape = 2, -1`: another shape of what an
        attribute holds, where no statement of its own says so (which is looked at when the others are)."""
        scopes = list(scopes)
        outer = functions_around([each for each in scopes if isinstance(each, _FUNCTIONS)])
        module = next(scope for scope in scopes if isinstance(scope, ast.Module))
        top = ast.Module([each for each in module.body if not isinstance(each, _FUNCTIONS)], [])
        names: dict[ast.AST, dict[str, list[ast.AST]]] = {}

        def reshaped(owner: ast.expr) -> None:
            for place in places:  # a name of its own, or of a function around it
                if place not in names:
                    names[place] = _values_bound(place)
                for attribute in _attributes_held(owner, names[place]):
                    if attribute in _TENSORS_OF:
                        self.anywhere.add(DATA)
                    else:
                        self.of_any.setdefault(attribute, set()).add("shape")

        for scope in _around(scopes, lines):
            places = (scope, *outer.get(scope, ())) if isinstance(scope, _FUNCTIONS) else (top,)
            said: set[ast.AST] = set()
            for node in walk(scope):
                if isinstance(node, ast.Expr):
                    said.add(node.value)
                elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and node.attr in _DECIDES:
                    if node.attr != "data" or not isinstance(node.value, ast.Attribute):
                        reshaped(node.value)
                elif isinstance(node, ast.Call):
                    for each in node.args if _name(node.func) == "swap_tensors" else ():
                        reshaped(each)
                    for word in node.keywords:
                        if word.arg == "out":
                            reshaped(word.value)
                    if isinstance(node.func, ast.Attribute):
                        owner = node.func.value
                        if node.func.attr == "resize":
                            if node in said:  # an image's gives another one
                                reshaped(owner)
                        elif node.func.attr in RESHAPING and not (isinstance(owner, ast.Attribute) and node in said):
                            reshaped(owner)

    def hooks(self, tree: ast.AST) -> None:
        """`model.fc.register_forward_hook(hook)`: what the hook gives takes the place of what the module gave."""
        last: ast.AST | None = None
        for scope, module in forward_hooks.registered(tree):
            if last is not None and last is not scope:
                self.leave(last)
            last = scope
            if module is None:
                self.anywhere.add("forward")
            else:
                self.change(module, "forward", False)
        if last is not None:
            self.leave(last)

    def settings(self, name: str, generic: bool) -> set[str]:
        """What may have changed of the layer that the attribute holds."""
        return self.of_any.get(name, set()) | (self.of_class.get(name, set()) if generic else set())


def _is_alike(value: ast.expr | None, tensor: ast.expr) -> bool:
    """Whether the value has the tensor's shape, as it is written: `p.data * 2`, `p.data.clamp(0, 1)`, `torch.randn_like(p)`."""
    if value is None:
        return False
    if isinstance(value, ast.Attribute) and value.attr in ("data", "grad"):
        return _is_alike(value.value, tensor)
    if isinstance(value, ast.UnaryOp):
        return _is_alike(value.operand, tensor)
    if isinstance(value, ast.BinOp):
        sides = [(_is_alike(side, tensor), side) for side in (value.left, value.right)]
        return any(same for same, _ in sides) and all(same or _is_factor(side) for same, side in sides)
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        first = value.args[0] if value.args else None
        if isinstance(first, ast.Starred):
            first = first.value
        if isinstance(first, ast.Call) and _name(first.func) == "size" and not first.args:
            first = first.func
        if isinstance(first, ast.Attribute) and first.attr in ("shape", "size") and len(value.args) == 1:
            return value.func.attr in _MADE and _is_alike(first.value, tensor)
        name = value.func.attr.removesuffix("_like").removesuffix("_")
        return (name in _MADE or name in _POINTWISE) and (
            _is_alike(value.func.value, tensor) or (first is not None and _is_alike(first, tensor))
        )
    return ast.dump(value) == ast.dump(tensor).replace("Store()", "Load()")


def _is_factor(value: ast.expr) -> bool:
    """Whether it is a number, or what is called by a name as numbers are, or made of these."""
    if isinstance(value, ast.BinOp):
        return _is_factor(value.left) and _is_factor(value.right)
    if isinstance(value, ast.Subscript):
        return _is_factor(value.value)
    return isinstance(value, (ast.Constant, ast.Name, ast.Attribute))


_MADE = frozenset(["zeros", "ones", "empty", "rand", "randn", "full", "new_zeros", "new_ones", "new_empty"])
_POINTWISE = frozenset([
    "to", "half", "float", "double", "bfloat16", "cuda", "cpu", "type", "clone", "detach", "contiguous", "clamp", "clip", "abs", "sign",
    "round", "neg", "mul", "add", "sub", "div", "lerp", "copy", "fill", "zero", "normal", "uniform", "addcmul", "addcdiv",
    "bernoulli", "masked_fill", "type_as",
])  # fmt: skip


def _may_be_tensors(owner: ast.expr, value: ast.expr | None) -> bool:
    """Whether `owner.data = value` may be of a parameter: not of a configuration, nor with a text or a list."""
    if isinstance(owner, (ast.Name, ast.Attribute)) and _NOT_TENSORS.search(_name(owner)):
        return False
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        root = value.func.value
        if isinstance(root, ast.Attribute) and isinstance(root.value, ast.Name):
            root = root.value
        if isinstance(root, ast.Name) and root.id in ("os", "np", "numpy", "json", "pd", "Path"):
            return False
    return not isinstance(
        value, (ast.Constant, ast.JoinedStr, ast.Dict, ast.List, ast.ListComp, ast.Lambda, ast.Compare)
    )


_NOT_TENSORS = re.compile(
    r"(^|_)(args?|cfg|conf|config|opts?|options?|nodes?|batch|flags|response|request|self|cls|ctx|data|dataset)$"
)


_DEVICE = re.compile(r"dev|cuda|gpu|cpu|rank|mps|^(float32|float|True|False)$", re.IGNORECASE)


def may_convert(node: ast.Call) -> bool:
    """Whether `model.to(...)` may give the model another dtype: an argument is not called as devices are."""
    given = [*node.args, *(word.value for word in node.keywords if word.arg not in ("device", "memory_format"))]
    return any(
        not isinstance(each, ast.Constant)
        and not _DEVICE.search(_name(each.func) if isinstance(each, ast.Call) else _name(each))
        for each in given
    )


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _bound_by(node: ast.AST) -> Iterator[tuple[str, _Bound]]:
    """The names that a node binds, with what each is bound to."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _paired(target, node.value)
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)):
        if node.value is not None:
            yield from _paired(node.target, node.value)
    elif isinstance(node, (ast.For, ast.AsyncFor)):
        yield from _paired(node.target, None)
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield from _paired(node.optional_vars, None)
    elif isinstance(node, ast.arg):
        yield node.arg, node
    elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name is not None:
        yield node.name, None
    elif isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            yield (alias.asname or alias.name), None


def _paired(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[str, _Bound]]:
    """`layers, last = [], 3`: each name with its own value."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Starred):
        yield from _paired(target.value, None)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for each, part in zip(target.elts, parts_for(target, value), strict=True):
            yield from _paired(each, part)


def parts_for(target: ast.Tuple | ast.List, value: ast.expr | None) -> Sequence[ast.expr | None]:
    """What each part of a target is assigned, as it is written; None where the value is not written in parts."""
    count = len(target.elts)
    if not isinstance(value, (ast.Tuple, ast.List)) or len(value.elts) != count:
        return [None] * count
    if any(isinstance(each, ast.Starred) for each in (*target.elts, *value.elts)):
        return [None] * count
    return value.elts


def _bound_in(nodes: Iterable[ast.AST], binding: Container[type] = _BINDING) -> dict[str, list[_Bound]]:
    bound: dict[str, list[_Bound]] = {}
    for node in nodes:
        if type(node) in binding:
            for name, value in _bound_by(node):
                bound.setdefault(name, []).append(value)
    return bound


def _nodes_near(tree: ast.Module, text: str | None, names: Iterable[str]) -> list[ast.AST]:
    """The nodes of those functions, and other statements, that mention one of the names; of all of them without the text."""
    return walk(tree) if text is None else _nodes_on(tree.body, lines_with(names, text))


def _nodes_on(body: list[ast.stmt], lines: list[int]) -> list[ast.AST]:
    """The nodes of the statements that one of the lines is of; of a class, those of the statements in it."""
    found: list[ast.AST] = []
    for statement in body:
        decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
        at = bisect_left(lines, min([statement.lineno, *(each.lineno for each in decorators)]))
        if at == len(lines) or lines[at] > (statement.end_lineno or statement.lineno):
            continue
        if isinstance(statement, ast.ClassDef):
            for each in (*decorators, *statement.bases, *statement.keywords):
                found += walk(each)
            found += _nodes_on(statement.body, lines)
        else:
            found += walk(statement)
    return found


def functions_around(functions: Iterable[Any]) -> dict[ast.AST, list[Any]]:
    """The functions around each of these, the innermost first; in time that grows as their number does."""
    found: dict[ast.AST, list[Any]] = {}
    around: list[Any] = []
    for function in sorted(functions, key=lambda each: (each.lineno, -each.end_lineno)):
        while around and around[-1].end_lineno < function.end_lineno:
            around.pop()
        found[function] = around[::-1]
        around.append(function)
    return found


def innermost_functions(functions: list[Any], lines: list[int]) -> list[Any]:
    """The innermost of the functions around each of the lines, once each."""
    return list(dict.fromkeys(each for inner in _innermost(functions, lines) for each in inner))


def _around(scopes: Iterable[ast.AST], lines: list[int]) -> list[ast.AST]:
    """The innermost functions around the lines; what is in none of them are the statements of the module."""
    functions = [scope for scope in scopes if isinstance(scope, _FUNCTIONS)]
    module = next(scope for scope in scopes if isinstance(scope, ast.Module))
    found: dict[ast.AST, None] = {}
    lines = sorted(lines)
    for inner, outside in zip(_innermost(functions, lines), _innermost(module.body, lines), strict=True):
        found.update(dict.fromkeys(inner or outside))
    return list(found)


def _innermost(nodes: Iterable[ast.stmt], lines: list[int]) -> Iterator[list[ast.stmt]]:
    """Of each of the lines, in order, the nodes around it that begin last: more than one where `;` parts them."""
    waiting = sorted(nodes, key=lambda node: node.lineno, reverse=True)
    around: list[list[ast.stmt]] = []
    for line in lines:
        while waiting and waiting[-1].lineno <= line:
            node = waiting.pop()
            if around and around[-1][0].lineno == node.lineno:
                around[-1].append(node)
            else:
                around.append([node])
        while around and max(node.end_lineno or line for node in around[-1]) < line:
            around.pop()
        yield around[-1] if around else []


def _values_bound(scope: ast.AST) -> dict[str, list[ast.AST]]:
    """What the names of a scope are bound to: `x = self.kept`, `for x in (self.first, y)`."""
    bound: dict[str, list[ast.AST]] = {}
    for node in walk(scope):
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            targets, value = [node.target], node.iter
        elif isinstance(node, (ast.NamedExpr, ast.AnnAssign)):
            targets, value = [node.target], node.value or ast.Constant(None)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            given = node.context_expr  # `with nullcontext(self.kept) as x`
            targets, value = [node.optional_vars], ast.Tuple(given.args) if isinstance(given, ast.Call) else given
        elif isinstance(node, ast.Match):
            parts = (part for case in node.cases for part in walk(case.pattern))
            names = (getattr(part, "name", None) or getattr(part, "rest", None) for part in parts)
            targets, value = [ast.Name(name, ast.Store()) for name in names if isinstance(name, str)], node.subject
        else:
            continue
        for target in targets:
            for each in walk(target):
                if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
                    bound.setdefault(each.id, []).append(value)
    return bound


def _attributes_held(held: ast.expr, bound: dict[str, list[ast.AST]]) -> set[str]:
    """The attributes that hold what an expression may give: `self.kept`, or a name of what is so bound."""
    found: set[str] = set()
    seen: set[str] = set()
    waiting: list[ast.AST] = [held]
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Name):
            if part.id not in seen:
                seen.add(part.id)
                waiting += bound.get(part.id, ())
        elif isinstance(part, ast.Attribute):
            if part.attr not in _OTHERS:
                found.add(part.attr)
        elif isinstance(part, ast.Call):
            if isinstance(part.func, ast.Attribute):
                if part.func.attr in _ITSELF or part.func.attr in RESHAPING or part.func.attr in _GIVE_HELD:
                    waiting.append(part.func.value)  # any other gives a new object
                elif part.func.attr in _TENSORS_OF:
                    found.add(part.func.attr)  # `for q in self.buffers(): q.resize_(4)`
            elif _name(part.func) in _GIVE_ITEMS:
                waiting += part.args
            elif _name(part.func) == "getattr" and len(part.args) > 1 and isinstance(part.args[1], ast.Constant):
                found.add(str(part.args[1].value))
        elif isinstance(part, ast.Subscript):
            waiting.append(part.value)
        else:
            waiting += children(part)
    return found


# Attributes of a tensor that give another one.
_OTHERS = frozenset(["data", "T", "mT", "H", "mH", "real", "imag", "grad", "shape"])


def _own_names(scope: ast.AST) -> set[str]:
    """The names that are the scope's own: those of a class's body the functions in it do not see."""
    if isinstance(scope, ast.ClassDef):
        return set()
    inside = list(own_nodes(scope))
    shared = {name for node in inside if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names}
    return _bound_in(inside).keys() - shared


def _parameter(scope: ast.AST, name: str) -> _Parameter | None:
    """The function's parameter of that name; None if it has none, or if Python calls the function itself."""
    if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)) or scope.name.startswith("__"):
        return None
    places = [each.arg for each in (*scope.args.posonlyargs, *scope.args.args)]
    if name in places:
        of_method = places[0] in _OF_PYTHON
        return _Parameter(scope.name, name, places.index(name) - of_method, of_method)
    named_only = any(each.arg == name for each in scope.args.kwonlyargs)
    return _Parameter(scope.name, name, -1, bool(places) and places[0] in _OF_PYTHON) if named_only else None


def _given(call: ast.Call, parameter: _Parameter) -> list[ast.expr]:
    """What a call gives the parameter, and where that cannot be read off, the call itself, which may be anything."""
    if _name(call.func) != parameter.function:
        return []
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if (owner is not None and not _is_class(owner)) != parameter.of_method:
        return [call]  # another function of that name, or its object stands among the arguments
    if any(isinstance(each, ast.Starred) for each in call.args) or any(word.arg is None for word in call.keywords):
        return [call]
    found = [word.value for word in call.keywords if word.arg == parameter.name]
    return found or (call.args[parameter.place : parameter.place + 1] if parameter.place >= 0 else []) or [call]


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _unpacks(call: ast.Call) -> bool:
    return any(isinstance(each, ast.Starred) for each in call.args) or any(word.arg is None for word in call.keywords)


def _is_new(value: _Bound) -> bool:
    """Whether the value is an object that nothing else holds, or one that the interpreter follows."""
    if isinstance(value, ast.Call):
        return _is_class(value.func) or _name(value.func) in (
            "copy",
            "deepcopy",
            "list",
            "dict",
            "deque",
            "set",
            "sorted",
        )
    if isinstance(value, ast.IfExp):
        return _is_new(value.body) and _is_new(value.orelse)
    if isinstance(value, ast.BinOp):  # a list and another make a third
        return isinstance(value.left, _LISTS) or isinstance(value.right, _LISTS)
    return isinstance(value, _DISPLAYS)


_LIBRARY_OF_LAYERS = re.compile(r"\bnn\.")
_HOLD_LAYERS = ("layers", "blocks", "modules", "stages", "children")


def speaks_of_layers(text: str) -> bool:
    """Whether the text names torch, a kind of module, or an attribute that holds some as a rule."""
    if has_part(text, "torch") or has_part(text, "Module") or has_part(text, "Sequential"):
        return True
    if has_word(text, "nn") and _LIBRARY_OF_LAYERS.search(text):
        return True
    for word in words_of(text).intersection(_HOLD_LAYERS):
        for at in places_of(f".{word}", text):
            if not is_of_word(text[at + len(word) + 1 : at + len(word) + 2]):
                return True
    return False


# What gives layers that something else holds, or an item of what it is given.
_GIVE_LAYERS = frozenset(["children", "modules", "named_children", "named_modules", "get_submodule", "getattr"])
_TENSORS_OF = frozenset(["buffers", "named_buffers", "parameters", "named_parameters", "state_dict"])
_GIVE_HELD = frozenset(["values", "items", "get", "pop", "popitem", "setdefault", "copy"])
_GIVE_ITEMS = frozenset(
    ["list", "tuple", "zip", "enumerate", "reversed", "sorted", "iter", "next", "cast", "vars", "filter", "chain"]
)


def _held_in(value: _Bound) -> Iterator[_Bound]:
    """The names, attributes and calls that the value may be, or an item of it."""
    waiting: list[_Bound] = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, (ast.Subscript, ast.Starred, ast.NamedExpr, ast.Await)):
            waiting.append(value.value)
        elif isinstance(value, (ast.Tuple, ast.List, ast.Set)):
            waiting += value.elts
        elif isinstance(value, ast.Dict):
            waiting += value.values
        elif isinstance(value, ast.IfExp):
            waiting += (value.body, value.orelse)
        elif isinstance(value, ast.BoolOp):
            waiting += value.values
        elif isinstance(value, ast.Call) and _name(value.func) in _GIVE_ITEMS:
            waiting += value.args
        elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _VIEWS:
            waiting.append(value.func.value)
        elif not isinstance(value, ast.Constant):
            yield value


_VIEWS = frozenset(["values", "items", "get"])


def _is_model(value: _Bound, name: str) -> bool:
    """A new model of torchvision, or what the name held before: `model = model.to(device)`."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute) or value.func.attr not in _ITSELF:
        return _is_new(value) or (isinstance(value, ast.Call) and _FACTORIES.match(_name(value.func)) is not None)
    return isinstance(value.func.value, ast.Name) and value.func.value.id == name


def _is_made(value: ast.expr | None) -> bool:
    """Whether it is an object of a class that is made on the spot: `nn.Linear(4, 2)`."""
    return isinstance(value, ast.Call) and _is_class(value.func)


def _may_be_layer(value: ast.expr | None) -> bool:
    return isinstance(value, (ast.Call, ast.Name, ast.Attribute, ast.Subscript, ast.IfExp, ast.BoolOp, ast.Await))


def _is_class(func: ast.expr) -> bool:
    return _name(func)[:1].isupper()
