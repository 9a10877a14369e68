"""Calls written out, one a line, for the operations that neither PyTorch's samples nor random arguments reach.

Each is evaluated for real, its arguments are lifted, and the entry's claim is compared. A new operation that the
generators cannot call gets a line here.
"""

from __future__ import annotations

import ast
import random
import warnings
from typing import Any

import einops
import numpy
import torch
from ops_oracle import Sizes, Tally, apply, compare, lift

from tensorlint.inference import ops

MODES = ("numbers", "shared", "own")


def scope() -> dict[str, Any]:
    """The names that the lines use, made anew for each line: some change what they are given."""
    square = numpy.eye(3) + 1.0
    return {
        "torch": torch,
        "numpy": numpy,
        "einops": einops,
        "x": torch.randn(4, 6),
        "cube": torch.randn(2, 3, 4),
        "image": torch.randn(2, 8, 6, 6),
        "whole": torch.randint(0, 3, (4,)),
        "spd": torch.eye(3).expand(2, 3, 3) + torch.eye(3),
        "w": torch.ones(3, requires_grad=True),
        "v": torch.ones(2, requires_grad=True),
        "z": torch.ones(2, 3, dtype=torch.complex64),
        "lin": torch.nn.Linear(3, 3),
        "a": numpy.ones((3, 4)),
        "box": numpy.ones((2, 3, 4)),
        "square": square,
        "stack": numpy.stack([square, square]),
        "g": numpy.random.default_rng(0),
        "r": numpy.random.RandomState(0),
    }


