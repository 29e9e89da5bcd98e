"""Writes folds.json: choices by purged folds of a small matrix, session by session, by the definitions and numpy alone.

Run as `python3 make.py` beside this file. The numbers do not depend on numpy's version.
"""

import itertools
import json
from pathlib import Path

import numpy as np


def returns(observations, variants):
    """Returns from the sequence 16807 x mod 2147483647, a little better for later variants."""
    state, rows = 54321, []
    for _ in range(observations):
        row = []
        for n in range(variants):
            state = (16807 * state) % 2147483647
            row.append(round((state / 2147483647 - 0.5) * 0.04 + 0.0003 * n, 9))
        rows.append(row)
    return np.array(rows)


def metrics(r):
    level = np.concatenate([[1.0], np.cumprod(1 + r)])
    deviation = r.std(ddof=1)
    return {
        "annualised_return": level[-1] ** (252 / len(r)) - 1,
        "max_drawdown": (level / np.maximum.accumulate(level) - 1).min(),
        "sharpe_ratio": r.mean() / deviation * np.sqrt(252),
        "total_return": level[-1] - 1,
        "volatility": deviation * np.sqrt(252),
    }


def sample(group, train, test, purge, embargo):
    """Sessions of the sample: in a group of it, with no test session in the next `purge` or the last `purge + embargo`."""
    tested = np.isin(group, test)
    keep = np.isin(group, train)
    for t in range(len(group)):
        after, before = tested[t + 1:t + 1 + purge], tested[max(0, t - purge - embargo):t]
        if after.any() or before.any():
            keep[t] = False
    return keep


def splits(terms):
    groups = terms["groups"]
    if terms["method"] == "combinatorial":
        for test in itertools.combinations(range(groups), terms["test_groups"]):
            yield [g for g in range(groups) if g not in test], list(test)
    else:
        for test in range(terms["train_groups"], groups):
            first = 0 if terms["window"] == "expanding" else test - terms["train_groups"]
            yield list(range(first, test)), [test]


def chosen(matrix, terms):
    groups, purge, metric = terms["groups"], terms["purge"], terms["select_by"]
    embargo = terms.get("embargo", 0)
    if embargo is None:
        embargo = -(-len(matrix) // 100)
    matrix = matrix[len(matrix) % groups:]
    group = np.repeat(np.arange(groups), len(matrix) // groups)
    sign = -1 if metric == "volatility" else 1
    rows = []
    for train, test in splits(terms):
        keep, tested = sample(group, train, test, purge, embargo), np.isin(group, test)
        inside = [metrics(matrix[keep, n])[metric] for n in range(matrix.shape[1])]
        outside = [metrics(matrix[tested, n])[metric] for n in range(matrix.shape[1])]
        best = int(np.argmax(sign * np.array(inside)))
        rank = 1 + sum(bool(sign * value > sign * outside[best]) for value in outside)
        rows.append({"train": train, "test": test, "trial": best, "inSample": inside[best],
                     "outOfSample": outside[best], "rank": rank})
    tests = {g: [row for row in rows if g in row["test"]] for g in range(groups)}
    tests = {g: of_group for g, of_group in tests.items() if of_group}
    count = min(len(of_group) for of_group in tests.values())
    paths = [
        metrics(np.concatenate([matrix[group == g, of_group[j]["trial"]] for g, of_group in tests.items()]))
        for j in range(count)
    ]
    sharpes = np.array([path["sharpe_ratio"] for path in paths])
    return {
        "terms": terms,
        "observations": len(matrix),
        "choices": rows,
        "paths": paths,
        "sharpe": {"mean": sharpes.mean(), "percentiles": np.quantile(sharpes, [0.05, 0.25, 0.5, 0.75, 0.95]).tolist()},
        "loss": float(np.mean([path["total_return"] < 0 for path in paths])),
    }


CASES = [
    {"method": "combinatorial", "groups": 6, "test_groups": 2, "purge": 1, "embargo": None, "select_by": "sharpe_ratio"},
    {"method": "combinatorial", "groups": 5, "test_groups": 3, "purge": 2, "embargo": 3, "select_by": "annualised_return"},
    {"method": "combinatorial", "groups": 4, "test_groups": 1, "purge": 0, "embargo": 0, "select_by": "max_drawdown"},
    {"method": "walk_forward", "groups": 8, "train_groups": 3, "window": "expanding", "purge": 1, "select_by": "volatility"},
    {"method": "walk_forward", "groups": 7, "train_groups": 2, "window": "rolling", "purge": 2, "select_by": "sharpe_ratio"},
]
matrix = returns(131, 5)
golden = {"returns": matrix.tolist(), "cases": [chosen(matrix, terms) for terms in CASES]}
Path(__file__).with_name("folds.json").write_text(json.dumps(golden) + "\n")
