"""The same index and portfolio by vectorised numpy: a peer for time and an independent calculation of the levels.

It makes what a run makes: the index in total and in price return, on capped and on uncapped weights, the portfolio after costs with its
trades, the weights after every close, the bars that are missing where something is held, and the metrics. It knows none of the events a run
also looks for (delistings, mergers, spin-offs, currencies, names that stop), because this market has none.

Reads a folder with close.f64, shares.f64 and cash.f64 (sessions x names), rebalances.i32 and shape.json; prints one line of JSON.
"""
import json
import sys
import time
from pathlib import Path

import numpy as np


def water_fill(u, cap):
    cap = max(cap, 1 / len(u))
    capped = np.zeros(len(u), bool)
    while True:
        scale = (1 - capped.sum() * cap) / u[~capped].sum()
        over = ~capped & (u * scale > cap + 1e-12)
        if not over.any():
            return np.where(capped, cap, u * scale)
        capped |= over


def cost_root(target, held, c):
    x = 1.0
    for _ in range(64):
        sign = np.where(target * x > held, 1.0, -1.0)
        nxt = (1 + c * (sign @ held)) / (1 + c * (sign @ target))
        if nxt == x:
            break
        x = nxt
    return x


def simulate(close, shares, cash, rebalances, cap, c):
    sessions, names = close.shape
    growth = np.ones_like(close)
    growth[1:] = (close[1:] + cash[1:]) / close[:-1]
    price_growth = np.ones_like(close)
    price_growth[1:] = close[1:] / close[:-1]
    level, value, raw_level, price_level = np.empty(sessions), np.empty(sessions), np.empty(sessions), np.empty(sessions)
    weights = np.empty_like(close)
    level[0], raw_level[0], price_level[0] = 100.0, 100.0, 100.0
    trades = []
    held = None
    ends = list(rebalances[1:]) + [sessions - 1]
    for start, end in zip(rebalances, ends):
        u = close[start] * shares[start]
        u = u / u.sum()
        w = water_fill(u, cap)
        before = held if held is not None else np.zeros(names)
        kept = cost_root(w, before, c)
        value[start] = (1_000_000.0 if held is None else value[start]) * kept
        weights[start] = w
        notional = w * value[start] - before * value[start] / kept
        trades.append((notional / close[start], np.abs(notional), c * np.abs(notional)))
        if end == start:
            continue
        path = np.cumprod(growth[start + 1:end + 1], axis=0)
        grown = path * w
        total = grown.sum(axis=1)
        level[start + 1:end + 1] = level[start] * total
        value[start + 1:end + 1] = value[start] * total
        raw_level[start + 1:end + 1] = raw_level[start] * (path @ u)
        weights[start + 1:end + 1] = grown / total[:, None]
        price_level[start + 1:end + 1] = price_level[start] * (np.cumprod(price_growth[start + 1:end + 1], axis=0) @ w)
        held = weights[end].copy()  # the row becomes that of the targets
    gaps = np.argwhere(np.isnan(close) & (weights > 0))
    returns = value[1:] / value[:-1] - 1
    drawdown = value / np.maximum.accumulate(value) - 1
    metrics = (returns.std(ddof=1), returns.mean(), drawdown.min(), (returns - (level[1:] / level[:-1] - 1)).std(ddof=1))
    return level, value, raw_level, price_level, weights, trades, gaps, metrics


def simulate_bare(close, shares, cash, rebalances, cap):
    """Only the level and the weights after every close, which drift by returns between rebalances."""
    sessions = len(close)
    growth = (close[1:] + cash[1:]) / close[:-1]
    level = np.full(sessions, 100.0)
    weights = np.empty_like(close)
    for start, end in zip(rebalances, list(rebalances[1:]) + [sessions - 1]):
        u = close[start] * shares[start]
        weights[start] = w = water_fill(u / u.sum(), cap)
        if end == start:
            continue
        grown = np.cumprod(growth[start:end], axis=0, out=weights[start + 1:end + 1])
        grown *= w
        total = grown.sum(axis=1)
        level[start + 1:end + 1] = level[start] * total
        grown /= total[:, None]
    return level, weights


def read_panels(folder, size):
    return (np.fromfile(folder / f"{name}.f64").reshape(size) for name in ("close", "shares", "cash"))


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    shape = json.loads((folder / "shape.json").read_text())
    size = (shape["sessions"], shape["names"])
    close, shares, cash = read_panels(folder, size)
    rebalances = np.fromfile(folder / "rebalances.i32", dtype=np.int32)
    times = []
    for _ in range(shape["repeats"]):
        begin = time.process_time()
        level, value, raw_level, price_level, _, trades, *_ = simulate(close, shares, cash, rebalances, shape["cap"], shape["cost"])
        times.append(1000 * (time.process_time() - begin))
    bare = []
    for _ in range(shape["repeats"]):
        begin = time.process_time()
        simulate_bare(close, shares, cash, rebalances, shape["cap"])
        bare.append(1000 * (time.process_time() - begin))
    print(json.dumps({"ms": sorted(times), "bare": sorted(bare), "level": level[-1], "value": value[-1], "uncapped": raw_level[-1], "price": price_level[-1], "costs": sum(costs.sum() for _, _, costs in trades), "units": sum(np.abs(units).sum() for units, _, _ in trades), "numpy": np.__version__}))
