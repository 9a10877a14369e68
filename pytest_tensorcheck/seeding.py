"""Seeds: which number each phase of each test starts from, and which generators receive it.

Seeded: `random`, numpy's global generator, torch on the CPU and on every initialised device, and the generators of
faker, factory_boy and model_bakery where they are loaded. DataLoader workers take theirs from torch's.
A library is never imported for this; one that is imported later is seeded at that moment (`first_import`).
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial, wraps
from hashlib import blake2b
from struct import Struct
from types import MappingProxyType
from typing import Any, NamedTuple

from pytest_tensorcheck.frameworks import is_library, loaded

# Modules of torch that hold the generators of a kind of device; seeded once they are initialised, never before.
_DEVICE_MODULES = ("cuda", "xpu", "mtia")
# Further libraries with a random.Random of their own: module -> attribute.
_PRIVATE_GENERATORS = {
    "faker.generator": "random",
    "factory.random": "randgen",
    "model_bakery.random_gen": "baker_random",
}


_THREE_SEEDS = Struct(">QQQ")


def derive(base: int, *parts: str) -> int:
    """A 64-bit seed from the base seed and the names of what is seeded. The same on every machine."""
    return int.from_bytes(
        blake2b("\0".join((str(base), *parts)).encode(errors="surrogatepass"), digest_size=8).digest()
    )


def loaded_numpy_random() -> Any | None:
    """numpy.random, which numpy 2 imports when it is first asked for. Also while it is being imported (incomplete)."""
    module = sys.modules.get("numpy.random")
    if not is_library(module):
        numpy = sys.modules.get("numpy")
        if not is_library(numpy):
            numpy = loaded("numpy")
        return None if numpy is None else vars(numpy).get("random")  # as where pytester has put sys.modules back
    return module


class PhaseSeeds(NamedTuple):
    """The seeds of one run of one test. `call` is *the* test's seed."""

    setup: int
    call: int
    teardown: int

    @classmethod
    def of(cls, base: int, nodeid: str, pinned: int | None = None) -> PhaseSeeds:
        """`pinned` (the marker's seed) is what the test itself starts from, as if it had called manual_seed."""
        if pinned is None:
            return cls.from_digest(digest_of(base, nodeid))
        return cls.from_digest(digest_of(pinned, nodeid))._replace(call=pinned)

    @classmethod
    def from_digest(cls, digest: bytes) -> PhaseSeeds:
        return tuple.__new__(cls, _THREE_SEEDS.unpack(digest))


def digest_of(base: int, nodeid: str) -> bytes:
    """The three seeds in 24 bytes, which are made for all tests at once (1 µs each; between two tests it is 5)."""
    return blake2b(f"{base}\0{nodeid}".encode(errors="surrogatepass"), digest_size=24).digest()


def short(seed: int) -> int:
    """A seed that every library accepts (below 2**32, numpy's limit); small seeds stay what they are."""
    return seed if seed < 2**32 else seed & 0xFFFFFFFF


