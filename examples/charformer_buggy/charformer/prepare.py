"""Prepare a larger corpus with datasets."""

from __future__ import annotations

import argparse

from datasets import load_dataset


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--longest", type=int, default=1000)
    parser.add_argument("--output", default="prepared")
    args = parser.parse_args()
    corpus = load_dataset("text", data_files="data/*.txt", split="train")

    def clean(example):
        text = "".join(c for c in example["text"] if c not in {"\t", "\r", "\x0b", "\x0c"})
        return {"text": text[: args.longest]}

    corpus = corpus.shuffle().map(clean)
    corpus.save_to_disk(args.output)
