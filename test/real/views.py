"""The views of stored runs, calculated with numpy from prices, corporate actions, reference data and what the runs held and traded.

A second opinion: it shares nothing with the service but the formulas, and reads what it starts from over HTTP.
Usage: python3 views.py URL RUN BENCHMARK VARIANT   (prints JSON: by path of a view, the members it must have)
"""
import bisect
import json
import sys
from urllib.parse import quote
from urllib.request import urlopen

import numpy as np

URL, RUN, BENCHMARK, VARIANT = sys.argv[1:]
YEAR = 252


def get(path):
    with urlopen(URL + path) as answer:
        return json.load(answer)


def remembered(read):
    known = {}
    return lambda *key: known[key] if key in known else known.setdefault(key, read(*key))


@remembered
def market(name, field):
    frame = get(f'/data/prices/{quote(name)}')['prices']
    at = frame['columns'].index(field)
    return {day: row[at] for day, row in zip(frame['index'], frame['data']) if row[at] is not None}


def closes(name):
    return market(name, 'CLOSE')


def outstanding(name, day):
    known = market(name, 'SHARES_OUTSTANDING')
    return known.get(max((known_on for known_on in known if known_on <= day), default=None))


actions = remembered(lambda name: [a for a in get(f'/data/corporate-actions/{quote(name)}')['actions'] if a['status'] != 'cancelled'])
reference = remembered(lambda name, day: get(f'/data/reference/{quote(name)}?as_of={day}')['fields'])
record = remembered(lambda run: get(f'/analytics/{run}/record'))
ENDINGS = ('DELISTING', 'ACQUISITION', 'MERGER')


@remembered
def growth(name, variant):
    """Of one unit of value over each of the days, NaN before the first bar."""
    price = closes(name)
    ratio, cash, ending = {}, {}, {}
    for action in actions(name):
        at = bisect.bisect_left(DAYS, action['ex_date'])
        if at == len(DAYS):
            continue
        kind, value = action['type'], action['value']
        if kind in ('SPLIT', 'STOCK_DIVIDEND', 'BONUS_ISSUE'):
            ratio[at] = ratio.get(at, 1) * value
        elif kind in ('SPECIAL_DIVIDEND', 'RETURN_OF_CAPITAL') or (kind == 'DIVIDEND' and variant == 'total'):
            cash[at] = cash.get(at, 0) + value
        elif kind in ENDINGS:
            ending[at] = action
    factors = np.full(len(DAYS), np.nan)
    carried = None
    for t, day in enumerate(DAYS):
        if carried is None:
            carried = price.get(day)
            continue
        s = ratio.get(t, 1)
        after = price.get(day, carried / s)
        factors[t] = s * (after + cash.get(t, 0)) / carried
        if t in ending:
            action = ending[t]
            if action['type'] == 'MERGER':
                other = closes(action['related'])
                factors[t] = action['value'] * other[max(d for d in other if d <= day)] / carried
            elif action['value']:
                factors[t] = action['value'] / carried
        carried = after
    return factors


class Held:
    """What a run held and traded, and what each name added to each session's return."""

    def __init__(self, run, variant):
        portfolio = record(run)['portfolio']
        weights = portfolio['weights']
        assert weights['index'] == DAYS and len(DAYS) == portfolio['weights_dates_total']
        self.names = weights['columns']
        self.weights = np.array(weights['data'], float)
        self.value = np.array(portfolio['nav']['data'][1:])
        self.growth = np.nan_to_num(np.array([growth(name, variant) for name in self.names]).T, nan=1.0)
        self.costs = np.zeros_like(self.weights)
        self.traded = np.zeros(self.weights.shape, bool)
        columns = portfolio['transactions']['columns']
        for row in portfolio['transactions']['data']:
            trade = dict(zip(columns, row))
            at = DAYS.index(trade['date']), self.names.index(trade['asset_id'])
            self.costs[at] += trade['cost']
            self.traded[at] = True
        self.returns = self.value[1:] / self.value[:-1] - 1
        before, after = self.weights[:-1], self.weights[1:]
        self.parts = before * (self.growth[1:] - 1) - self.costs[1:] / self.value[:-1, None]
        # A spin-off comes with no trade: all that it is worth it has added.
        came = (before == 0) & (after > 0) & ~self.traded[1:]
        self.parts += np.where(came, after * (self.value[1:] / self.value[:-1])[:, None], 0)