TORCH = """
torch.rand(2, 3) | torch.rand((2, 3)) | torch.randperm(5) | torch.hann_window(7) | torch.hamming_window(7)
torch.blackman_window(7) | torch.bartlett_window(7) | torch.kaiser_window(7) | torch.tensor([[1, 2], [3, 4]])
torch.tensor([1.5, 2]) | torch.tensor(3) | torch.tensor([x.sum().view(1), x.sum().view(1)]) | torch.as_tensor([1, 2])
torch.as_tensor(a) | torch.asarray([1.0]) | torch.from_numpy(a) | torch.from_numpy(a.T) | x.new_tensor([1, 2])
torch.range(1, 7, 3) | torch.detach(x.T)
torch.nn.functional.dropout1d(cube) | torch.dropout(x, 0.5, True) | torch.nn.functional.gumbel_softmax(x)
torch.nn.functional.embedding(whole, x) | torch.nn.functional.embedding(whole.view(2, 2), x)
torch.instance_norm(image, None, None, None, None, True, 0.1, 1e-5, False)
torch.batch_norm(image, None, None, None, None, True, 0.1, 1e-5, False)
torch.prelu(x, torch.ones(1)) | torch.glu(x, 1) | torch.threshold(x, 0.1, 20) | torch.rrelu(x) | torch.celu(x)
torch.vander(torch.arange(4)) | torch.vander(torch.arange(4), 3) | torch.linalg.vander(torch.ones(2, 4))
torch.Tensor(2, 3) | torch.FloatTensor([[1, 2]]) | torch.DoubleTensor(2, 3) | torch.HalfTensor(2) | torch.LongTensor([1, 2])
torch.IntTensor(2, 3) | torch.ShortTensor([1]) | torch.ByteTensor(3) | torch.CharTensor(3) | torch.BoolTensor(3)
torch.nn.utils.get_total_norm([x, cube]) | torch.nn.utils.clip_grad_norm_([x], 1.0) | torch.nn.Parameter(x.T)
torch.nn.parameter.Parameter(cube) | torch.fft.fftfreq(8) | torch.fft.rfftfreq(9, 0.5)
torch.nn.functional.lp_pool1d(cube, 2, 2) | torch.nn.functional.lp_pool2d(image, 2, 3, 2) | torch.chain_matmul(x, x.T)
torch.nn.functional.lp_pool3d(torch.ones(2, 3, 4, 4, 4), 2, 2) | torch.max_pool1d(cube, 2) | torch.max_pool2d(image, 2, 2)
torch.max_pool3d(torch.ones(2, 3, 4, 4, 4), 2) | torch.avg_pool1d(cube, 2) | torch.adaptive_avg_pool1d(cube, 2)
torch.adaptive_max_pool1d(cube, 2) | torch.linalg.outer(whole, whole) | torch.nn.functional.upsample(image, scale_factor=2)
torch.pixel_shuffle(image, 2) | torch.pixel_unshuffle(image, 3) | torch.channel_shuffle(image, 4)
torch.nn.functional.native_channel_shuffle(image, 2) | torch.nn.functional.fold(torch.ones(2, 12, 12), (4, 5), (2, 2))
torch.nn.functional.affine_grid(torch.ones(2, 2, 3), [2, 3, 4, 5]) | torch.one_hot(whole, 5)
torch.nn.utils.rnn.pad_sequence([torch.ones(3, 2), torch.ones(5, 2)])
torch.nn.utils.rnn.pad_sequence([torch.ones(3, 2), torch.ones(5, 2)], batch_first=True)
torch.nn.utils.rnn.pad_sequence([torch.ones(3), torch.ones(5), torch.ones(1)], True, -1.0)
torch.autograd.Variable(x.t()) | torch.autograd.Variable(w, requires_grad=True) | torch.autograd.grad(w.sum(), w) | torch.autograd.grad([w.sum()], [w, v], allow_unused=True) | torch.polygamma(1, x) | torch.polygamma(torch.tensor(1), x.double())
torch.special.polygamma(2, x) | torch.slogdet(spd) | torch.numel(x) | torch.is_tensor(x) | torch.is_complex(x)
torch.is_floating_point(x) | torch.is_grad_enabled() | torch.cuda.is_available() | torch.pdist(x) | torch.imag(z)
torch.view_as_real(z) | torch.real(z) | torch.pairwise_distance(x, x) | torch.cosine_similarity(x, x) | torch.selu(x)
torch.scalar_tensor(3) | torch.broadcast_shapes((2, 1), (3,)) | torch.linalg.diagonal(cube) | torch.linalg.vecdot(x, x)
torch.unique_consecutive(whole) | torch.cov(x) | torch.corrcoef(x) | torch.searchsorted(x, x) | torch.rsub(x, 1)
torch.nn.functional.scaled_dot_product_attention(image, image, image) | torch.nn.functional.triplet_margin_loss(x, x, x)
torch.nn.functional.cosine_embedding_loss(x, x, torch.ones(4)) | torch.nn.functional.cosine_embedding_loss(x.long(), x.int(), torch.ones(4).double())
torch.nn.functional.margin_ranking_loss(x, x, x)
torch.nn.init.uniform_(x) | torch.nn.init.normal_(x.T) | torch.nn.init.constant_(x, 1) | torch.nn.init.ones_(x)
torch.nn.init.zeros_(x) | torch.nn.init.eye_(x) | torch.nn.init.dirac_(cube) | torch.nn.init.xavier_uniform_(x)
torch.nn.init.xavier_normal_(x) | torch.nn.init.kaiming_uniform_(x) | torch.nn.init.kaiming_normal_(x)
torch.nn.init.trunc_normal_(x) | torch.nn.init.orthogonal_(x) | torch.nn.init.sparse_(x, 0.1)
torch.nn.functional.ctc_loss(torch.ones(9, 2, 5), torch.ones(2, 3).long(), torch.tensor([9, 9]), torch.tensor([3, 3]))
x.detach() | x.detach_() | torch.detach_(x.clone()) | torch.nn.functional.relu_(x.clone())
x.requires_grad_() | x.clone().share_memory_() | x.T.cpu() | x.numpy() | x.T.numpy()
x.clone().copy_(x) | x.clone().random_() | x.clone().fill_diagonal_(1) | x.type(torch.float64) | x.T.type_as(whole)
x.data_ptr() | x.storage_offset() | x.element_size() | x.numel() | x.nelement() | x.__len__() | whole.tolist() | x.tolist()
x.is_floating_point() | x.is_complex() | x.is_shared() | x.is_pinned() | x.is_set_to(x) | x.sum().item()
spd.slogdet() | spd.logdet() | x.relu() | x.prelu(torch.ones(1)) | x.hardshrink() | whole.sum().item() | x.get_device()
torch.nn.Buffer(x.T) | torch.nn.Buffer(cube, persistent=False) | torch.nn.parameter.Buffer(x) | x.new(2, 3) | whole.new(5)
torch.frombuffer(numpy.ones(3), dtype=torch.float64) | torch.frombuffer(numpy.ones(3), dtype=torch.float64, count=2)
torch.get_default_dtype() | torch.exp(torch.empty_strided((1, 3, 3, 1), (1, 1, 3, 3))) | x.new([1, 2]) | x.new(x)
torch.linalg.solve(torch.eye(3), torch.ones(3, 2)) | torch.linalg.solve(torch.eye(3).expand(4, 3, 3), torch.ones(4, 3, 2))
torch.linalg.solve(torch.eye(3), torch.ones(5, 3, 2)) | torch.linalg.solve(torch.eye(3), torch.ones(2, 3), left=False)
torch.linalg.solve(torch.eye(3).expand(4, 3, 3), torch.ones(1, 3, 2)) | torch.linalg.solve(torch.eye(3), torch.ones(3))
x.rsub(1) | w.register_hook(print) | w.sum().backward() | image.unfold(2, 3, 1) | w.retain_grad() | torch.hardshrink(cube)
torch.nn.utils.weight_norm(lin) | torch.nn.utils.spectral_norm(lin) | torch.nn.utils.parametrizations.orthogonal(lin)
torch.nn.utils.parametrizations.weight_norm(lin) | torch.nn.utils.parametrizations.spectral_norm(lin)
torch.nn.utils.remove_weight_norm(torch.nn.utils.weight_norm(lin)) | torch.searchsorted(torch.arange(5), whole)
torch.nn.utils.remove_spectral_norm(torch.nn.utils.spectral_norm(lin)) | x.T.contiguous() | image.contiguous(memory_format=torch.channels_last) | torch.contiguous(x.T)
torch.nn.utils.rnn.pack_padded_sequence(cube, torch.tensor([3, 2], device='cpu'), batch_first=True)
torch.nn.utils.rnn.pack_sequence([torch.ones(3, 2), torch.ones(2, 2)])
torch.nn.functional.max_pool3d_with_indices(torch.ones(2, 3, 4, 4, 4), 2) | torch.detach_copy(x.T) | cube.unsafe_split_with_sizes([1, 2], 1)
torch.nn.functional.fractional_max_pool3d_with_indices(torch.ones(2, 3, 8, 8, 8), 2, output_ratio=(0.5, 0.5, 0.5))
torch.nn.functional.fractional_max_pool2d(image, 2, output_ratio=(0.5, 0.5)) | torch.nn.functional.fractional_max_pool2d(image, 2, 3, return_indices=True)
torch.nn.functional.max_unpool2d(image[:, :, :2, :2], torch.zeros(2, 8, 2, 2, dtype=torch.int64), 3, output_size=(2, 8, 7, 8)) | torch.nn.functional.max_unpool2d(image[:, :, :2, :2], torch.zeros(2, 8, 2, 2, dtype=torch.int64), 3, 2, 1) | torch.signal.windows.kaiser(9, beta=3)
torch.bmm(cube, mat2=cube.mT) | x.split(split_size=2) | torch.baddbmm(torch.ones(2, 3, 3), batch1=cube, batch2=cube.mT) | torch.mv(x, vec=x[0])
torch.tensor_split(x, indices=(1,), dim=1) | torch.tensor_split(x, sections=2) | torch.polar(abs=x, angle=x) | torch.swapaxes(x, axis0=0, axis1=1)
torch.linalg.vecdot(cube, cube[0]) | torch.linalg.diagonal(cube, offset=1) | torch.unique_consecutive(whole, return_counts=True)
torch.fft.irfft2(torch.fft.rfft2(x), s=(4, 6)) | torch.fft.irfftn(cube, dim=(1, 2)) | torch.fft.hfft2(z) | torch.fft.ihfftn(cube, s=(5, 5))
torch.nn.functional.embedding_bag(whole.view(2, 2), x) | torch.nn.functional.embedding_bag(whole, x, torch.tensor([0, 2]))
torch.nn.functional.embedding_bag(whole, x, torch.tensor([0, 2, 4]), include_last_offset=True) | torch.linalg.lu(cube) | torch.pca_lowrank(x)
torch.svd_lowrank(x, q=2) | torch.linalg.tensorsolve(torch.eye(6).view(2, 3, 2, 3), torch.ones(2, 3)) | torch.histogramdd(torch.rand(5, 2), bins=[3, 4])
torch.nn.utils.rnn.pad_packed_sequence(torch.nn.utils.rnn.pack_sequence([torch.ones(3, 2), torch.ones(2, 2)]))
"""

