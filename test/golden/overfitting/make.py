"""Writes cscv.json: symmetric cross-validation and Sharpe moments of a small matrix, by the definitions and numpy alone.

Run as `python3 make.py` beside this file. Made with numpy 2.x; the numbers do not depend on its version.
"""

import itertools
import json
import math
from pathlib import Path

import numpy as np


def returns(observations, variants):
    """Returns from the sequence 16807 x mod 2147483647, a little better for later variants."""
    state, rows = 12345, []
    for _ in range(observations):
        row = []
        for n in range(variants):
            state = (16807 * state) % 2147483647
            row.append(round((state / 2147483647 - 0.5) * 0.04 + 0.0002 * n, 9))
        rows.append(row)
    return np.array(rows)


def sharpe(matrix):
    return matrix.mean(axis=0) / matrix.std(axis=0, ddof=1)


def average_rank(values, at):
    return (values < values[at]).sum() + ((values == values[at]).sum() + 1) / 2


def cscv(matrix, partitions):
    observations, variants = matrix.shape
    matrix = matrix[observations % partitions:]
    blocks = np.split(matrix, partitions)
    logits, losses = [], 0
    for chosen in itertools.combinations(range(partitions), partitions // 2):
        inside = np.vstack([blocks[s] for s in range(partitions) if s in chosen])
        outside = np.vstack([blocks[s] for s in range(partitions) if s not in chosen])
        best = int(np.argmax(sharpe(inside)))
        performance = sharpe(outside)
        rank = average_rank(performance, best) / (variants + 1)
        logits.append(math.log(rank / (1 - rank)))
        losses += performance[best] < 0
    logits = np.array(logits)
    return {
        "partitions": partitions,
        "probability": float((logits <= 0).mean()),
        "probability_of_loss": losses / len(logits),
        "median_logit": float(np.median(logits)),
        "combinations": len(logits),
        "observations": int(matrix.shape[0]),
    }


def moments(column):
    deviations = column - column.mean()
    variance = (deviations**2).mean()
    return {
        "sharpe": float(column.mean() / column.std(ddof=1)),
        "skewness": float((deviations**3).mean() / variance**1.5),
        "kurtosis": float((deviations**4).mean() / variance**2),
    }


matrix = returns(53, 7)
golden = {
    "returns": matrix.tolist(),
    "cscv": [cscv(matrix, partitions) for partitions in (2, 4, 8, 10)],
    "moments": [moments(matrix[:, n]) for n in range(matrix.shape[1])],
}
Path(__file__).with_name("cscv.json").write_text(json.dumps(golden, indent=1) + "\n")