def linking(x):
    return np.where(x == 0, 1, np.log1p(x) / np.where(x == 0, 1, x))


def active_linking(x, y):
    same = np.isclose(x, y, rtol=0, atol=1e-15)
    return np.where(same, 1 / (1 + y), (np.log1p(x) - np.log1p(y)) / np.where(same, 1, x - y))


def compound(returns):
    return np.prod(1 + returns) - 1


def window(start, end):
    return bisect.bisect_left(DAYS, start), bisect.bisect_right(DAYS, end) - 1


def level(run, variant):
    path = f'/analytics/{run}/levels?variant={variant}'
    return dict(zip(*(get(path)['levels'][key] for key in ('index', 'data'))))


def attribution(held, start, end):
    first, last = window(start, end)
    periods = slice(first, last)
    returns = held.returns[periods]
    total = compound(returns)
    factors = linking(returns) / linking(np.array(total))
    linked = (held.parts[periods] * factors[:, None]).sum(0)
    before = held.weights[periods]
    grown = np.where(before > 0, held.growth[first + 1:last + 1], 1).prod(0) - 1
    involved = (held.weights[first:last + 1] > 0).any(0) | held.traded[first + 1:last + 1].any(0)
    rows = [
        {'asset_id': name, 'average_weight': before[:, i].mean(), 'contribution': linked[i], 'total_return': grown[i]}
        for i, name in enumerate(held.names) if involved[i]
    ]
    costs = held.costs[first + 1:last + 1].sum(1) / held.value[periods]
    capped, free = level(RUN, VARIANT), level(UNCAPPED, VARIANT)
    a, b = DAYS[first], DAYS[last]
    return {
        'contributions': sorted(rows, key=lambda row: (-row['contribution'], row['asset_id'])),
        'total_return': total, 'periods': last - first, 'reconciles': True,
        'cost_drag': -(costs * factors).sum(), 'cap_drag': capped[b] / capped[a] - free[b] / free[a],
        'requested_start': start, 'requested_end': end,
        'start': DAYS[first + 1] + 'T00:00:00+00:00', 'end': b + 'T00:00:00+00:00',
    }


def groups(own, other, by, start, end):
    first, last = window(start, end)
    periods = slice(first, last)
    group = remembered(lambda name: str(reference(name, DAYS[last]).get(by) or 'UNCLASSIFIED'))
    labels = sorted({group(name) for held in (own, other) for name in held.names})

    def summed(held):
        member = np.array([[float(group(name) == label) for label in labels] for name in held.names])
        return held.weights[periods] @ member, held.parts[periods] @ member

    w, c = summed(own)
    b, d = summed(other)
    r, s = own.returns[periods], other.returns[periods]
    R, S = compound(r), compound(s)
    link = (active_linking(r, s) / active_linking(np.array(R), np.array(S)))[:, None]
    of_other = np.where(b > 0, d / np.where(b > 0, b, 1), s[:, None])
    of_own = np.where(w > 0, c / np.where(w > 0, w, 1), of_other)
    allocation = ((w - b) * (of_other - s[:, None]) * link).sum(0)
    selection = (b * (of_own - of_other) * link).sum(0)
    # Additions to a group that was not held before (payments for it, spin-offs) belong to none of its weights.
    interaction = (((w - b) * (of_own - of_other) + np.where(w > 0, 0, c) - np.where(b > 0, 0, d)) * link).sum(0)
    contribution = (c * (linking(r) / linking(np.array(R)))[:, None]).sum(0)
    own_return = [compound(of_own[w[:, k] > 0, k]) if w[:, k].any() else None for k in range(len(labels))]
    other_return = [compound(of_other[b[:, k] > 0, k]) if b[:, k].any() else None for k in range(len(labels))]
    shown = [k for k in range(len(labels)) if w[:, k].any() or b[:, k].any() or contribution[k] != 0]
    return {
        'groups': [
            {
                'group': labels[k], 'average_weight': w[:, k].mean(), 'benchmark_average_weight': b[:, k].mean(),
                'total_return': own_return[k], 'benchmark_return': other_return[k], 'contribution': contribution[k],
                'allocation': allocation[k], 'selection': selection[k], 'interaction': interaction[k],
            }
            for k in shown
        ],
        'total_return': R, 'benchmark_return': S, 'active_return': R - S, 'periods': last - first, 'reconciles': True,
    }