NUMPY = """
numpy.indices((2, 3)) | numpy.blackman(5) | numpy.rollaxis(box, 2) | numpy.concatenate([a, a]) | numpy.tensordot(a, a.T, 1)
numpy.linalg.outer(numpy.ones(2), numpy.ones(3)) | numpy.concatenate([a, a], axis=1) | numpy.tensordot(box, box, ([0], [0]))
numpy.require(a) | numpy.frombuffer(b"12345678") | numpy.fromiter([1, 2], float) | numpy.fromiter(range(3), int)
numpy.polyfit(numpy.arange(5), numpy.arange(5), 2) | numpy.swapaxes(box, 0, 2) | numpy.moveaxis(box, 0, -1)
numpy.array_split(a, 2) | numpy.array_split(a, 3, axis=1) | numpy.vsplit(a, 3) | numpy.hsplit(a, 2) | numpy.split(a, 3) | numpy.array_split([a], [1, 1], axis=1)
numpy.split(a, [1, 2]) | numpy.linalg.matmul(a, a.T) | numpy.einsum("ij,jk->ik", a, a.T) | numpy.einsum("ij->j", a)
numpy.linalg.tensordot(a, a.T, axes=1) | numpy.linalg.cross(numpy.ones((2, 3)), numpy.ones((2, 3))) | numpy.linalg.inv(square)
numpy.linalg.inv(stack) | numpy.linalg.cholesky(square + square.T) | numpy.linalg.matrix_power(square, 3)
numpy.linalg.eig(square) | numpy.linalg.solve(square, numpy.ones(3)) | numpy.linalg.solve(square, numpy.ones((3, 2)))
numpy.linalg.solve(stack, numpy.ones((2, 3, 4))) | numpy.linalg.lstsq(a, numpy.ones(3)) | numpy.linalg.eigvals(square)
numpy.select([a > 0, a < -1], [a, 2 * a]) | numpy.select([a > 0], [numpy.ones(4)], default=numpy.nan) | numpy.select([a[:, 0] > 0], [a[:, :1]], a[0, 0])
numpy.linalg.lstsq(a, numpy.ones((3, 2))) | numpy.interp(numpy.ones(5), numpy.arange(3), numpy.arange(3))
numpy.linalg.eigh(square) | numpy.linalg.eigvalsh(stack) | numpy.linalg.qr(a) | numpy.linalg.svd(a) | numpy.linalg.det(stack)
numpy.linalg.svd(a, full_matrices=False) | numpy.linalg.slogdet(stack) | numpy.linalg.pinv(a) | numpy.linalg.norm(a, axis=0)
numpy.piecewise(a, [a > 0, a <= 0], [1.0, 2.0]) | numpy.insert(a, 1, 5, axis=1) | numpy.insert(a, 1, a[0], axis=0) | numpy.resize(a, (2, 5))
numpy.add.outer(a[0], box) | numpy.maximum.accumulate(a, axis=1) | numpy.add.reduce(a, axis=0) | numpy.linalg.multi_dot([square, a, a.T])
numpy.random.randn(2, 3) | numpy.random.triangular(0, 1, 2, (3,)) | numpy.random.noncentral_chisquare(3, 1, 5)
numpy.random.hypergeometric(3, 4, 5, 6) | numpy.random.multivariate_normal([0, 0], [[1, 0], [0, 1]], 5)
numpy.random.dirichlet([1, 2, 3], 4) | numpy.random.dirichlet(numpy.ones(5), (2, 3)) | numpy.random.multinomial(5, [0.5, 0.5], 3) | numpy.random.choice(5, (2, 3))
numpy.random.choice([1, 2, 3]) | numpy.linspace(0, 1, 5) | numpy.linspace(0, 1, num=7, endpoint=False)
numpy.block([[a, a], [a, a]]) | numpy.block([a, a[:, :1]]) | numpy.block([[a.T, a.T]])
numpy.concat([a, a]) | numpy.dstack([a, a]) | numpy.convolve(numpy.ones(5), numpy.ones(3))
numpy.convolve(numpy.ones(5), numpy.ones(3), "same") | numpy.convolve(numpy.ones(5), numpy.ones(3), "valid") | numpy.pad(a, 1) | numpy.pad(a, ((1, 2), (0, 3))) | numpy.pad(a, (1, 2))
numpy.vecmat(a[:, 0], a) | numpy.vecmat(box[:, :, 0], box)
numpy.matvec(a, a[0]) | numpy.unpackbits(numpy.ones((2, 3), numpy.uint8), axis=1) | numpy.unpackbits(numpy.ones(3, numpy.uint8)) | numpy.dsplit(box, 2)
numpy.mask_indices(3, numpy.triu) | numpy.ravel_multi_index((numpy.arange(3), numpy.arange(3)), (3, 4)) | a.compress([True, False, True], axis=0)
numpy.ravel_multi_index(([0, 1], [[2], [3]]), (3, 4)) | numpy.histogram2d(a[:, 0], a[:, 1], bins=(4, [0, 1, 2])) | numpy.histogramdd(a, bins=2)
numpy.block([[a, a[:, :1]], [a[:1], 5.0]]) | numpy.block([a[0], 1, 2]) | numpy.unravel_index(7, a.shape) | numpy.unravel_index([[3], [4]], a.shape)
numpy.fft.irfft2(a, s=(5, 6)) | numpy.fft.irfftn(box, axes=(0, 1)) | numpy.fft.rfftn(box, s=(3, 5), axes=(0, 2)) | numpy.shape([[1, 2]])
numpy.random.gamma(shape=2.0, size=3) | numpy.random.f(dfnum=a, dfden=2.0) | numpy.random.wald(1.0, scale=2.0, size=(2, 3)) | numpy.tile(A=a, reps=2)
numpy.digitize(x=a, bins=[0, 1]) | numpy.isclose(a=a, b=1) | numpy.quantile(a, 0.5, axis=0, method="lower") | numpy.linspace(a[0], a[1], 5, axis=1)
numpy.linspace([0, 1], 3, 7) | numpy.geomspace(a, a + 1, 4) | numpy.logspace(0, a[0], 4, axis=-1)
numpy.allclose(a, a) | numpy.array_equal(a, a) | numpy.array_equiv(a, a) | numpy.isscalar(3) | numpy.iterable(a)
a.swapaxes(0, 1) | a.reshape(2, 6) | a.reshape((4, -1)) | a.tolist() | a.tobytes() | a.sum().item() | box.reshape(-1)
"""

