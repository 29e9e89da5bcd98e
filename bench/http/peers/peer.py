"""The works of the comparison by numpy, pandas and cvxopt: reads one request a line as JSON, prints one answer a line.

A request names the work and the folder of its panels (see seeded-market.ts); an answer has the processor time of all threads and the time by
the clock, both in ms, and the numbers that both sides must agree on. What is read from disk is read before the clocks start.
"""
import json
import sys
import time
from functools import lru_cache
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "domain" / "backtest"))
from simulate import cost_root, read_panels, simulate, water_fill  # noqa: E402

SESSIONS_A_YEAR = 252


@lru_cache(maxsize=None)
def panels(folder, sessions, names):
    return tuple(read_panels(Path(folder), (sessions, names)))


def backtest(close, shares, cash, request):
    level, value, *_ = simulate(close, shares, cash, request["rebalances"], request["cap"], request["costs"][0])
    return [level[-1] / level[0], value[-1] / value[0]]


def backtest_by_session(close, shares, cash, request):
    """Only the index and the portfolio, session after session in pandas: weights drift, and are set on a rebalance."""
    import pandas as pd

    prices = pd.DataFrame(close)
    growth = ((prices + pd.DataFrame(cash)) / prices.shift()).fillna(1.0)
    values = prices * pd.DataFrame(shares)
    due = set(request["rebalances"])
    weights = pd.Series(0.0, index=prices.columns)
    level = value = 1.0
    for session in range(len(prices)):
        if weights.any():
            weights = weights * growth.iloc[session]
            level, value = level * weights.sum(), value * weights.sum()
            weights = weights / weights.sum()
        if session in due:
            shares_of_index = (values.iloc[session] / values.iloc[session].sum()).to_numpy()
            target = pd.Series(water_fill(shares_of_index, request["cap"]))
            if weights.any():  # The growth is that since the first trades.
                value *= cost_root(target.to_numpy(), weights.to_numpy(), request["costs"][0])
            weights = target
    return [level, value]


def sweep(close, shares, cash, request):
    runs = (simulate(close, shares, cash, request["rebalances"], request["cap"], cost) for cost in request["costs"])
    return [value[-1] / value[0] for _, value, *_ in runs]


def covariance_of(close, cash, request):
    """Total returns of the window, shrunk towards constant correlation by names / (names + observations); annualised."""
    rows = slice(request["from"], request["to"] + 1)
    prices, paid = close[rows, : request["names_used"]], cash[rows, : request["names_used"]]
    returns = (prices[1:] + paid[1:]) / prices[:-1] - 1
    observations, names = returns.shape
    means = returns.mean(axis=0)
    centred = returns - means
    sample = centred.T @ centred * (SESSIONS_A_YEAR / (observations - 1))
    spread = np.sqrt(np.diag(sample))
    correlation = sample / np.outer(spread, spread)
    average = (correlation.sum() - names) / (names * (names - 1))
    target = average * np.outer(spread, spread)
    np.fill_diagonal(target, spread**2)
    intensity = names / (names + observations)
    return (1 - intensity) * sample + intensity * target, means * SESSIONS_A_YEAR


def risk_model(close, shares, cash, request):
    covariance, _ = covariance_of(close, cash, request)
    spread = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(spread, spread)
    names = len(spread)
    values = np.linalg.eigvalsh(covariance)
    return [(correlation.sum() - names) / (names * (names - 1)), values[-1] / values[0], values[0]]


def frontier(close, shares, cash, request):
    """The least variance at each expected return, names excluded and a limit on half the sum of the trades."""
    from cvxopt import matrix, solvers

    solvers.options.update(show_progress=False, abstol=1e-10, reltol=1e-10, feastol=1e-10)
    covariance, means = covariance_of(close, cash, request)
    index = np.array(request["index"])
    n = len(index)
    excluded = np.array(request["excluded"], int)
    eye, zero = np.eye(n), np.zeros((n, n))
    # Variables are weights and the size of each trade.
    rows = np.vstack([np.hstack([-eye, zero]), np.hstack([eye, -eye]), np.hstack([-eye, -eye]), np.r_[np.zeros(n), np.ones(n)]])
    bounds = np.r_[np.zeros(n), index, -index, 2 * request["turnover"]]
    fixed = np.zeros((len(excluded), 2 * n))
    fixed[np.arange(len(excluded)), excluded] = 1
    equal = np.vstack([np.r_[np.ones(n), np.zeros(n)], fixed, np.r_[means, np.zeros(n)]])
    quadratic = np.zeros((2 * n, 2 * n))
    quadratic[:n, :n] = 2 * covariance
    constant = [matrix(part) for part in (quadratic, np.zeros(2 * n), rows, bounds, equal)]
    volatilities = []
    for wanted in request["returns"]:
        answer = solvers.qp(*constant, matrix(np.r_[1.0, np.zeros(len(excluded)), wanted]))
        weights = np.array(answer["x"]).ravel()[:n]
        volatilities.append(float(np.sqrt(weights @ covariance @ weights)))
    return volatilities


WORKS = {
    "backtest": backtest,
    "backtest_by_session": backtest_by_session,
    "sweep": sweep,
    "risk_model": risk_model,
    "frontier": frontier,
}

for line in sys.stdin:
    request = json.loads(line)
    if request["work"] == "versions":
        versions = {}
        for module in ("numpy", "pandas", "cvxopt"):
            try:
                versions[module] = __import__(module).__version__
            except ImportError:
                versions[module] = None
        print(json.dumps(versions), flush=True)
        continue
    arrays = panels(request["folder"], request["sessions"], request["names"])
    wall, processor = time.perf_counter(), time.process_time()
    answer = WORKS[request["work"]](*arrays, request)
    ms = 1000 * (time.process_time() - processor)
    print(json.dumps({"processor": ms, "wall": 1000 * (time.perf_counter() - wall), "answer": [float(x) for x in answer]}), flush=True)