def asset(held, name):
    price = closes(name)
    at = [t for t, day in enumerate(DAYS) if day in price]
    own = np.nan_to_num(growth(name, VARIANT), nan=1.0).cumprod()[at]
    run = held.value[at]
    a, b = own[1:] / own[:-1] - 1, run[1:] / run[:-1] - 1
    snapshots = record(RUN)['index']['target']['rebalances']
    histories = {key: {s['date']: s[key][name] for s in snapshots if name in s['weights']} for key in ('weights', 'uncapped_weights')}
    return {
        'beta': np.cov(a, b)[0, 1] / b.var(ddof=1), 'correlation': np.corrcoef(a, b)[0, 1] if a.any() else 0, 'tracking_error': (a - b).std(ddof=1) * (YEAR * len(a) / (at[-1] - at[0]))**0.5,
        'total_return': own[-1] / own[0] - 1, 'index_return': run[-1] / run[0] - 1, 'excess_return': own[-1] / own[0] - run[-1] / run[0],
        'observations': len(at), 'rebalances_held': len(histories['weights']),
        'price': {'index': [DAYS[t] for t in at], 'data': [price[DAYS[t]] for t in at]},
        'weight_history': histories['weights'], 'raw_weight_history': histories['uncapped_weights'],
    }


def panel(names):
    """Complete returns of the names that have enough of them, and the others."""
    columns, covered, uncovered = [], [], []
    for name in names:
        bar = np.array([day in closes(name) for day in DAYS])
        returns = np.where(bar[1:] & bar[:-1], growth(name, 'total')[1:] - 1, np.nan)
        if np.isnan(returns).sum() > len(returns) - 20 or bar.sum() < 0.8 * len(DAYS):
            uncovered.append(name)
        else:
            covered.append(name)
            columns.append(returns)
    returns = np.array(columns).T
    return covered, uncovered, returns[~np.isnan(returns).any(1)]


def shrunk(returns):
    sessions, count = returns.shape
    sample = np.cov(returns.T, ddof=1).reshape(count, count)
    deviation = np.sqrt(np.diag(sample))
    moving = deviation > 0
    # A name that never moves correlates with none.
    mean = ((sample[moving][:, moving] / np.outer(deviation, deviation)[moving][:, moving]).sum() - moving.sum()) / max(count * (count - 1), 1)
    target = mean * np.outer(deviation, deviation)
    np.fill_diagonal(target, np.diag(sample))
    intensity = count / (count + sessions)
    return YEAR * (intensity * target + (1 - intensity) * sample)


def shares(names, positions):
    covered, uncovered, returns = panel(sorted(names))
    x = np.array([positions(name) for name in covered])
    x *= sum(abs(positions(name)) for name in names) / abs(x).sum()  # uncovered securities have the risk of the rest
    moved = shrunk(returns) @ x
    total = np.sqrt(x @ moved)
    return total, dict(zip(covered, x * moved / total)), uncovered


