"""Index levels of three definitions over the 2010-2013 S&P 500 set, calculated with numpy alone.

An independent second opinion: it shares no code, no file format and no language with the service.
Usage: python3 sp500_levels.py CLOSES.csv.gz VOLUMES.csv.gz CONSTITUENTS.csv   (prints JSON)

Conventions, from the published method: simple returns on the session axis; a session without a bar carries the last
close; a volatility is of the returns between bars on two sessions in a row; a name without a bar for five sessions leaves at the close of the fifth, its money spread over the others in
proportion to their weights, on a rebalance date as on others, and is not chosen on that date; targets decided and effective at the same close earn from the next session on.
"""
import csv
import gzip
import json
import sys

import numpy as np

STALE = 5


def table(path):
    with gzip.open(path, 'rt') as file:
        rows = list(csv.reader(file))
    names = rows[0][1:]
    order = np.argsort(np.array(names))
    values = np.array([[float(x) if x else np.nan for x in row[1:]] for row in rows[1:]])
    return [row[0] for row in rows[1:]], [names[i] for i in order], values[:, order]


dates, names, close = table(sys.argv[1])
volume_dates, volume_names, volume = table(sys.argv[2])
assert dates == volume_dates
missing = np.full(len(dates), np.nan)
volume = np.column_stack([volume[:, volume_names.index(name)] if name in volume_names else missing for name in names])
with open(sys.argv[3]) as file:
    sector_of = {row['Symbol']: row['GICS Sector'] for row in csv.DictReader(file)}
sector = np.array([sector_of.get(name, '') for name in names])

sessions, count = close.shape
has_bar = ~np.isnan(close)
carried = close.copy()
age = np.full((sessions, count), 10**6)
for t in range(sessions):
    if t > 0:
        carried[t] = np.where(has_bar[t], close[t], carried[t - 1])
        age[t] = np.where(has_bar[t], 0, age[t - 1] + 1)
    else:
        age[t] = np.where(has_bar[t], 0, 10**6)
growth = np.full((sessions, count), np.nan)
growth[1:] = carried[1:] / carried[:-1]
between_bars = np.full((sessions, count), np.nan)
between_bars[1:] = np.where(has_bar[1:] & has_bar[:-1], close[1:] / close[:-1] - 1, np.nan)
traded = np.where(has_bar, close * volume, np.nan)


def last_sessions(months):
    """Last session of each of the months that is wholly inside the data."""
    found = []
    for t in range(sessions - 1):
        here, there = dates[t][:7], dates[t + 1][:7]
        if here != there and int(here[5:]) in months:
            found.append(t)
    if dates[-1] == '2013-08-30' and 8 in months:  # the last session of August 2013: the 31st was a Saturday
        found.append(sessions - 1)
    return found


def capped(raw, cap):
    """min(cap, lambda * raw): the k largest sit at the cap, with the smallest k that leaves nobody else above it."""
    raw = raw / raw.sum()
    cap = max(cap, 1 / len(raw))
    order = np.argsort(-raw, kind='stable')
    for k in range(len(raw) + 1):
        rest = order[k:]
        scale = (1 - k * cap) / raw[rest].sum() if len(rest) else 0.0
        if len(rest) == 0 or scale * raw[rest].max() <= cap + 1e-12:
            weights = np.full(len(raw), cap)
            weights[rest] = scale * raw[rest]
            return weights


def run(first, rebalances, decide):
    levels = [100.0]
    weights = decide(first)
    for t in range(first + 1, sessions):
        value = np.where(weights > 0, weights * np.nan_to_num(growth[t], nan=1.0), 0.0)
        total = value.sum()
        levels.append(levels[-1] * total)
        weights = value / total
        gone = (weights > 0) & (age[t] >= STALE)
        if gone.any():
            weights = np.where(gone, 0.0, weights)
            weights = weights / weights.sum()
        if t in rebalances:
            weights = decide(t)
    return {'dates': dates[first:], 'levels': levels}


def equal(t):
    chosen = age[t] < STALE
    return chosen / chosen.sum()


def inverse_volatility(t):
    weights = np.zeros(count)
    for i in range(count):
        if age[t, i] >= STALE:
            continue
        window = between_bars[max(0, t - 251) : t + 1, i]
        window = window[~np.isnan(window)]
        if len(window) >= 60:
            deviation = window.std(ddof=1) * np.sqrt(252)
            if deviation > 0:
                weights[i] = 1 / deviation
    return weights / weights.sum()


def capped_by_value_traded(t):
    recent = np.full(count, np.nan)
    for i in range(count):
        if age[t, i] < STALE:
            recent[i] = traded[t - age[t, i], i]
    eligible = ~np.isnan(recent) & np.isin(sector, ['Information Technology', 'Health Care', 'Financials', 'Energy'])
    ranked = sorted(np.flatnonzero(eligible), key=lambda i: (-recent[i], names[i]))[:60]
    weights = np.zeros(count)
    weights[ranked] = capped(recent[ranked], 0.05)
    return weights


start = dates.index('2010-06-01')
# Days on which a name has no bar for the fifth time in a row.
fifth = sorted({t for t in range(1, sessions) for i in range(count) if age[t, i] == STALE})
quarters, months = last_sessions({3, 6, 9, 12}), last_sessions(set(range(1, 13)))
json.dump(
    {
        'equal': run(0, set(quarters), equal),
        'inverse_volatility': run(start, set(months), inverse_volatility),
        'capped': run(start, set(quarters), capped_by_value_traded),
        'fifth': run(0, set(fifth), equal) | {'rebalances': [dates[t] for t in fifth]},
        'jumps': sorted(
            [names[i], dates[t]]
            for i in range(count)
            for t in range(1, sessions)
            if has_bar[t, i] and age[t - 1, i] < 10**6 and abs(growth[t, i] - 1) > 0.5
        ),
    },
    sys.stdout,
)
