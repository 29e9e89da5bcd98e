"""Futures and total return swaps by their formulas, in 50 digits and with derivatives by finite differences.

Reads a JSON list of requests from standard input and writes a JSON list of results: an implementation that shares nothing with the
service but the text of the formulas.
"""
import json
import sys
from datetime import date, timedelta
from decimal import Decimal as D, getcontext

getcontext().prec = 50
STEP = D('1e-15')


def day(text):
    return date.fromisoformat(text)


def of(request, name, default='0'):
    value = request.get(name)
    return D(repr(value)) if value is not None else D(default)


def forward(request, s, r, q, b):
    as_of = day(request['as_of'])
    tau = D((day(request['expiry']) - as_of).days) / 365
    for dividend in request.get('dividends', []):
        s -= D(repr(dividend['amount'])) * (-r * D((day(dividend['ex_date']) - as_of).days) / 365).exp()
    return s * ((r - q - b) * tau).exp()


def slope(f, x):
    return (f(x + STEP) - f(x - STEP)) / (2 * STEP)


def solve(f, target):
    """The rate at which f is the target: f is monotone over every rate there is."""
    low, high = D(-400), D(400)
    rising = f(D('0.1')) > f(D(0))
    for _ in range(160):
        middle = (low + high) / 2
        if (f(middle) < target) == rising:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def futures(request):
    s, r, q, b = (of(request, name) for name in ('spot', 'risk_free_rate', 'dividend_yield', 'borrow_rate'))
    fair = forward(request, s, r, q, b)
    tau = D((day(request['expiry']) - day(request['as_of'])).days) / 365
    market = request.get('market_price')
    result = {
        'fair_value': fair,
        'basis': fair - s,
        'annualised_carry': (fair / s).ln() / tau,
        'notional': of(request, 'contracts', '1') * of(request, 'multiplier', '1') * fair,
        'delta': slope(lambda x: forward(request, x, r, q, b), s),
        'rho': slope(lambda x: forward(request, s, x, q, b), r) / 10000,
        'mispricing': None if market is None else D(repr(market)) - fair,
        'implied_rate': None if market is None else solve(lambda x: forward(request, s, x, q, b), D(repr(market))),
    }
    if not request.get('dividends'):
        result['dividend_sensitivity'] = slope(lambda x: forward(request, s, r, x, b), q) / 10000
        result['implied_dividend_yield'] = None if market is None else solve(lambda x: forward(request, s, r, x, b), D(repr(market)))
    return result


MONTHS = {'monthly': 1, 'quarterly': 3, 'semi_annual': 6, 'annual': 12}


def later(start, months):
    index = start.year * 12 + start.month - 1 + months
    year, month = divmod(index, 12)
    last = (date(year + (month == 11), (month + 1) % 12 + 1, 1) - timedelta(days=1)).day
    return date(year, month + 1, min(start.day, last))


def following(when):
    while when.weekday() > 4:
        when += timedelta(days=1)
    return when


def resets(start, maturity, frequency):
    dates, k = [start], 1
    while frequency != 'none':
        when = following(later(start, k * MONTHS[frequency]))
        if when >= maturity:
            break
        dates.append(when)
        k += 1
    return dates + [maturity]


def legs(request, s, r, spread):
    q, b, n = (of(request, name) for name in ('dividend_yield', 'borrow_rate', 'notional'))
    s0 = of(request, 'initial_level', repr(request['spot']))
    carried = b if request['return_type'] == 'total' else q + b
    as_of = day(request['as_of'])
    dates = resets(day(request['start']), day(request['maturity']), request['reset_frequency'])
    current = max(i for i, when in enumerate(dates[:-1]) if when <= as_of)
    equity = financing = annuity = D(0)
    rows = []
    for i in range(current, len(dates) - 1):
        days = D((dates[i + 1] - dates[i]).days)
        alpha = days / 360
        begin = D(max(0, (dates[i] - as_of).days)) / 365
        end = D((dates[i + 1] - as_of).days) / 365
        dt = end - begin
        discount = (-r * end).exp()
        grown = (-carried * dt).exp()
        if i == current:
            e = n * ((s / s0) * grown - discount)
            f = ((r * days / 365).exp() - 1) / alpha
        else:
            e = n * ((-r * begin).exp() * grown - discount)
            f = ((r * dt).exp() - 1) / alpha
        c = n * (f + spread) * alpha * discount
        equity, financing, annuity = equity + e, financing + c, annuity + n * alpha * discount
        rows.append([str(dates[i]), str(dates[i + 1]), e, c])
        if i == current:
            accrued = n * (f + spread) * D((as_of - dates[i]).days) / 360
    return equity, financing, annuity, rows, accrued, n * (s / s0 - 1)


def swap(request):
    s, r, spread = (of(request, name) for name in ('spot', 'risk_free_rate', 'spread'))
    sign = 1 if request['direction'] == 'receive' else -1
    equity, financing, annuity, rows, accrued, gained = legs(request, s, r, spread)

    def value(s, r):
        e, f = legs({**request, 'initial_level': request.get('initial_level') or request['spot']}, s, r, spread)[:2]
        return sign * (e - f)

    return {
        'value': value(s, r), 'equity_leg': equity, 'financing_leg': financing, 'accrued_equity': gained, 'accrued_financing': accrued,
        'par_spread': spread + (equity - financing) / annuity,
        'delta': slope(lambda x: value(x, r), s), 'rho': slope(lambda x: value(s, x), r) / 10000,
        'periods': rows,
    }


def plain(value):
    if isinstance(value, D):
        return float(value)
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


requests = json.load(sys.stdin)
json.dump([plain(futures(request) if kind == 'futures' else swap(request)) for kind, request in requests], sys.stdout)
