"""Levels of the five indices of the proof, computed with numpy alone, and compared with those of the service.

Usage: python3 levels.py FOLDER

The folder contains market.csv and corporate_actions.csv (the inputs), and levels.csv (the levels of the service). This
script imports nothing of Divisor. It ends with status 1 if a level differs by more than 1e-12 of its value.

The rules, from the published methods:
- The level is the market value of the index shares over the divisor. A missing close is the last one.
- A split multiplies the shares. A special dividend is deducted from the previous close, and the divisor follows.
- A security that is acquired leaves at its price of acquisition, and the divisor follows. Merged shares are converted.
- Spun-off shares enter at zero and are valued at their close.
- Weights are decided on a reference date; the shares that follow from its closes take effect at a later close.
"""

import csv
import sys
from datetime import date
from pathlib import Path

import numpy as np

TOLERANCE = 1e-12
BASE = '2019-01-02'
FOLDER = Path(sys.argv[1])


def read(name):
    with open(FOLDER / name, newline='', encoding='utf-8') as file:
        return list(csv.DictReader(file))


rows = read('market.csv')
dates = sorted({row['date'] for row in rows})
names = sorted({row['identifier'] for row in rows})
session = {day: t for t, day in enumerate(dates)}
column = {name: i for i, name in enumerate(names)}
T, N = len(dates), len(names)
close, outstanding, free_float = (np.full((T, N), np.nan) for _ in range(3))
for row in rows:
    at = session[row['date']], column[row['identifier']]
    close[at] = float(row['CLOSE'])
    outstanding[at] = float(row['SHARES_OUTSTANDING'])
    free_float[at] = float(row['FREE_FLOAT'])

# Events by session and security. The end of a security is its cash, or the ratio and column of its acquirer.
split, special, dividend = np.ones((T, N)), np.zeros((T, N)), np.zeros((T, N))
ends, spin_offs = {}, {}
last_session = np.full(N, T)
for row in read('corporate_actions.csv'):
    t = session[row['ex_date']]
    i, kind, value = column[row['identifier']], row['type'], float(row['value'])
    if kind in ('DIVIDEND', 'SPECIAL_DIVIDEND'):
        (dividend if kind == 'DIVIDEND' else special)[t, i] += value
    elif kind in ('SPLIT', 'STOCK_DIVIDEND', 'BONUS_ISSUE'):
        split[t, i] *= value
    elif kind == 'SPIN_OFF':
        spin_offs.setdefault(t, []).append((i, column[row['related']], value))
    elif kind in ('ACQUISITION', 'DELISTING', 'MERGER'):
        ends.setdefault(t, []).append((i, value, column[row['related']] if kind == 'MERGER' else None))
        last_session[i] = t
    else:
        sys.exit(f'No rule for the corporate action {kind} of {row["identifier"]} on {row["ex_date"]}.')

# The price of a session is the last close, after later splits and special dividends; age counts sessions that have no close.
price, cap, age = close.copy(), close * outstanding, np.where(np.isnan(close), 10**6, 0)
free_cap = cap * free_float
for t in range(1, T):
    gap = np.isnan(close[t])
    price[t] = np.where(gap, price[t - 1] / split[t] - special[t], close[t])
    cap[t], free_cap[t] = np.where(gap, cap[t - 1], cap[t]), np.where(gap, free_cap[t - 1], free_cap[t])
    age[t] = np.where(gap, age[t - 1] + 1, 0)
returns = np.full((T, N), np.nan)
returns[1:] = (close[1:] + dividend[1:]) / (close[:-1] / split[1:] - special[1:]) - 1  # NaN unless both sessions have a close


def largest(t, count):
    """The largest securities by market value that are listed and had a close on one of the last five sessions."""
    listed = [i for i in range(N) if age[t, i] < 5 and t < last_session[i]]
    return sorted(sorted(listed, key=lambda i: (-cap[t, i], names[i]))[:count])


def weigh(members, values):
    return np.bincount(members, values / values.sum(), N)


def capped(t, members, limit):
    """min(limit, scale * value) with the scale for which the weights sum to 1."""
    raw = weigh(members, free_cap[t, members])
    at_limit = np.zeros(N, bool)
    while True:
        scale = (1 - limit * at_limit.sum()) / raw[~at_limit].sum()
        above = ~at_limit & (scale * raw > limit)
        if not above.any():
            return np.where(at_limit, limit, scale * raw)
        at_limit |= above


def inverse_volatility(t, members):
    window = returns[max(0, t - 251) : t + 1]
    members = [i for i in members if np.isfinite(window[:, i]).sum() >= 60]
    return weigh(members, 1 / np.nanstd(window[:, members], axis=0, ddof=1))