GENERATOR = """
g.triangular(0, 1, 2, 3) | g.noncentral_chisquare(3, 1, 5) | g.multivariate_normal([0, 0], [[1, 0], [0, 1]], 5)
g.zipf(2.0, 4) | g.random((2, 3)) | g.random(4) | g.hypergeometric(3, 4, 5, 6) | g.standard_normal(3) | g.random()
g.normal(size=(2, 1)) | g.integers(0, 5, (2, 3)) | g.choice(5, 3) | g.permutation(5) | g.uniform(0, 1, (4,)) | g.permuted(a)
r.rand(2, 3) | r.randn(2, 3) | r.randn() | r.wald(1, 2, 3) | r.triangular(0, 1, 2, 3) | r.standard_normal((2, 2))
r.multivariate_normal([0, 0], [[1, 0], [0, 1]], 5) | r.multinomial(5, [0.5, 0.5], 3) | r.standard_normal(4)
"""

EINOPS = """
einops.einsum(x, x, "b d, c d -> b c") | einops.einsum(cube, x, "a b c, c d -> a b d") | einops.parse_shape(cube, "a _ c")
einops.pack([cube, torch.ones(2, 5, 4)], "b * c") | einops.pack([cube, torch.ones(2, 4)], "b * c") | einops.pack([x], "* d")
einops.pack([x, x], "* d") | einops.unpack(cube, [[1], [2]], "b * c")
einops.unpack(image, [(2, 2), (2, 2)], "a * h w") | einops.pack([box, numpy.ones((2, 5, 4))], "b * c")
einops.rearrange([x, x], "n a b -> a (n b)")
"""


