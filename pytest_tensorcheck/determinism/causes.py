"""The kinds of cause that make two runs differ, each with its remedy, and the divergence that names one."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from pytest_tensorcheck.observations import TensorcheckFailure
from pytest_tensorcheck.user_line import UserLine


class Cause(StrEnum):
    """Why the runs differ."""

    KERNEL = "nondeterministic kernel"
    GENERATOR = "unseeded generator"
    CARRIED_GENERATOR = "generator carried over from the run before"
    PYTHON = "Python state, time or the operating system"
    ORDER = "iteration order"
    UNINITIALISED = "uninitialised memory"
    CHANGED = "a tensor changed between the runs"
    THREADS = "thread count"
    WORKERS = "data loader workers"
    CONTROL_FLOW = "control flow"
    OUTSIDE = "a value from outside torch"
    MACHINE = "another machine or version"


REMEDIES: dict[Cause, str] = {
    Cause.KERNEL: "call torch.use_deterministic_algorithms(True) (or deterministic.settings()), which takes a deterministic "
    "kernel or says that there is none; on the CPU one thread (torch.set_num_threads(1)) keeps the order of the additions",
    Cause.GENERATOR: "make the generator with a seed, inside the function or the test: np.random.default_rng(seed), "
    "torch.Generator().manual_seed(seed), and pass it on (generator=)",
    Cause.CARRIED_GENERATOR: "make the generator inside the function, or seed it at its start: what one run draws, "
    "the next one does not get again",
    Cause.PYTHON: "pass the value in as an argument, or reset the state at the start, "
    "so that every run computes with the same one",
    Cause.ORDER: "iterate in an order of its own: sorted(…) over the set or the directory, or a list or dict instead",
    Cause.UNINITIALISED: "write every element before it is read, or allocate with torch.zeros / torch.full",
    Cause.CHANGED: "make the tensors, the module and its optimizer inside the function, or give each run a copy "
    "(copy.deepcopy(model), x.clone()): the second run started from what the first one left",
    Cause.THREADS: "compare with a tolerance, or fix the number with torch.set_num_threads(n): sums are split among "
    "the threads, and floating point addition depends on the order",
    Cause.WORKERS: "seed what the workers draw from: DataLoader(generator=torch.Generator().manual_seed(seed), "
    "worker_init_fn=…), and in the dataset torch's or numpy's global generator, or "
    "default_rng(torch.initial_seed()) made in the worker",
    Cause.CONTROL_FLOW: "make the branch or the number of iterations depend on the inputs only",
    Cause.OUTSIDE: "seed or fix what the value is computed from before it becomes a tensor",
    Cause.MACHINE: "compare with a tolerance (tensorcheck-diverge --rtol), or run both with the same versions, "
    "device and thread count",
}


@dataclass(frozen=True, slots=True)
class Evidence:
    """A line that explains the cause: where the `empty` was, where the time was read."""

    where: UserLine | None
    text: str


@dataclass(slots=True)
class Divergence:
    """The first operation that differs. `where` is the user's line of it (the forward line for an operation of
        backward).

    `index` counts the operations of the later run, from 0; `labels` are what the runs are called; `size` says by how
    much they differ.
    """

    cause: Cause
    operator: str
    where: UserLine | None
    detail: str = ""
    origin: UserLine | None = None
    evidence: list[Evidence] = field(default_factory=list)
    size: str = ""
    backward: str = ""
    index: int = -1
    labels: tuple[str, str] = ("run 1", "run 2")
    remedy: str = ""
    notes: list[str] = field(default_factory=list)


class DivergenceError(TensorcheckFailure):
    """Two runs differ. `.divergence` holds the facts of the text; it survives pickling."""

    divergence: Divergence | None = None

    @classmethod
    def of(cls, divergence: Divergence, what: str = "") -> DivergenceError:
        from pytest_tensorcheck.determinism.messages import divergence_text

        error = cls(divergence_text(divergence, what))
        error.divergence = divergence
        return error
