"""Every entry of every table has a result that was compared with the library's own: none is taken on trust."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the tables are compared with torch")
numpy = pytest.importorskip("numpy", reason="the tables are compared with numpy")
einops = pytest.importorskip("einops", reason="the tables are compared with einops")
pytest.importorskip("expecttest", reason="PyTorch's own operator samples need it")

import ops_calls  # noqa: E402
import ops_einops  # noqa: E402
import ops_layers  # noqa: E402
import ops_modules  # noqa: E402
import ops_numpy  # noqa: E402
import ops_opinfo  # noqa: E402
import ops_torch  # noqa: E402
import ops_views  # noqa: E402
from ops_oracle import CHECKED, CHECKED_LAYERS, Tally  # noqa: E402

from tensorlint.inference import ops  # noqa: E402
from tensorlint.inference.ops import modules  # noqa: E402

# What cannot be called here, and why.
EXEMPT = {
    "torch.compile": "returns the function it was given; compiling takes seconds",
    "torch.jit.script": "returns the function it was given; compiling takes seconds",
    "torch.Generator": "no tensor",
    "torch.device": "no tensor",
    "torch.manual_seed": "no tensor; changes the process",
    "cuda": "needs a GPU",
    "pin_memory": "needs a GPU",
    "numpy.fromstring": "its binary mode is gone from numpy 2.3",
}
LAYERS_EXEMPT = {
    "torch.nn.Sequential": "calls its parts: the programs of the interpreter's tests",
    "torch.nn.ModuleList": "is not called",
    "torch.nn.ModuleDict": "is not called",
    "torch.nn.ParameterList": "is not called",
    "torch.nn.ParameterDict": "is not called",
    "torch.nn.DataParallel": "calls the module it wraps",
    "torch.nn.parallel.DistributedDataParallel": "needs a process group",
    "torch.nn.SyncBatchNorm": "needs a GPU in training",
    "torch.nn.TransformerDecoder": "takes a layer, which no sample here is; as TransformerEncoder, which module_db has",
    "torch.nn.NLLLoss2d": "the old name of NLLLoss",
    "torchvision.classifier": "no layer of torch: test_rule_replaced_heads compares every model",
    "timm.classifier": "no layer of torch: test_rule_replaced_heads runs one",
}


def _exists(library: str, kind: str, name: str) -> bool:
    """Whether the installed version of the library has it; the tables know names of other versions too."""
    if library == "numpy":
        return (
            ops_numpy.real_function(name) if kind == "functions" else getattr(numpy.ndarray, name, None)
        ) is not None
    if library == "einops":
        return hasattr(einops, name.rpartition(".")[2])
    found: Any = ops_opinfo.real_function(name) if kind == "functions" else getattr(torch.Tensor, name, None)
    return found is not None


@pytest.mark.usefixtures("samples_of_torch")
@pytest.mark.host
def test_every_entry_is_compared_with_its_library() -> None:
    names = {
        id(entry): (library, kind, name)
        for library in ("torch", "numpy", "einops")
        for kind in ("functions", "methods", "attributes")
        for name, entry in getattr(ops.table_of(library), kind).items()
        if name not in EXEMPT
        and ".cuda." not in name
        and _exists(library, kind, name)
        # An in-place twin of a function is made when a program first calls it: which there are depends on other tests.
        and not (kind == "functions" and name.endswith("_") and name[:-1] in ops.table_of(library).functions)
    }
    assert len(names) > 1_300
    tally = ops_calls.sweep()
    for info in ops_opinfo.database():
        if ops_opinfo.known(info):
            ops_opinfo.sweep(info, tally, most=1, modes=("numbers",))
    wrong = list(tally.wrong)
    for part, _accepted in (ops_torch.sweep(41, 25, most=2), ops_numpy.sweep(41, 50)):
        wrong += part.wrong
    for part in (
        ops_einops.sweep(51, 30),
        ops_views.views(61, 30),
        ops_views.einsums(71, 5),
        ops_views.attentions(81, 5),
    ):
        wrong += part.wrong
    assert not wrong, "\n".join(wrong[:20])
    missing = [" ".join(name) for entry, name in names.items() if not CHECKED[entry]]
    assert not missing, "no result of these was compared; give each a line in ops_calls.py:\n" + "\n".join(missing)


def test_every_layer_is_compared_with_its_own_forward() -> None:
    tally = Tally()
    for info in ops_modules.database():
        ops_modules.sweep(info, tally, most=20)
    for seed in (31, 32):
        tally.wrong += ops_layers.sweep(seed).wrong
    assert tally.results > 2_000
    assert tally.dtypes > 0.95 * tally.results
    assert tally.strides > 0.8 * tally.results
    assert not tally.wrong, "\n".join(tally.wrong[:20])
    missing = [path for path in modules.LAYERS if path not in LAYERS_EXEMPT and not CHECKED_LAYERS[path]]
    assert not missing, "no call of these was compared; give each a sample in ops_layers.py:\n" + "\n".join(missing)