def weights(own, other, day):
    t = DAYS.index(day)
    held, compared = ({n: w for n, w in zip(h.names, h.weights[t]) if w > 0} for h in (own, other))
    last = max((s for s in record(RUN)['index']['target']['rebalances'] if s['date'] <= day), key=lambda s: s['date'])
    volatility, contributions, uncovered = shares(held, lambda name: held[name])

    def active(name):
        return held.get(name, 0) - compared.get(name, 0)

    union = sorted({*held, *compared})
    error, parts, unknown = shares(union, active)
    gross = sum(abs(active(name)) for name in union)
    moves = {name: held.get(name, 0) - last['weights'].get(name, 0) for name in {*held, *last['weights']}}
    is_rebalance = last['date'] == day
    return {
        'as_of': day, 'rebalance_date': last['date'], 'cap': last['cap'],
        'weights': [
            {
                'identifier': name, 'weight': held[name], 'raw_weight': last['uncapped_weights'].get(name, 0), 'capped': name in last['capped'], 'active_weight': active(name),
                'risk_contribution': contributions.get(name), 'active_risk_contribution': parts.get(name), 'delta_since_rebalance': None if is_rebalance else moves[name],
                'shares_outstanding': outstanding(name, day),
            }
            for name in sorted(held, key=lambda name: (-held[name], name))
        ],
        'concentration': concentration(held.values()),
        'drift': None if is_rebalance else {
            'since': last['date'], 'maximum': max(map(abs, moves.values())), 'total_absolute': sum(map(abs, moves.values())), 'turnover': sum(map(abs, moves.values())) / 2,
        },
        'risk': {'volatility': volatility, 'covered_weight': sum(held[name] for name in contributions), 'uncovered': uncovered, 'window_start': DAYS[0], 'window_end': DAYS[-1]},
        'active_risk': {
            'benchmark': BENCHMARK, 'tracking_error': error, 'covered_weight': sum(abs(active(name)) for name in parts) / gross, 'uncovered': unknown,
            'contributions_not_held': {name: parts[name] for name in parts if name not in held},
        },
    }


def concentration(weights):
    ordered = sorted((w for w in weights if w > 0), reverse=True)
    squares = sum(w * w for w in ordered)
    return {
        'constituents': len(ordered), 'herfindahl': squares, 'effective_assets': 1 / squares, 'largest': ordered[0],
        'top_weights': {str(n): sum(ordered[:n]) for n in (1, 5, 10, 20)},
    }


def dated(days, values):
    return {'index': list(days), 'data': list(values)}


def statistics(levels, index):
    returns, tracked = levels[1:] / levels[:-1] - 1, index[1:] / index[:-1] - 1
    total, volatility = levels[-1] / levels[0] - 1, returns.std(ddof=1) * YEAR**0.5
    return {
        'total_return': total, 'annualised_return': (1 + total) ** (YEAR / len(returns)) - 1, 'volatility': volatility, 'sharpe_ratio': returns.mean() * YEAR / volatility,
        'max_drawdown': (levels / np.maximum.accumulate(levels) - 1).min(), 'tracking_difference': total - (index[-1] / index[0] - 1),
        'tracking_error': (returns - tracked).std(ddof=1) * YEAR**0.5,
    }


def told(held, other):
    """The result of the run and its overview."""
    levels = 100 * held.value / held.value[0]
    by_day = level(RUN, VARIANT)
    index = np.array([by_day[day] for day in DAYS])
    index = 100 * index / index[0]
    metrics = statistics(levels, index)
    years = sorted({day[:4] for day in DAYS})
    closes_of = {year: levels[max(t for t, day in enumerate(DAYS) if day[:4] == year)] for year in years}
    starts = [levels[0], *(closes_of[year] for year in years[:-1])]
    own, its = levels[1:] / levels[:-1] - 1, other.returns
    snapshots = [s for s in record(RUN)['index']['target']['rebalances']]
    relative = {
        'start': DAYS[0] + 'T00:00:00+00:00', 'end': DAYS[-1] + 'T00:00:00+00:00', 'observations': len(DAYS), 'return_variant': VARIANT,
        'level': dated(DAYS, 100 * other.value / other.value[0]), 'total_return': metrics['total_return'], 'benchmark_return': compound(its),
        'excess_return': metrics['total_return'] - compound(its), 'beta': np.cov(own, its)[0, 1] / its.var(ddof=1), 'correlation': np.corrcoef(own, its)[0, 1],
        'tracking_error': (own - its).std(ddof=1) * YEAR**0.5,
    }
    result = {
        'metrics': metrics, 'level': dated(DAYS, levels), 'index_level': dated(DAYS, index), 'returns': dated(DAYS[1:], own),
        'drawdown': dated(DAYS, levels / np.maximum.accumulate(levels) - 1), 'benchmark': relative,
        'annual_returns': {year: closes_of[year] / start - 1 for year, start in zip(years, starts)}, 'total_costs': held.costs.sum(),
    }
    overview = {
        'index_id': RUN, 'metrics': metrics, 'level': dated(DAYS, levels), 'observations': len(DAYS), 'start': DAYS[0], 'end': DAYS[-1],
        'rebalances': len(snapshots), 'last_rebalance': snapshots[-1]['date'], 'concentration': concentration(snapshots[-1]['weights'].values()),
    }
    return {'result': result}, overview


