"""What streams keeps nothing under a fingerprint, whichever way the program comes to it."""

from __future__ import annotations

import pytest
from fingerprint_programs import codes

# How a program comes to a dataset; STREAM is what says whether it streams.
STREAMS = {
    "a list filled in a loop": "parts = []\nfor name in names:\n    parts.append(load_dataset(name, split='train', streaming=STREAM))\n"
    "ds = concatenate_datasets(parts)",
    "a list that is extended": "parts = []\nparts.extend([load_dataset(name, split='train', streaming=STREAM) for name in names])\n"
    "ds = interleave_datasets(parts)",
    "a comprehension": "ds = interleave_datasets([load_dataset(name, split='train', streaming=STREAM) for name in names])",
    "an entry of a dictionary": "options = dict(given)\noptions['streaming'] = STREAM\nds = load_dataset('x', **options)",
    "a field of a configuration": "given.streaming = STREAM\nds = load_dataset(**given)",
    "fields of several": "parts = []\nfor each in given:\n    each.streaming = STREAM\n    parts.append(load_dataset(**each))\n"
    "ds = concatenate_datasets(parts)",
    "a list that an object holds": "self.parts = []\nself.parts.append(load_dataset('x', split='train', streaming=STREAM))\n"
    "ds = concatenate_datasets(self.parts)",
}  # fmt: skip


@pytest.mark.parametrize("way", STREAMS)
def test_what_streams_is_not_cached(way: str) -> None:
    body = STREAMS[way].replace("\n", "\n        ")
    program = (
        "import uuid\nfrom datasets import concatenate_datasets, interleave_datasets, load_dataset\n\n\nclass Data:\n"
        f"    def __init__(self, names, given):\n        key = uuid.uuid4()\n        {body}\n"
        "        self.rows = ds.map(lambda row: {'t': str(key)})\n"
    )
    assert codes(program.replace("STREAM", "True")) == []
    assert codes(program.replace("STREAM", "False")) == ["TSR401"]


def test_lists_of_datasets_that_hold_one_another() -> None:
    program = (
        "from datasets import concatenate_datasets, load_dataset\n\nparts, other = [], []\nparts.append(load_dataset('x', streaming=STREAM))\n"
        "parts.append(concatenate_datasets(parts))\nparts.extend(other)\nother.extend(parts)\nparts.extend(parts)\n"
        "ds = concatenate_datasets(parts)\nds = ds.map(lambda row: {'t': row['t'] in {'a', 'b', 'c'}})\n"
    )
    assert codes(program.replace("STREAM", "True")) == []
    assert codes(program.replace("STREAM", "False")) == ["TSR402"]