def sweep() -> Tally:
    """Every line's claim against its result."""
    tally = Tally()
    for text in (TORCH, NUMPY, GENERATOR, EINOPS):
        for line in text.replace("\n", "|").split("|"):
            if line.strip():
                try:
                    _one(line.strip(), scope(), tally)
                except (
                    RuntimeError,
                    TypeError,
                ):  # a GPU refuses some: lengths that must be on the host, numpy's functions
                    if torch.get_default_device().type == "cpu":
                        raise
    _attributes(tally)
    return tally


def _one(line: str, names: dict[str, Any], tally: Tally) -> None:
    call = ast.parse(line, mode="eval").body
    assert isinstance(call, ast.Call), line
    assert isinstance(call.func, ast.Attribute), line
    evaluate = lambda node: eval(compile(ast.Expression(node), line, "eval"), names)
    args = [evaluate(node) for node in call.args]
    kwargs = {keyword.arg or "": evaluate(keyword.value) for keyword in call.keywords}
    path = ast.unparse(call.func)
    library = path.partition(".")[0]
    for name, kind in (("g", "Generator"), ("r", "RandomState")):
        if path.startswith(f"{name}."):
            path, library = f"numpy.random.{kind}.{path[2:]}", "numpy"
    receiver: Any = None
    if library in ("torch", "numpy", "einops"):
        entry = ops.function(path)
    else:
        receiver = evaluate(call.func.value)
        entry = ops.method("torch" if isinstance(receiver, torch.Tensor) else "numpy", call.func.attr)
        args = [receiver, *args]
    assert entry is not None, line
    lifted = {mode: (sizes := Sizes(mode), [lift(one, sizes) for one in args]) for mode in MODES}
    plain = {name: lift(one, Sizes()) for name, one in kwargs.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function = evaluate(call.func) if receiver is None else getattr(receiver, call.func.attr)
            real = function(*(args if receiver is None else args[1:]), **kwargs)
        except AttributeError:  # not in this version of the library
            return
        except Exception as error:
            if torch.get_default_device().type != "cpu":
                raise
            tally.wrong.append(f"{line}: refused with {error}")
            return
    for mode, (sizes, given) in lifted.items():
        compare(apply(entry, ops.Call(entry.name), given, plain), _detached(real), sizes, tally, f"{line} [{mode}]")


def _detached(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach()
    return tuple(map(_detached, value)) if type(value) is tuple else value


def _attributes(tally: Tally) -> None:
    """`x.T`, `x.real`: every attribute of the tables, on tensors of several ranks and layouts."""
    random_ = random.Random(1)
    from ops_fuzz import array, shape, tensor

    makers: tuple[tuple[Any, Any], ...] = (("torch", tensor), ("numpy", array))
    for framework, make in makers:
        for name, entry in sorted(ops.table_of(framework).attributes.items()):
            for _ in range(12):
                dtype = random_.choice(["float32", "float32", "complex64"])
                value = make(random_, shape(random_), getattr(torch if framework == "torch" else numpy, dtype))
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        real = getattr(value, name)
                except (RuntimeError, AttributeError, ValueError):
                    continue
                for mode in MODES:
                    sizes = Sizes(mode)
                    claimed = apply(entry, ops.Call(name), [lift(value, sizes)], {})
                    compare(claimed, real, sizes, tally, f"{dtype}{tuple(value.shape)}.{name} [{mode}]")
