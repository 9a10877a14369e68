"""What a call gives: libraries through the tables, classes and functions of the file through their source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from tensorlint.inference.fingerprints import vocabulary as words
from tensorlint.inference.fingerprints.classes import Classes, last_name
from tensorlint.inference.fingerprints.scopes import FunctionNode, Names
from tensorlint.inference.fingerprints.values import (
    CONSTANT,
    UNKNOWN,
    Elements,
    Parent,
    Trait,
    Value,
    element_kind,
    elements_of,
    joined,
    traits_of,
)

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
_DATASET_CLASSES = frozenset(["datasets.Dataset", "datasets.DatasetDict", "datasets.arrow_dataset.Dataset"])
_DATASET_CLASSES |= frozenset(["datasets.dataset_dict.DatasetDict"])
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


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((given.value for given in call.keywords if given.arg == name), None)


def constant(node: ast.expr | None) -> object:
    """The value of a literal; Ellipsis where it is not one."""
    return node.value if isinstance(node, ast.Constant) else ...


class Calls:
    """Everything about calls. `Evaluator` adds the other expressions."""

    def __init__(self, names: Names) -> None:
        self.names = names
        self.classes = Classes(names)
        self._values: dict[ast.expr, Value] = {}
        self._provisional: dict[ast.expr, Value] = {}
        self._active: dict[ast.expr, int] = {}  # expressions in evaluation, with their depth
        self._reaches = 1 << 30  # the outermost expression in evaluation that was met again
        self._named_active: set[tuple[str, int, int]] = set()
        self._returning: set[int] = set()
        self.dataset_classes = _DATASET_CLASSES
        self.mutations: dict[str, list[ast.Call]] = {}
        self._by_callee: dict[str, list[ast.Call]] = {}
        self.seeds: set[str] = set()
        self.settings_fields: set[str] | None = set()
        self.imports_datasets = False
        self.other_datasets = False
        self._survey()

    def _survey(self) -> None:
        """One look over the file: who is called, what is seeded, what the argument parsers know."""
        for call in self.names.calls:
            name = last_name(call.func)
            self._by_callee.setdefault(name, []).append(call)
            if name == "sort" and isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
                self.mutations.setdefault(call.func.value.id, []).append(call)
            elif name == "shuffle" and call.args and isinstance(call.args[0], ast.Name):
                self.mutations.setdefault(call.args[0].id, []).append(call)
            elif name == "add_argument" and self.settings_fields is not None:
                self._parser_field(call)
            if "seed" in name.lower() and (call.args or call.keywords) and constant((*call.args, None)[0]) is not None:
                self.seeds.add(self._seeded(call, name))
        for bindings in self.names.module.bindings.values():
            for binding in bindings:
                self._survey_import(binding.imported)
        for scope in self.names.scope_of.values():
            if not scope.is_module:
                for bindings in scope.bindings.values():
                    for binding in bindings:
                        if binding.how == "import" and binding.imported.startswith("datasets."):
                            self._survey_import(binding.imported)

    def _survey_import(self, imported: str) -> None:
        head, _, last = imported.rpartition(".")
        if imported == "datasets" or (head.split(".")[0] == "datasets" and last in words.HF_NAMES):
            self.imports_datasets = True
        if imported in (
            "tensorflow",
            "tensorflow_datasets",
            "ray.data",
            "ray",
            "jax.experimental",
            "webdataset",
            "grain",
        ):
            self.other_datasets = True
        if imported in ("torch.utils.data.Dataset", "torch.utils.data.dataset.Dataset"):
            self.other_datasets = True

    def _parser_field(self, call: ast.Call) -> None:
        named = constant(keyword(call, "dest"))
        if not isinstance(named, str):
            flags = [constant(argument) for argument in call.args]
            texts = [flag for flag in flags if isinstance(flag, str)]
            if len(texts) != len(flags) or not texts:
                self.settings_fields = None
                return
            named = next((text for text in texts if text.startswith("--")), texts[0]).lstrip("-").replace("-", "_")
        assert self.settings_fields is not None
        self.settings_fields.add(named)

    def _seeded(self, call: ast.Call, name: str) -> str:
        """Which process-wide generator a call seeds: python, numpy, torch, or all."""
        owner = ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""
        if name == "seed":
            return "numpy" if owner.split(".")[0] in ("np", "numpy") else "python" if owner == "random" else "all"
        if "manual_seed" in name:
            return "torch"
        return "all" if name not in ("initial_seed", "get_seed", "seed_worker", "default_rng_seed") else ""

    def is_seeded(self, generator: str) -> bool:
        return "all" in self.seeds or generator in self.seeds

    # For mypy: what the evaluator adds.

    def value(self, node: ast.expr | None) -> Value:
        raise NotImplementedError

    def attribute(self, base: Value, name: str, at: ast.AST) -> Value:
        raise NotImplementedError

    def returned(self, function: FunctionNode) -> Value:
        raise NotImplementedError

    def ordered(self, value: Value, node: ast.AST) -> list[Trait]:
        raise NotImplementedError

    def mixed(self, node: ast.AST) -> Value:
        raise NotImplementedError

    def is_text(self, value: Value, node: ast.AST | None) -> bool:
        raise NotImplementedError

    # Functions of the file and who calls them

    def own_nodes(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
        """Nodes of a function's own body, not of the functions inside it."""
        pending: list[ast.AST] = list(function.body)
        while pending:
            node = pending.pop()
            yield node
            if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
                pending += ast.iter_child_nodes(node)

    def arguments_given(self, function: FunctionNode, parameter: str) -> list[ast.expr]:
        """What the calls in this file pass for `parameter`; empty if one of them cannot be read."""
        if isinstance(function, ast.Lambda):
            return []
        owner = self.names.method_class(function)
        called = owner.name if owner is not None and function.name == "__init__" else function.name
        positional = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
        bound = owner is not None and function.name not in self.classes.facts(owner).static
        if bound:
            positional = positional[1:]
        found: list[ast.expr] = []
        for call in self._by_callee.get(called, ()):
            if not self._calls(call, function, owner):
                continue
            given = self._argument(call, positional, parameter)
            if given is None:
                default = self._default(function, parameter)
                if default is None:
                    return []
                given = default
            found.append(given)
        return found

    def _calls(self, call: ast.Call, function: FunctionNode, owner: ast.ClassDef | None) -> bool:
        if isinstance(call.func, ast.Attribute):
            return owner is not None and not isinstance(function, ast.Lambda) and function.name != "__init__"
        if not isinstance(call.func, ast.Name):
            return False
        scope = self.names.resolve(call.func.id, self.names.scope_at[call])
        nodes = [binding.node for binding in scope.bindings[call.func.id]] if scope is not None else []
        return function in nodes or (owner is not None and owner in nodes)

    @staticmethod
    def _argument(call: ast.Call, positional: list[str], parameter: str) -> ast.expr | None:
        named = keyword(call, parameter)
        if named is not None:
            return named
        if any(isinstance(argument, ast.Starred) for argument in call.args):
            return None
        if parameter in positional and positional.index(parameter) < len(call.args):
            return call.args[positional.index(parameter)]
        return None

    def _default(self, function: FunctionNode, parameter: str) -> ast.expr | None:
        scope = self.names.scope_of[function]
        return next((b.value for b in scope.bindings.get(parameter, ()) if b.how == "parameter"), None)

    # Calls

    def _of_call(self, node: ast.Call) -> Value:
        if isinstance(node.func, ast.Attribute):
            base = self.value(node.func.value)
            if base.kind != "module":
                return self._method(base, node.func.attr, node)
        return self.called(self.value(node.func), node)

    def called(self, function: Value, node: ast.Call) -> Value:
        if function.kind == "module":
            return self._external(function.dotted, node)
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
                return self.returned(function.node)
            finally:
                self._returning.discard(id(function.node))
        if function.kind == "partial" and function.owner is not None:
            return self.called(function.owner, node)
        return Value("unknown", self._argument_traits(node), self._arguments_vary(node))

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
            return Value("unknown", (Trait("M6", f"{dotted}() is another in every run", node),))
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
            if seed is None or constant(seed) is None:
                if dotted == "random.Random" or dotted.startswith("numpy"):
                    trait = Trait("M6", f"{dotted}() takes another seed in every run", node)
                    return Value("external", (trait,), dotted=dotted)
            else:
                given = self.value(seed)
                return Value("external", given.traits, given.varies, dotted=dotted)
        if dotted == "numpy.random.Generator" and node.args:
            return replace(self.value(node.args[0]), kind="external", dotted=dotted)
        for prefix, names in words.GLOBAL_DRAWS:
            if dotted == prefix + last and last in names:
                library = {"random.": "python", "numpy.random.": "numpy", "torch.": "torch"}[prefix]
                if self.is_seeded(library) or keyword(node, "generator") is not None:
                    return Value("unknown", dotted=dotted)
                return Value("unknown", (Trait("M6", f"{dotted}() is drawn without a seed", node),), dotted=dotted)
        if dotted.startswith("torch.nn.") and dotted == f"torch.nn.{last}":
            if last in words.RANDOM_LAYERS and not self.is_seeded("torch"):
                return Value(
                    "external", (Trait("M6", f"the weights of {dotted} are random and unseeded", node),), dotted=dotted
                )
            return Value("external", traits_of(self._argument_values(node)), dotted=dotted)
        return None

    def _settings(self, dotted: str, last: str, node: ast.Call) -> Value | None:
        if dotted in words.SETTINGS_CALLS:
            known = all(given.arg for given in node.keywords) and not node.args and dotted.startswith(("arg", "types"))
            fields = tuple((g.arg, self.value(g.value)) for g in node.keywords if g.arg) if known else None
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
        if dotted == "collections.Counter":
            return Value("unknown", ())
        if dotted in ("copy.copy", "copy.deepcopy") and arguments:
            return arguments[0]
        if dotted.startswith(("numpy.", "pandas.", "torch.", "json.", "itertools.")) and arguments:
            moving = [trait for index, value in enumerate(arguments) for trait in self.ordered(value, node)]
            return Value("external", tuple(moving), any(a.varies for a in arguments), dotted=dotted)
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
            return Value("sequence", tuple(dict.fromkeys(moving)), varies, elements=elements)
        if name == "dict":
            parts = [(g.arg, self.value(g.value)) for g in node.keywords if g.arg]
            if first.kind in ("dict", "settings") or not node.args:
                fields = (*(first.fields or ()), *parts)
                known = all(g.arg for g in node.keywords) and (first.fields is not None or not node.args)
                return Value("dict", traits_of(arguments), varies, fields=fields if known else None, node=node)
            return Value("dict", traits_of(arguments), varies, node=node)
        if name == "vars" and first.kind in ("settings", "instance"):
            return replace(first, kind="settings", dotted=first.dotted or "the settings")
        if name == "range":
            return Value("sequence", elements="plain")
        if name == "id":
            return Value("constant", (Trait("M6", "id() is an address, another in every run", node),))
        if name == "hash" and first.elements in ("strings", "few"):
            return Value("constant", (Trait("M3", "hash() of a string follows PYTHONHASHSEED", node),))
        if name == "memoryview":
            return Value("external", (Trait("M7", "a memoryview cannot be pickled", node),))
        if name == "object":
            return Value("external", dotted="object")
        if name in _SAME_VALUE:
            return Value("constant", traits_of(arguments), varies, elements="strings" if name == "str" else "plain")
        if name in ("open", "super", "print"):
            return Value("external", dotted=name)
        return Value("unknown", self._argument_traits(node), varies)

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
        if name in ("split", "splitlines", "rsplit"):
            return Value("sequence", base.traits, base.varies, elements="strings")
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
        traits = tuple(t for t in (*base.traits, *self._argument_traits(node)) if t.trigger in ("M6", "M3"))
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

    # datasets

    def _dataset_call(self, dotted: str, last: str, node: ast.Call) -> Value | None:
        parts = dotted.split(".")
        if parts[0] != "datasets":
            return None
        if last in words.LOADERS and len(parts) <= 3:
            return self._loaded(last, node)
        owner = parts[-2] if len(parts) > 1 else ""
        if last in words.CONSTRUCTORS and owner in ("Dataset", "DatasetDict"):
            return self._constructed(owner, last, node)
        if last == "DatasetDict":
            given = self._argument_values(node)
            inner = [part for value in given for part in ((value, *value.parts) if value.kind == "dict" else (value,))]
            inner = [value for value in inner if value.kind == "dataset"]
            parents = tuple(dict.fromkeys(parent for value in inner for parent in value.parents))
            memory = bool(inner) and all(value.memory for value in inner)
            return Value(
                "dataset",
                is_dict=True,
                parents=parents,
                stream=any(value.stream for value in inner),
                memory=memory,
                shown=any(value.shown for value in inner) or not inner,
            )
        if last == "Dataset":
            return Value("dataset", is_dict=False)
        if last in ("IterableDataset", "IterableDatasetDict") or owner in ("IterableDataset", "IterableDatasetDict"):
            return Value("dataset", stream=True)
        if last in ("load_dataset_builder",):
            return Value("external", dotted=dotted)
        return None

    def _loaded(self, last: str, node: ast.Call) -> Value:
        if last in ("concatenate_datasets", "interleave_datasets"):
            listed = self.value(node.args[0] if node.args else keyword(node, "dsets") or keyword(node, "datasets"))
            inner = [value for value in listed.parts if value.kind == "dataset"]
            parents = tuple(dict.fromkeys(parent for value in inner for parent in value.parents))
            if last == "interleave_datasets" and (keyword(node, "probabilities") or node.args[1:2]):
                seed = keyword(node, "seed") or (node.args[2] if len(node.args) > 2 else None)
                if seed is None or constant(seed) is None:
                    parents = (*parents, Parent("M10", last, node, "it draws the order without a seed"))
            return Value("dataset", is_dict=False, parents=parents, stream=any(value.stream for value in inner))
        streaming = keyword(node, "streaming")
        if constant(streaming) is True:
            return Value("dataset", stream=True)
        if any(given.arg is None and self.value(given.value).fields is None for given in node.keywords):
            return Value("external", dotted=f"datasets.{last}")  # whether it streams is in a dict made elsewhere
        split = keyword(node, "split") or (node.args[4] if len(node.args) > 4 else None)
        is_dict: bool | None = None
        if split is None and last == "load_dataset":
            is_dict = True
        elif isinstance(split, (ast.Constant, ast.JoinedStr)) and constant(split) is not None:
            is_dict = False
        return Value("dataset", is_dict=is_dict)

    def _constructed(self, owner: str, last: str, node: ast.Call) -> Value:
        columns: list[tuple[str, Elements]] = []
        data = node.args[0] if node.args else None
        if last == "from_dict" and isinstance(data, ast.Dict):
            for key, column in zip(data.keys, data.values, strict=True):
                if isinstance(key, ast.Constant) and isinstance(key.value, str):
                    columns.append((key.value, self.value(column).elements))
        memory = last in ("from_dict", "from_list", "from_pandas", "from_polars")
        known = tuple(columns) if isinstance(data, ast.Dict) and len(columns) == len(data.keys) else None
        given = data.values if isinstance(data, ast.Dict) else []
        shown = last == "from_dict" and any(not isinstance(column, ast.Name) for column in given)
        return Value("dataset", is_dict=owner == "DatasetDict", memory=memory, columns=known, shown=shown or not memory)

    def _dataset_method(self, base: Value, name: str, node: ast.Call) -> Value:
        if name == "to_iterable_dataset":
            return replace(base, stream=True)
        if name == "train_test_split":
            return replace(self._randomised(base, name, node), is_dict=True)
        if name == "shuffle":
            return self._randomised(base, name, node)
        if name in ("values", "items"):
            return Value("sequence", parts=(replace(base, is_dict=False),))
        if name == "pop" or name == "get":
            return replace(base, is_dict=False)
        if name == "unique":
            return Value("sequence")
        if name in ("keys",):
            return Value("sequence", elements="strings")
        if name in words.SAME_KIND:
            parents = (*base.parents, *self._argument_parents(base, name, node))
            columns = base.columns if name in ("shuffle", "filter", "select", "sort", "with_format", "take") else None
            return replace(base, parents=parents, columns=columns, memory=base.memory)
        return UNKNOWN

    def _argument_parents(self, base: Value, name: str, node: ast.Call) -> list[Parent]:
        """A transform with a moving argument: `select(random.sample(...))`, `remove_columns(list(set(...)))`."""
        if name in words.TRANSFORMS or base.stream:
            return []
        for argument in (*node.args, *(given.value for given in node.keywords if given.arg != "new_fingerprint")):
            for trait in self.value(argument).traits:
                if trait.trigger in ("M3", "M6") and keyword(node, "new_fingerprint") is None:
                    return [Parent("M10" if trait.trigger == "M6" else "M3", name, node, trait.reason)]
        return []

    def _randomised(self, base: Value, name: str, node: ast.Call) -> Value:
        if keyword(node, "buffer_size") is not None:
            return replace(base, stream=True)
        if base.stream or self.is_seeded("numpy") or any(given.arg is None for given in node.keywords):
            return base
        if keyword(node, "new_fingerprint") is not None or keyword(node, "train_new_fingerprint") is not None:
            return base
        seed = keyword(node, "seed") or keyword(node, "seeds")
        if seed is None and name == "shuffle" and node.args:
            seed = node.args[0]
        generator = keyword(node, "generator") or keyword(node, "generators")
        if generator is not None and constant(generator) is not None:
            moving = self.value(generator).traits
            reason = moving[0].reason if moving else ""
        elif seed is not None and constant(seed) is not None:
            moving = tuple(t for t in self.value(seed).traits if t.trigger in ("M6", "M3"))
            reason = moving[0].reason if moving else ""
        else:
            reason = "it draws a new order in every run" if name == "shuffle" else "it takes a new seed in every run"
        if not reason:
            return base
        return replace(base, parents=(*base.parents, Parent("M10", name, node, reason)))


__all__ = ["CONSTANT", "Calls", "constant", "joined", "keyword"]