def anchored(day, months):
    """The sessions of an anchor: the third Friday, or the next session after it; or the last session of a month."""
    found = []
    for month in sorted({text[:7] for text in dates if int(text[5:7]) in months}):
        first_weekday = date.fromisoformat(f'{month}-01').weekday()
        friday = f'{month}-{1 + (4 - first_weekday) % 7 + 14:02d}'
        within = [t for t in range(T) if dates[t].startswith(month)]
        found.append(within[-1] if day == 'last' else next(t for t in within if dates[t] >= friday))
    return found


def act(shares, t, kept=False, reinvest=False):
    """The shares at a close, and after it. kept: a split leaves the number; reinvest: dividends buy the security."""
    now = shares * (1 if kept else split[t])
    for parent, child, ratio in spin_offs.get(t, []):
        now[child] += now[parent] * ratio
    if reinvest:
        now *= 1 + dividend[t] / np.where(now > 0, price[t], 1)
    after = now.copy()
    for i, value, into in ends.get(t, []):
        if into is not None:
            after[into] += after[i] * value
        after[i] = 0
    return now, after


def value_of(shares, t, ended=True):
    worth = price[t].copy()
    for i, value, into in ends.get(t, []) if ended else []:
        worth[i] = value if into is None else value * worth[into]
    return np.nansum(shares * worth)


def run(sessions, decide, lag=0, received=0.0, basket=False, exact=False, reinvest=False):
    """received: fraction of a dividend that the level contains; exact: the weights at the effective close are targets."""
    start = session[BASE]
    points = paid = 1000.0  # the price return, and the level with dividends
    levels, shares, divisor = [], np.zeros(N), 1.0
    for t in range(start, T):
        if t > start:
            opening = price[t - 1] / split[t] - special[t]
            before, held = value_of(shares, t - 1, False), shares * (1 if basket else split[t])
            divisor *= np.nansum(held * opening) / before
            now, after = act(shares, t, basket, reinvest)
            worth = value_of(now, t)
            previous, points = points, worth / divisor
            paid *= (points + received * (held * dividend[t]).sum() / divisor) / previous
            divisor *= value_of(after, t, False) / worth
            shares = after
        levels.append(paid)
        if t == start or t in sessions:
            decided = t - lag
            weights = decide(decided)
            target = np.where(weights > 0, 1.0 if basket else weights / price[decided], 0.0)
            for s in range(decided + 1, t + 1):
                target = act(target, s, False, reinvest)[1]
            if exact:
                target = np.where((weights > 0) & (target > 0), weights / price[t], 0.0)
            scale = value_of(target, t, False) / points
            shares, divisor = (target, scale) if basket else (target * divisor / scale, divisor)
    return levels


def less_decrement(levels, rate):
    days = np.array([date.fromisoformat(day).toordinal() for day in dates[session[BASE] :]])
    return 1000 * np.array(levels) / levels[0] * (1 - rate) ** ((days - days[0]) / 365)


quarters, halves, months = {3, 6, 9, 12}, {6, 12}, set(range(1, 13))
caps = run(anchored('friday', quarters), lambda t: capped(t, largest(t, 25), 0.08), lag=5, received=1.0)
computed = {
    'PRICE-20': run(anchored('last', {12}), lambda t: weigh(largest(t, 20), price[t, largest(t, 20)]), basket=True),
    'CAPPED-25': caps,
    'EQUAL': run(anchored('last', months), lambda t: weigh(largest(t, N), price[t, largest(t, N)] ** 0), 2, 0.85, exact=True),
    'RISK-15': run(anchored('friday', halves), lambda t: inverse_volatility(t, largest(t, 15)), lag=3, reinvest=True),
    'DECREMENT-5': less_decrement(caps, 0.05),
}
served = {}
for row in read('levels.csv'):
    served.setdefault(row['index'], {})[row['date']] = float(row['level'])
worst = 0.0
for name, levels in computed.items():
    days = dates[session[BASE] :]
    if list(served.get(name, {})) != days:
        sys.exit(f'{name}: the sessions of levels.csv are not those of market.csv from {BASE} on.')
    differences = [abs(float(level) / served[name][day] - 1) for day, level in zip(days, levels)]
    off = [day for day, difference in zip(days, differences) if not difference <= TOLERANCE]
    print(f'{name:12} {len(days)} sessions, largest difference {max(differences):.1e}', *off[:1], sep=', first on ')
    worst = np.inf if off and np.isnan(differences).any() else max(worst, *differences)
verdict = 'equal' if worst <= TOLERANCE else 'DIFFERENT'
print(f'Largest difference {worst:.1e}; at most {TOLERANCE:.0e} is allowed: {verdict}')
sys.exit(0 if worst <= TOLERANCE else 1)
