"""That the time for a file grows linearly with its length: generated modules of tensor code, up to 100,000 lines.

python benchmarks/inference_growth.py
"""

from __future__ import annotations

import ast
import time

from tensorlint.inference.analysis import analyse

FUNCTION = """
def f{0}(x, n):
    B, T, C = x.shape
    q, k = torch.zeros(B, T, C), torch.ones(B, T, C)
    a = (q @ k.transpose(1, 2)).softmax(-1)
    for i in range(n):
        a = a + f{1}(x, i)
        if n > 3:
            a = a * 2
    return a.view(B, T * T)
"""


def main() -> None:
    print("| lines | parse s | analyse s | ms per 1,000 lines |")
    print("|---:|---:|---:|---:|")
    for lines in (1_000, 10_000, 50_000, 100_000):
        source = "import torch\n" + "".join(FUNCTION.format(at, max(at - 1, 0)) for at in range(lines // 10))
        start = time.process_time()
        tree = ast.parse(source)
        parsed = time.process_time()
        analyse(tree, source)
        end = time.process_time()
        print(f"| {lines:,} | {parsed - start:.2f} | {end - parsed:.2f} | {(end - parsed) / lines * 1e6:.0f} |")


if __name__ == "__main__":
    main()