def market_and_sectors(names, returns):
    """Least squares of each session on a market and sectors whose returns sum to 0."""
    sector = [sector_of(name) for name in names]
    labels = sorted(set(sector))
    b = np.array([[1.0] + [float(s == label) for label in labels] for s in sector])
    # The last sector's return follows from the others: a basis of the admissible returns.
    allowed = np.zeros((len(labels) + 1, len(labels)))
    allowed[:-1] = np.eye(len(labels))
    allowed[-1, 1:] = -1
    fitted = (allowed @ np.linalg.lstsq(b @ allowed, returns.T, rcond=None)[0]).T
    return ['MARKET', *(f'SECTOR {label}' if label == 'MARKET' else label for label in labels)], b, fitted, returns - fitted @ b.T


def sector_of(name):
    return reference(name, DAYS[-1]).get('SECTOR') or 'UNCLASSIFIED'


def components(names, returns, count):
    centred = returns - returns.mean(0)
    vectors = np.linalg.svd(centred, full_matrices=False)[2][:count].T
    count = vectors.shape[1]  # at most the number of securities
    vectors = vectors * np.sign(vectors[abs(vectors).argmax(0), np.arange(count)])
    fitted = centred @ vectors
    return [f'PC{k + 1}' for k in range(count)], vectors, fitted, centred - fitted @ vectors.T


def factor_risk(own, other, day, fit):
    t = DAYS.index(day)
    held, compared = ({n: w for n, w in zip(h.names, h.weights[t]) if w > 0} if h else {} for h in (own, other))
    covered, uncovered, returns = panel(sorted({*held, *compared}))
    a = np.array([held.get(name, 0) - compared.get(name, 0) for name in covered])
    gross = abs(a).sum() + sum(abs(held.get(name, 0) - compared.get(name, 0)) for name in uncovered)
    share = abs(a).sum() / gross
    a /= share
    labels, b, fitted, rest = fit(covered, returns)
    f = YEAR * np.cov(fitted.T, ddof=1).reshape(len(labels), len(labels))
    x = b.T @ a
    factor, specific = x @ f @ x, (a * a * YEAR * rest.var(0, ddof=1)).sum()
    parts = x * (f @ x) / factor
    return {
        'as_of': day, 'factor_variance': factor, 'specific_variance': specific, 'total_variance': factor + specific, 'factor_share': factor / (factor + specific),
        'tracking_error' if other else 'volatility': np.sqrt(factor + specific), 'reconciles': True, 'covered_weight': share, 'uncovered': uncovered,
        'factors': labels, 'contributions': dict(zip(labels, parts)), 'exposures': dict(zip(labels, x)),
    }