class Seeder:
    """Seeds what is loaded, and knows which generators somebody else has seeded since."""

    def __init__(self) -> None:
        self.current = 0
        self.active = True
        self.seeded_by_hand: set[str] = set()
        self._originals: dict[str, Callable[..., Any]] = {}
        self._queued_for_devices = False
        # What random.seed does with a number, without its frame in Python: this is done for every test.
        self._random: Any = random.getstate.__self__  # type: ignore[attr-defined]  # the instance behind the functions
        self._seed_random: Callable[[int], None] = super(random.Random, self._random).seed  # type: ignore[misc]
        self._torch: _TorchGenerators | None = None

    def apply(self, seed: int, keep: frozenset[str] = frozenset()) -> None:
        """Seed every generator except those in `keep`. About 10 µs, of which `random` takes 6.

        numpy gets 32 bits: a longer seed goes through its array form, which takes eight times as long.
        """
        self.current = seed
        if "random" not in keep:
            self._seed_random(seed)
            self._random.gauss_next = None
        if "numpy" not in keep:
            numpy_seed = self._originals.get("numpy")
            if numpy_seed is None:
                numpy_seed = getattr(loaded_numpy_random(), "seed", None)  # absent while numpy.random is half imported
            if numpy_seed is not None:
                numpy_seed(seed & 0xFFFFFFFF)
        if "torch" not in keep:
            torch, known = sys.modules.get("torch"), self._torch
            if known is None or known.torch is not torch:
                known = self._torch_generators()
            if known is not None:
                known.seed(seed)
        if not sys.modules.keys().isdisjoint(_PRIVATE_GENERATORS):
            for _, generator in _private_generators():
                generator.seed(seed)
        if self.seeded_by_hand:
            self.seeded_by_hand.clear()

    def seeded_by_others(self) -> frozenset[str]:
        """Generators that were seeded since `apply` by someone else: a fixture that calls manual_seed means it."""
        generators = self._torch_generators()
        if generators is not None and generators.cpu.initial_seed() != self.current:
            self.seeded_by_hand.add("torch")
        return frozenset(self.seeded_by_hand) if self.seeded_by_hand else frozenset()

    def _torch_generators(self) -> _TorchGenerators | None:
        torch = sys.modules.get("torch")
        if torch is None and "torch" not in sys.modules:
            return None
        known = self._torch
        if not is_library(torch):
            return known
        if known is None or known.torch is not torch:
            if getattr(torch, "default_generator", None) is None:  # torch is half imported
                return None
            known = _TorchGenerators(torch)
            if loaded("torch") is not None:
                self._torch = known
        return known

    def watch_random(self) -> None:
        self._watch("random", random)

    def watch_numpy(self) -> None:
        numpy_random = loaded_numpy_random()
        if numpy_random is not None:
            self._watch("numpy", numpy_random)

    def _watch(self, name: str, module: Any) -> None:
        """Note calls of `module.seed`; the function does what it did."""
        if name in self._originals:
            return
        original = module.seed
        by_hand = self.seeded_by_hand

        @wraps(original)
        def seed(*args: Any, **kwargs: Any) -> Any:
            by_hand.add(name)
            return original(*args, **kwargs)

        # Pickled by its name, as what starts a spawned worker is: there the name is the original's.
        seed.__module__, seed.__qualname__ = module.__name__, "seed"
        seed.__tensorcheck_original__ = original  # type: ignore[attr-defined]
        self._originals[name] = original
        module.seed = seed

    def queue_for_devices(self) -> None:
        """CUDA draws its own first seed when it is initialised; have torch give it ours at that moment."""
        torch = sys.modules.get("torch")  # not loaded(): this is called at the very end of torch's import
        if torch is None or self._queued_for_devices:
            return
        self._queued_for_devices = True
        for name in _DEVICE_MODULES:
            module = getattr(torch, name, None)
            queue = _queue_of(module)
            if queue is not None and not module.is_initialized():  # type: ignore[union-attr]
                queue(partial(self._seed_new_device, module))

    def _seed_new_device(self, module: Any) -> None:
        if self.active:
            for generator in getattr(module, "default_generators", ()):
                generator.manual_seed(self.current)

    @contextmanager
    def undisturbed(self, seed: int) -> Iterator[None]:
        """Seed for the block, then put every generator back where it was: a wider-scoped fixture's numbers are its own."""
        outer, by_hand, states = self.current, set(self.seeded_by_hand), GeneratorStates.now()
        self.apply(seed)
        try:
            yield
        finally:
            # What was first loaded inside the block has no state from before: it starts as the phase did.
            self.current = outer
            states.restore(otherwise=outer)
            self.seeded_by_hand.clear()
            self.seeded_by_hand.update(by_hand)

    def stop(self) -> None:
        self.active = False
        for name, module in (("random", random), ("numpy", loaded_numpy_random())):
            original = self._originals.pop(name, None)
            ours = getattr(module, "seed", None)
            if original is not None and getattr(ours, "__tensorcheck_original__", None) is original:
                module.seed = original  # type: ignore[union-attr]


