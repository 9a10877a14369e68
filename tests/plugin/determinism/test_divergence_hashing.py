"""The hash against torch.equal over the bytes: equal exactly where the bytes are."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from pytest_tensorcheck.determinism.hashing import (  # noqa: E402
    hash_on_device,
    hash_other_layout,
    hash_tensor,
    hash_value,
)

DTYPES = [
    torch.float32,
    torch.float64,
    torch.bfloat16,
    torch.float16,
    torch.int64,
    torch.int8,
    torch.bool,
    torch.complex64,
]


def numbers(dtype, shape=(6, 5)):
    values = torch.arange(1, 31).reshape(6, 5)
    return values.to(dtype).reshape(shape) if dtype is not torch.bool else (values % 3 == 0).reshape(shape)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_copies_agree_and_permutations_do_not(dtype):
    x = numbers(dtype)
    assert hash_tensor(x) == hash_tensor(x.clone())
    assert hash_tensor(x) != hash_tensor(x.flip(0).clone())
    changed = x.clone()
    changed[3, 2] = 0 if dtype is not torch.bool else not bool(changed[3, 2])
    assert hash_tensor(x) != hash_tensor(changed)


@pytest.mark.parametrize("hasher", [hash_tensor, hash_on_device])
def test_what_an_xor_or_a_norm_does_not_see(hasher):
    x = torch.randn(3 * 8192, generator=torch.Generator().manual_seed(1))
    swapped, flipped, moved = x.clone(), x.clone(), x.roll(4096)
    swapped[[10, 17000]] = x[[17000, 10]]
    flipped[[1, 3]] *= -1  # the upper halves of two words
    assert len({hasher(y.contiguous()) for y in (x, swapped, flipped, moved)}) == 4
    assert hasher(torch.tensor([float("nan"), 1.0])) == hasher(torch.tensor([float("nan"), 1.0]))
    assert hasher(torch.tensor([0.0])) != hasher(torch.tensor([-0.0]))


def test_the_hash_on_the_device_reads_every_byte():
    x = torch.zeros(4096 * 8 * 2 + 5, dtype=torch.uint8)
    codes = set()
    for position in (0, 7, 8, 4096 * 8 - 1, 4096 * 8, 4096 * 16, 4096 * 16 + 4):
        y = x.clone()
        y[position] = 1
        codes.add(hash_on_device(y))
    assert len(codes) == 7


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.t(),
        lambda x: x[::2],
        lambda x: x[:, 1:3],
        lambda x: x[2],
        lambda x: x[0, 0].expand(3),
        lambda x: x[:0],
    ],
)
def test_a_view_reads_its_own_numbers_only(view):
    x, y = numbers(torch.float32), numbers(torch.float32)
    assert hash_tensor(view(x)) == hash_tensor(view(y))
    outside = y.clone()
    outside[5, 4] += 1
    seen = not torch.equal(view(outside), view(y))
    assert (hash_tensor(view(outside)) != hash_tensor(view(y))) == seen


def test_hashing_leaves_no_trace():
    x = torch.randn(4, 4, requires_grad=True)
    y = x.t()
    version = x._version
    hash_tensor(y), hash_tensor(y[::2]), hash_value([x, y])
    assert x._version == version
    assert y.grad_fn is not None


def test_sparse_and_quantised_tensors_are_read():
    x = torch.eye(4)
    for layout in (torch.Tensor.to_sparse, torch.Tensor.to_sparse_csr):
        assert hash_other_layout(layout(x)) == hash_other_layout(layout(x.clone()))
        assert hash_other_layout(layout(x)) != hash_other_layout(layout(x * 2))
    assert hash_other_layout(torch.empty(3, device="meta")) is None or True


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ({"a": torch.ones(2)}, {"a": torch.ones(2)}, True),
        ({"a": torch.ones(2)}, {"a": torch.zeros(2)}, False),
        ([1.0, 2], [1.0, 3], False),
        ({"x", "y"}, {"y", "x"}, True),
        (float("nan"), float("nan"), True),
        (torch.ones(2), torch.ones(2, 1), False),
        (torch.ones(2), torch.ones(2, dtype=torch.float64), False),
        (object(), object(), True),  # nothing is known of these
    ],
)
def test_results_are_compared_by_what_they_hold(one, two, same):
    assert (hash_value(one) == hash_value(two)) is same


def test_modules_arrays_and_dataclasses_are_compared_by_value():
    numpy = pytest.importorskip("numpy", reason="needs numpy")
    from dataclasses import dataclass

    @dataclass
    class Out:
        x: object

    linear = torch.nn.Linear(2, 2)
    before = hash_value([linear, numpy.arange(3), Out(1)])
    assert before == hash_value([linear, numpy.arange(3), Out(1)])
    assert before != hash_value([linear, numpy.arange(3), Out(2)])
    with torch.no_grad():
        linear.weight += 1
    assert before != hash_value([linear, numpy.arange(3), Out(1)])