def rolling(held, first, weights_of):
    """From the session on which there are `first` returns; `weights_of` the weights of a number of returns, oldest first, or 0 for returns that are too old."""
    by_day = level(RUN, VARIANT)
    index = np.array([by_day[day] for day in DAYS])
    own, its = held.returns, index[1:] / index[:-1] - 1
    rows = []
    for n in range(first, len(DAYS)):
        w = weights_of(n)
        w = w / w.sum()
        r, s = own[:n] - w @ own[:n], its[:n] - w @ its[:n]
        unbiased = 1 / (1 - w @ w)
        a, b, ab, d = (unbiased * (w @ x) for x in (r * r, s * s, r * s, (r - s) ** 2))
        rows.append([*(np.sqrt(YEAR * x) for x in (a, b, d)), 0 if b < 1e-18 else ab / b, 0 if min(a, b) < 1e-18 else ab / np.sqrt(a * b)])
    return {'risk': {'index': DAYS[first:], 'columns': ['volatility', 'index_volatility', 'tracking_error', 'beta', 'correlation'], 'data': rows}}


def windowed(length):
    return lambda n: np.concatenate([np.zeros(n - length), np.ones(length)])


def halving(sessions):
    return lambda n: 0.5 ** (np.arange(n)[::-1] / sessions)


def comparison(runs):
    levels = {name: 100 * held.value / held.value[0] for name, held in runs.items()}
    return {
        'index_ids': list(runs), 'observations': len(DAYS), 'start': DAYS[0], 'end': DAYS[-1],
        'entries': [{'index_id': name, 'level': dated(DAYS, values), 'total_return': values[-1] / values[0] - 1} for name, values in levels.items()],
    }


UNCAPPED = f'{RUN}-UNCAPPED'
DAYS = record(RUN)['portfolio']['nav']['index'][1:]
run, benchmark = Held(RUN, VARIANT), Held(BENCHMARK, VARIANT)
GROUPS = [by for by in ('SECTOR', 'INDUSTRY', 'LISTED', 'COUNTRY') if by in reference(run.names[0], DAYS[-1])]
middle = DAYS[len(DAYS) // 2]
rebalance = next(s['date'] for s in record(RUN)['index']['target']['rebalances'] if s['date'] in DAYS[1:])
quarter, late = DAYS[len(DAYS) // 6], DAYS[len(DAYS) * 3 // 4]
windows = [(DAYS[0], DAYS[-1]), (DAYS[40], DAYS[41]), (quarter[:8] + '01', late[:8] + '28')]
of = f'/analytics/{RUN}'
views = {}
views[f'/jobs/backtest:{RUN}'], views[f'{of}/overview'] = told(run, benchmark)
for start, end in windows:
    views[f'{of}/attribution?start={start}&end={end}'] = attribution(run, start, end)
    for by in GROUPS:
        views[f'{of}/attribution/groups?by={by}&benchmark={BENCHMARK}&start={start}&end={end}'] = groups(run, benchmark, by, start, end)
views[f'/analytics/compare?ids={RUN},{BENCHMARK}'] = comparison({RUN: run, BENCHMARK: benchmark})
for length in (5, 20, 63, len(DAYS) - 1, len(DAYS)):
    views[f'{of}/rolling?window={length}'] = rolling(run, length, windowed(length))
for sessions in (1, 20, 250.5):
    views[f'{of}/rolling?half_life={sessions}'] = rolling(run, 20, halving(sessions))
for name in run.names:
    if len(closes(name)) > 30:
        views[f'{of}/assets/{quote(name)}'] = asset(run, name)
for day in (middle, rebalance, DAYS[-1]):
    views[f'{of}/weights?risk=true&benchmark={BENCHMARK}&as_of={day}'] = weights(run, benchmark, day)
    for query, other in ((f'{of}/factor-risk?benchmark={BENCHMARK}&as_of={day}', benchmark), (f'{of}/total-risk?as_of={day}', None)):
        views[query] = factor_risk(run, other, day, market_and_sectors)
        for count in (1, 5, 20):
            views[f'{query}&model=statistical&factors={count}'] = factor_risk(run, other, day, lambda names, returns, count=count: components(names, returns, count))


def plain(value):
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(member) for member in value]
    return value.item() if isinstance(value, (np.generic, np.ndarray)) else value


print(json.dumps(plain(views)))
