"""How often characters follow one another."""

from __future__ import annotations

import numpy as np


def covariance(counts: np.ndarray) -> np.ndarray:
    """The covariance of the characters' frequencies in windows: counts is (windows, characters)."""
    frequencies = np.zeros(26)
    for row in counts:
        frequencies += row / len(counts)
    second = counts.T @ counts / len(counts)
    return second - np.dot(frequencies, frequencies.T)
