"""`python -m charformer`: train on the text, say what was learnt, write a line of it."""

from __future__ import annotations

import argparse
import itertools
from pathlib import Path

import torch

from charformer.data import loaders
from charformer.model import Charformer, Config
from charformer.training import evaluate, make_optimizer, save_checkpoint, train


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--save", type=Path)
    arguments = parser.parse_args()
    torch.manual_seed(0)
    vocabulary, training, evaluation = loaders(context=64, batch_size=32)
    model = Charformer(Config(len(vocabulary))).to(arguments.device)
    optimizer = make_optimizer(model)
    log = train(model, optimizer, itertools.islice(training, arguments.steps), device=arguments.device)
    print(f"loss {log[0]:.2f} -> {log[-1]:.2f}, held out {evaluate(model, evaluation, device=arguments.device):.2f}")
    start = vocabulary.encode("The ").unsqueeze(0).to(arguments.device)
    print(vocabulary.decode(model.eval().generate(start, 120)[0]))
    if arguments.save:
        save_checkpoint(arguments.save, model, optimizer)


if __name__ == "__main__":
    main()
