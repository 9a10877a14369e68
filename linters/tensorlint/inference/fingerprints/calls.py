"""What a call gives: libraries through the tables, classes and functions of the file through their source."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from tensorlint.inference.fingerprints import dates
from tensorlint.inference.fingerprints import vocabulary as words
from tensorlint.inference.fingerprints.classes import last_name
from tensorlint.inference.fingerprints.dataset_calls import DatasetCalls
from tensorlint.inference.fingerprints.merged_dicts import Layer, merged
from tensorlint.inference.fingerprints.survey import constant, keyword
from tensorlint.inference.fingerprints.values import (
    UNKNOWN,
    Elements,
    Trait,
    Value,
    element_kind,
    elements_of,
    traits_of,
)

UNSEEDED_WEIGHTS = "are random and unseeded"
_SAME_VALUE = frozenset(
    [
        "str",
        "repr",
        "int",
        "float",
        "bytes",
        "abs",
        "round",
        "dict",
        "list",
        "tuple",
        "reversed",
        "enumerate",
        "zip",
        "map",
        "filter",
        "iter",
    ]
)
_TEXT_ORDER = frozenset(["list", "tuple", "enumerate", "zip", "iter", "reversed", "map", "filter"])
# What goes on to hold the iterator it is given.
_LAZY = frozenset(["iter", "map", "zip", "enumerate", "filter"])
_KEEP_TEXT = frozenset(
    [
        "lower",
        "upper",
        "strip",
        "split",
        "format",
        "isoformat",
        "hex",
        "encode",
        "decode",
        "strftime",
        "replace",
        "join",
    ]
)


class Calls(DatasetCalls):
    """Everything about calls. `Evaluator` adds the other expressions."""

    def _of_call(self, node: ast.Call) -> Value:
        if isinstance(node.func, ast.Attribute):
            base = self.value(node.func.value)
            if base.kind != "module":
                return self._method(base, node.func.attr, node)
        return self.called(self.value(node.func), node)

    def called(self, function: Value, node: ast.Call) -> Value:
        if function.kind == "module":
            made = self.elsewhere.made(node, self.value) if self.elsewhere is not None else None
            return made or self._external(function.dotted, node)
        if function.kind == "class" and isinstance(function.node, ast.ClassDef):
            return self._instance(function, node)
        if function.kind in ("function", "bound") and isinstance(
            function.node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        ):
            if id(function.node) in self._returning:
                self._reaches = 0
                return UNKNOWN
            self._returning.add(id(function.node))
            try:
                return self.at_call(self.returned(function.node), function.node, node)
            finally:
                self._returning.discard(id(function.node))
        if function.kind == "partial" and function.owner is not None:
            made = self.called(function.owner, node)  # what it leaves unset the partial may have set
            return replace(made, parents=tuple(p for p in made.parents if p.unset is None and p.caller is not node))
        if function.dotted == "collections.namedtuple" and isinstance(function.node, ast.Call):
            return self._namedtuple(function.node, node)
        return Value("unknown", self._argument_traits(node), self._arguments_vary(node))

    def _namedtuple(self, made: ast.Call, node: ast.Call) -> Value:
        listed = made.args[1] if len(made.args) > 1 else keyword(made, "field_names")
        given = constant(listed)
        names = given.replace(",", " ").split() if isinstance(given, str) else []
        if isinstance(listed, (ast.List, ast.Tuple)):
            names = [str(constant(entry)) for entry in listed.elts]
        fields = list(zip(names, (self.value(argument) for argument in node.args), strict=False))
        fields += [(entry.arg, self.value(entry.value)) for entry in node.keywords if entry.arg]
        varies = any(value.varies for _, value in fields)
        return Value("settings", (), varies, dotted="a namedtuple", fields=tuple(fields), node=node)

    def _instance(self, function: Value, node: ast.Call) -> Value:
        assert isinstance(function.node, ast.ClassDef)
        facts = self.classes.facts(function.node)
        arguments: list[tuple[str, Value]] = [(g.arg, self.value(g.value)) for g in node.keywords if g.arg]
        if facts.is_dataclass:
            arguments += zip(facts.constants, (self.value(argument) for argument in node.args), strict=False)
        varies = any(value.varies for _, value in arguments) or any(g.arg is None for g in node.keywords)
        return Value("instance", node=function.node, arguments=tuple(arguments), varies=varies)

    def _argument_values(self, node: ast.Call) -> list[Value]:
        return [self.value(argument) for argument in (*node.args, *(given.value for given in node.keywords))]

    def _argument_traits(self, node: ast.Call) -> tuple[Trait, ...]:
        """A call of something unknown with a moving argument gives something moving: a path, a name, a stamp."""
        return tuple(t for t in traits_of(self._argument_values(node)) if t.trigger == "M6" and not t.rank)

    def _arguments_vary(self, node: ast.Call) -> bool:
        return any(value.varies for value in self._argument_values(node))

    def environment(self, key: str, node: ast.AST) -> Value:
        if re.search(words.ENVIRONMENT_OF_THE_RUN, key):
            trait = Trait("M6", f"the environment variable {key} belongs to one run or rank", node, rank=True)
            return Value("constant", (trait,), True)
        return Value("constant", varies=True, elements="strings")

    # Libraries

    def _external(self, dotted: str, node: ast.Call) -> Value:
        last = dotted.rpartition(".")[2]
        if dotted.endswith("Hasher.hash") and dotted.startswith("datasets.") and node.args:
            hashed = self.value(node.args[0])
            return Value("hashed", hashed.traits, hashed.varies, owner=hashed, node=node)
        found = self._dataset_call(dotted, last, node)
        if found is not None:
            return found
        if "." not in dotted:
            return self._builtin(dotted, node)
        if dotted.startswith("tqdm") and constant(keyword(node, "disable")) is True:
            return Value("external", dotted=dotted)  # a bar that is switched off holds no times
        if dotted in words.DIFFERS_EVERY_RUN and not (
            last in ("strftime", "localtime", "gmtime", "ctime") and node.args[1:]
        ):
            often = "every day" if dotted == "datetime.date.today" else "in every run"
            moving = Trait("M6", f"{dotted}() is another {often}", node)
            period = dates.of_format(constant(node.args[0])) if last == "strftime" and node.args else ""
            return Value("unknown", dates.at_most([moving], period))
        if dotted in words.RANKS:
            return Value("constant", (Trait("M6", f"{dotted}() differs between ranks", node, rank=True),), True)
        if dotted in words.UNPICKLABLE:
            reason = f"{words.UNPICKLABLE[dotted]} cannot be pickled"
            return Value("external", (Trait("M7", reason, node),), dotted=dotted)
        if dotted in ("os.environ.get", "os.getenv"):
            key = constant(node.args[0]) if node.args else None
            return self.environment(key, node) if isinstance(key, str) else Value("constant", varies=True)
        return (
            self._generator(dotted, last, node) or self._settings(dotted, last, node) or self._other(dotted, last, node)
        )

    def _generator(self, dotted: str, last: str, node: ast.Call) -> Value | None:
        if dotted in words.SEEDED_BY_ARGUMENT:
            seed = node.args[0] if node.args else keyword(node, "seed")
            if seed is None or self.is_none(seed):
                if dotted == "random.Random" or dotted.startswith("numpy"):
                    trait = Trait("M6", f"{dotted}() takes another seed in every run", node)
                    return Value("external", (trait,), dotted=dotted)
            else:
                given = self.value(seed)
                return Value("external", given.traits, given.varies, dotted=dotted)
        if dotted == "torch.Generator":
            return self._torch_generator(node)
        if dotted == "numpy.random.Generator" and node.args:
            return replace(self.value(node.args[0]), kind="external", dotted=dotted)
        for prefix, names in words.GLOBAL_DRAWS:
            if dotted == prefix + last and last in names:
                library = {"random.": "python", "numpy.random.": "numpy", "torch.": "torch"}[prefix]
                if self.is_seeded(library) or keyword(node, "generator") is not None:
                    return Value("unknown", dotted=dotted)
                return Value("unknown", (Trait("M6", f"{dotted}() is drawn without a seed", node),), dotted=dotted)
        if dotted in words.RANDOM_PARTS:
            library, option = words.RANDOM_PARTS[dotted]
            seed, shuffles = keyword(node, option), keyword(node, "shuffle")
            is_given = (seed is not None and not self.is_none(seed)) or any(each.arg is None for each in node.keywords)
            if is_given or self.is_seeded(library) or (shuffles is not None and constant(shuffles) is not True):
                return None
            if dotted.startswith("sklearn.") and not (node.args and _are_places(node.args[0])):
                return None  # of labels what is computed may well be the same: how many classes there are
            return Value("unknown", (Trait("M6", f"{dotted}() is drawn without a seed", node),), dotted=dotted)
        if dotted.startswith("torch.nn.") and dotted == f"torch.nn.{last}":
            if last in words.RANDOM_LAYERS and not self.is_seeded("torch"):
                trait = Trait("M6", f"the weights of {dotted} {UNSEEDED_WEIGHTS}", node)
                return Value("external", (trait,), dotted=dotted)
            return Value("external", traits_of(self._argument_values(node)), dotted=dotted)
        return None

    def reseeded(self, value: Value, call: ast.Call) -> Value:
        """`rng.seed(3)`: from here on the generator is the seed's; `rng.seed()` takes one from the operating system."""
        if value.dotted not in words.GENERATORS or self.names.is_conditional(call):
            return value
        seed = call.args[0] if call.args else keyword(call, "seed") or keyword(call, "a")
        if seed is None or self.is_none(seed):
            owner = call.func.value if isinstance(call.func, ast.Attribute) else None
            here = self.names.scope_at[call]
            if not isinstance(owner, ast.Name) or self.names.resolve(owner.id, here) is not here:
                return value  # in a function that may not be called
            return replace(value, traits=(Trait("M6", f"{value.dotted}.seed() takes another seed in every run", call),))
        return replace(value, traits=tuple(trait for trait in self.value(seed).traits if trait.trigger in ("M6", "M3")))

    def _torch_generator(self, node: ast.Call) -> Value:
        """torch's generators begin alike in every run, until one is asked to `seed()` itself."""
        made = self.names.parents.get(node)
        target = made.targets[0] if isinstance(made, ast.Assign) else None
        for call in self.calls_named("seed") if isinstance(target, ast.Name) else ():
            owner = call.func.value if isinstance(call.func, ast.Attribute) and not call.args else None
            if isinstance(owner, ast.Name) and isinstance(target, ast.Name) and owner.id == target.id:
                trait = Trait("M6", f"{owner.id}.seed() takes another seed in every run", call)
                return Value("external", (trait,), dotted="torch.Generator")
        return Value("external", dotted="torch.Generator")

    def _settings(self, dotted: str, last: str, node: ast.Call) -> Value | None:
        if dotted in words.SETTINGS_CALLS:
            known = not node.args and dotted.startswith(("arg", "types"))
            layers = [Layer(given.arg, self.value(given.value)) for given in node.keywords]
            fields = merged(layers).fields if known else None
            varies = fields is None or any(value.varies for _, value in fields)
            return Value("settings", (), varies, dotted=words.SETTINGS_CALLS[dotted], fields=fields, node=node)
        if dotted in ("yaml.safe_load", "yaml.load", "yaml.full_load", "toml.load", "tomllib.load", "json.load"):
            return Value("dict", varies=True, dotted="a settings file")
        if dotted == "simple_parsing.parse" or dotted.endswith((".parse_args", ".tyro.cli")) or dotted == "tyro.cli":
            return Value("settings", varies=True, dotted="the command line's settings")
        return None

    def _other(self, dotted: str, last: str, node: ast.Call) -> Value:
        arguments = self._argument_values(node)
        if dotted == "functools.partial" and arguments:
            return Value(
                "partial",
                owner=arguments[0],
                parts=tuple(arguments[1:]),
                node=node,
                varies=any(value.varies for value in arguments),
            )
        if dotted == "re.compile" or dotted.startswith(("logging.", "threading.", "pathlib.", "os.path.")):
            kept = traits_of(arguments) if not dotted.startswith(("logging.", "threading.")) else ()
            return Value("external", kept, any(a.varies for a in arguments), dotted=dotted, elements="strings")
        if dotted == "collections.namedtuple":
            return Value("external", dotted=dotted, node=node)
        if dotted == "collections.Counter":
            return Value("unknown", ())
        if dotted == "collections.OrderedDict":
            return self._builtin("dict", node)
        if dotted in ("copy.copy", "copy.deepcopy") and arguments:
            return arguments[0]
        if dotted.startswith("itertools."):
            lazy = self._lazy(arguments, node)
            if lazy is not None:
                return lazy
        if dotted.startswith(("numpy.", "pandas.", "torch.", "json.", "itertools.")) and arguments:
            moving = [trait for index, value in enumerate(arguments) for trait in self.ordered(value, node)]
            return Value("external", tuple(moving), any(a.varies for a in arguments), dotted=dotted)
        if dotted.startswith("datasets.") and last in words.FEATURES:
            given = zip(arguments, (*node.args, *(word.value for word in node.keywords)), strict=False)
            moving = [trait for value, source in given for trait in self.ordered(value, source)]
            return Value("external", tuple(dict.fromkeys(moving)), any(a.varies for a in arguments), dotted=dotted)
        if dotted in ("contextlib.nullcontext", "typing.cast") and arguments:
            return arguments[-1]
        if last.startswith(("Auto", "from_pretrained")) or ".from_pretrained" in dotted:
            return Value("external", varies=any(a.varies for a in arguments), dotted=dotted)
        return Value("external", self._argument_traits(node), any(a.varies for a in arguments), dotted=dotted)

    def _builtin(self, name: str, node: ast.Call) -> Value:
        arguments = self._argument_values(node)
        varies = any(value.varies for value in arguments)
        first = arguments[0] if arguments else UNKNOWN
        if name in words.FORGETS_ALL:
            ranks = tuple(trait for trait in traits_of(arguments) if trait.rank)
            return Value("constant", ranks, varies, elements="plain")
        if name in ("set", "frozenset"):
            return self._set_of(name, first, node, varies)
        if name in ("sorted", "sum", "min", "max", "any", "all"):
            kept = tuple(t for t in traits_of(arguments) if t.trigger not in ("M2", "M3", "M7"))
            return Value("sequence" if name == "sorted" else "constant", kept, varies, elements=first.elements)
        if name in _TEXT_ORDER:
            moving = [t for value, given in zip(arguments, node.args, strict=False) for t in self.ordered(value, given)]
            elements: Elements = first.elements if name not in ("map", "enumerate", "zip") else "unknown"
            if name == "map" and node.args and last_name(node.args[0]) in ("int", "len", "float", "ord"):
                elements = "plain"
            if name == "filter":  # what moves may be what is left out
                moving = [trait for trait in moving if trait.trigger != "M6"]
            lazy = self._lazy(arguments, node) if name in _LAZY else None
            return lazy or Value("sequence", tuple(dict.fromkeys(moving)), varies, elements=elements)
        if name == "dict":
            given = [Layer(None, replace(first, traits=tuple(self.ordered(first, node))))] if node.args else []
            whole = merged([*given, *(Layer(each.arg, self.value(each.value)) for each in node.keywords)])
            return Value("dict", whole.traits, varies, fields=whole.fields, node=node)
        if name == "vars" and first.kind in ("settings", "instance"):
            return replace(first, kind="settings", dotted=first.dotted or "the settings")
        if name == "range":
            return Value("sequence", elements="plain")
        if name == "next":
            moving = [trait for trait in first.traits if trait.trigger != "M7"]
            return Value("unknown", tuple(moving), varies, elements=first.elements)
        if name == "id":
            return Value("constant", (Trait("M6", "id() is an address, another in every run", node),))
        if name == "hash" and first.elements in ("strings", "few"):
            return Value("constant", (Trait("M3", "hash() of a string follows PYTHONHASHSEED", node),))
        if name == "memoryview":
            return Value("external", (Trait("M7", "a memoryview cannot be pickled", node),))
        if name == "object":
            return Value("external", dotted="object")
        if name in _SAME_VALUE:
            traits = traits_of(arguments)
            if first.kind in ("set", "frozenset"):
                traits = tuple(self.ordered(first, node))
            return Value("constant", traits, varies, elements="strings" if name == "str" else "plain")
        if name == "open":
            mode = constant(node.args[1] if node.args[1:] else keyword(node, "mode"))
            # A file that is read, or written anew, begins at the same place each time.
            appends = isinstance(mode, str) and "a" in mode
            trait = Trait(
                "M6", "a file opened to append to is pickled with its length, which grows from run to run", node
            )
            return Value("external", (trait,) if appends else (), dotted=name)
        if name in ("super", "print"):
            return Value("external", dotted=name)
        return Value("unknown", self._argument_traits(node), varies)

    def _lazy(self, arguments: list[Value], node: ast.Call) -> Value | None:
        """An iterator over a generator is no easier to pickle: `map(int, (...))`, `itertools.islice(rows(), 3)`."""
        held = next((value for value in arguments if value.kind == "generator"), None)
        if held is None:
            return None
        moving = [t for value, given in zip(arguments, node.args, strict=False) for t in self.ordered(value, given)]
        trait = Trait("M7", "a generator cannot be pickled", node)
        return Value(
            "generator", (trait,), elements="unknown", parts=(Value("sequence", tuple(dict.fromkeys(moving))),)
        )

    def _set_of(self, name: str, first: Value, node: ast.Call, varies: bool) -> Value:
        elements: Elements = first.elements if node.args else "few"
        kept = tuple(t for t in first.traits if t.trigger not in ("M2", "M3", "M7"))
        if node.args and isinstance(node.args[0], (ast.List, ast.Tuple, ast.Set)):
            elements = elements_of(
                element_kind(e.value) if isinstance(e, ast.Constant) else self.value(e).elements
                for e in node.args[0].elts
            )
        elif node.args and isinstance(constant(node.args[0]), str):
            elements = "strings" if len(set(str(constant(node.args[0])))) > 1 else "few"
        elif first.kind == "dict":
            elements = "strings" if first.fields and len(first.fields) > 1 else "unknown"
        text = self.is_text(Value(name, elements=elements, node=node), None)
        if name == "frozenset" and text:
            kept = (*kept, Trait("M2", "the order of a frozenset of strings follows PYTHONHASHSEED", node))
        return Value(name, kept, varies, elements=elements, node=node)

    # Methods

    def _method(self, base: Value, name: str, node: ast.Call) -> Value:
        if base.kind == "dataset":
            return self._dataset_method(base, name, node)
        if name == "shuffle" and keyword(node, "buffer_size") is not None:
            return Value("dataset", stream=True)
        if base.kind in ("instance", "class"):
            member = self.attribute(base, name, node)
            if member.kind != "unknown":
                return self.called(member, node)
        if name in words.PARSER_METHODS:
            return Value("settings", varies=True, dotted="an argparse namespace", node=node)
        if base.kind in ("set", "frozenset"):
            return self._set_method(base, name, node)
        if name == "cursor":
            return replace(base, kind="external", dotted="cursor")
        if name == "format" and any(value.kind in ("set", "frozenset") for value in self._argument_values(node)):
            given = [*node.args, *(word.value for word in node.keywords)]
            moving = [trait for source in given for trait in self.ordered(self.value(source), source)]
            return Value("constant", (*base.traits, *moving), base.varies, elements="strings")
        if name in ("split", "splitlines", "rsplit"):
            return Value("sequence", base.traits, base.varies, elements="strings")
        if name == "keys" and base.kind == "dict":
            keys = base.node.keys if isinstance(base.node, ast.Dict) else []
            known = elements_of(self.value(key).elements for key in keys if key is not None) if keys else "unknown"
            return Value("sequence", base.traits, base.varies, dotted="keys", elements=known)
        if name == "manual_seed":
            return replace(base, traits=())
        if name == "join" and node.args:
            moving = self.ordered(self.value(node.args[0]), node)
            return Value("constant", tuple(moving), base.varies, elements="strings")
        if name in (
            "keys",
            "values",
            "items",
            "copy",
            "tolist",
            "numpy",
            "detach",
            "clone",
            "to",
            "cuda",
            "eval",
            "train",
        ):
            return replace(base, kind=base.kind if name in ("copy", "eval", "train", "to", "cuda") else "sequence")
        if name == "load_state_dict":
            return UNKNOWN
        if base.kind == "external" and base.dotted in words.GENERATORS:
            return Value("unknown", base.traits, base.varies)
        if base.kind == "settings" and name in ("copy", "model_copy"):
            return base
        if name == "get" and base.kind in ("settings", "dict"):
            return Value("constant", base.traits, base.varies)
        period = dates.of_member(name, constant(node.args[0]) if node.args else None)
        stamps = dates.at_most(base.traits, period)
        traits = tuple(t for t in (*stamps, *self._argument_traits(node)) if t.trigger in ("M6", "M3"))
        text: Elements = "strings" if name in _KEEP_TEXT else "unknown"
        return Value("unknown", traits, base.varies or self._arguments_vary(node), elements=text)

    def _set_method(self, base: Value, name: str, node: ast.Call) -> Value:
        if name == "intersection":
            return replace(base, elements="few", node=None)
        if name in ("union", "difference", "symmetric_difference", "copy"):
            elements = "unknown" if base.elements == "few" and name == "union" else base.elements
            return replace(base, elements=elements, node=None)
        if name == "pop":
            return Value("unknown", tuple(self.ordered(base, node)))
        return UNKNOWN


def _are_places(node: ast.expr) -> bool:
    """Whether the expression gives the places of items: `range(n)`, `list(range(n))`, `np.arange(n)`."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in ("range", "arange") or (name == "list" and bool(node.args) and _are_places(node.args[0]))