def _queue_of(module: Any) -> Callable[[Callable[[], object]], object] | None:
    """What puts off a call until the device is initialised; None in versions of torch that have no such thing.

    `_lazy_call` (seen in torch 2.6 to 2.13) formats the Python stack for a message, which reads the source of pytest from
    disk. Its list takes a call with any text in the stack's place.
    """
    calls = getattr(module, "_queued_calls", None)
    if isinstance(calls, list):
        return lambda call: calls.append((call, ["  seeded by pytest-tensorcheck\n"]))
    queue: Callable[[Callable[[], object]], object] | None = getattr(module, "_lazy_call", None)
    return queue


class _TorchGenerators:
    """torch's generators, those of devices from the moment at which the devices are initialised."""

    __slots__ = ("_devices", "_mps", "cpu", "torch")

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.cpu = torch.default_generator
        self._devices = [module for name in _DEVICE_MODULES if (module := getattr(torch, name, None)) is not None]
        mps = sys.modules.get("torch.mps")
        self._mps = mps if mps is not None and torch.backends.mps.is_available() else None

    def seed(self, seed: int) -> None:
        # torch.manual_seed formats the Python stack three times to queue seeds for devices that are not there (365 µs
        # below pytest); the generator's own method takes 1 µs.
        self.cpu.manual_seed(seed)
        for module in self._devices:
            # is_initialized() asks for this variable first (seen in torch 2.6 to 2.13).
            if getattr(module, "_initialized", True) and module.is_initialized():
                for device_generator in getattr(module, "default_generators", ()):
                    device_generator.manual_seed(seed)
        if self._mps is not None:
            self._mps.manual_seed(seed)


class GeneratorStates(NamedTuple):
    """Where every loaded generator stands. Costs about 100 µs with numpy: for wider-scoped fixtures, not for tests."""

    python: Any
    numpy: Any = None
    torch: Any = None
    devices: Mapping[str, list[Any]] = MappingProxyType({})
    private: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def now(cls) -> GeneratorStates:
        numpy_random = loaded_numpy_random()
        torch = loaded("torch")
        devices: dict[str, list[Any]] = {}
        if torch is not None:
            for name in _DEVICE_MODULES:
                module = getattr(torch, name, None)
                if module is not None and module.is_initialized():
                    devices[name] = [generator.get_state() for generator in module.default_generators]
        return cls(
            random.getstate(),
            numpy_random.get_state() if numpy_random is not None else None,
            torch.default_generator.get_state() if torch is not None else None,
            devices,
            tuple((name, generator.getstate()) for name, generator in _private_generators()),
        )

    def restore(self, otherwise: int) -> None:
        """`otherwise` seeds what had no state yet when this was taken."""
        random.setstate(self.python)
        numpy_random = loaded_numpy_random()
        if numpy_random is not None:
            if self.numpy is not None:
                numpy_random.set_state(self.numpy)
            else:
                numpy_random.seed(otherwise & 0xFFFFFFFF)
        torch = loaded("torch")
        if torch is not None:
            if self.torch is not None:
                torch.default_generator.set_state(self.torch)
            else:
                _TorchGenerators(torch).seed(otherwise)
            for name in _DEVICE_MODULES:
                module = getattr(torch, name, None)
                if module is None or not module.is_initialized():
                    continue
                states = self.devices.get(name)
                for index, generator in enumerate(module.default_generators):
                    if states is not None and index < len(states):
                        generator.set_state(states[index])
                    else:
                        generator.manual_seed(otherwise)
        before = dict(self.private)
        for name, generator in _private_generators():
            if name in before:
                generator.setstate(before[name])
            else:
                generator.seed(otherwise)


def _private_generators() -> Iterator[tuple[str, random.Random]]:
    for module_name, attribute in _PRIVATE_GENERATORS.items():
        generator = getattr(sys.modules.get(module_name), attribute, None)
        if isinstance(generator, random.Random):
            yield module_name, generator
