"""Checks results of a batch without the service and its solver. Standard input: a line with the common data, then a line of JSON
per result in the order of the accounts: {"position", "result", "account"}, where an account is null or as it was sent. Standard
output: faults, number of results, of accounts compared with their lots, and the largest gap that their multipliers leave.

Accounts have no exclusions, tilts, limits or recent trades, the taxes are those by default, and any fraction trades."""

import json
import sys
from datetime import date

SHORT, LONG = 0.37, 0.2
RELATIVE = 1e-9
# Maximum violation of a constraint that is treated as rounding.
FEASIBLE = 1e-7
# Pieces of the tax on each side: prices of short-term and long-term gains.
PIECES = [[(SHORT, LONG), (LONG, LONG), (0.0, 0.0)], [(SHORT, SHORT), (0.0, 0.0)]]

common = json.loads(sys.stdin.readline())
names, prices, weights, count = (common[key] for key in ("identifiers", "prices", "weights", "factors"))
place = {name: at for at, name in enumerate(names)}
loadings = [common["loadings"][i * count : (i + 1) * count] for i in range(len(names))]
specific, goal = common["specific"], common["terms"]["objective"]
aversion, rate = goal["risk_aversion"], goal["cost_bps"] / 10_000
as_of = date.fromisoformat(common["as_of"])
faults, compared, largest = [], 0, 0.0


def tax_of(short, long):
    if short >= 0 and long >= 0:
        return SHORT * short + LONG * long
    net = short + long
    return 0.0 if net <= 0 else net * (SHORT if short > 0 else LONG)


def is_long(acquired):
    """More than one year."""
    day = date.fromisoformat(acquired)
    return (as_of.year - day.year, as_of.month, as_of.day) > (1, day.month, day.day)


def sums(result, differs):
    """Figures that follow from the trades."""
    traded = sum(trade["value"] for trade in result["trades"])
    sales = [trade for trade in result["trades"] if trade["side"] == "sell"]
    gains = {term: sum(trade["gain"] for trade in sales if trade["term"] == term) for term in ("short", "long")}
    differs("short-term gains", gains["short"], result["short_gain"])
    differs("long-term gains", gains["long"], result["long_gain"])
    differs("tax", tax_of(gains["short"], gains["long"]), result["tax"])
    differs("costs", traded * rate, result["costs"])
    for trade in result["trades"]:
        differs(f"price of {trade['identifier']}", prices[place[trade["identifier"]]], trade["price"])
    if result["status"] != "optimal":
        faults.append(f"{result['account_id']} is {result['status']}")


def positions(account, result, differs):
    """Shares after the trades; every sale is of one lot, with its basis and term."""
    lots = [dict(lot) for lot in account["lots"]]
    shares = {}
    for lot in lots:
        shares[lot["identifier"]] = shares.get(lot["identifier"], 0.0) + lot["shares"]
    cash = account["cash"]
    ways = {}
    for trade in result["trades"]:
        name, sign = trade["identifier"], 1 if trade["side"] == "buy" else -1
        ways.setdefault(name, set()).add(sign)
        shares[name] = shares.get(name, 0.0) + sign * trade["shares"]
        cash -= sign * trade["value"] + rate * trade["value"]
        if sign > 0:
            continue
        lot = lots[trade["lot"]]
        if lot["identifier"] != name or lot["cost"] != trade["cost"] or lot["acquired"] != trade["acquired"]:
            faults.append(f"{account['account_id']}: lot {trade['lot']} is another one")
        lot["shares"] -= trade["shares"]
        if lot["shares"] < -1e-7:
            faults.append(f"{account['account_id']}: lot {trade['lot']} is sold twice")
        differs("gain", trade["shares"] * (trade["price"] - lot["cost"]), trade["gain"])
        if (trade["term"] == "long") != is_long(trade["acquired"]):
            faults.append(f"{account['account_id']}: lot {trade['lot']} is not {trade['term']}")
    if any(len(way) > 1 for way in ways.values()):
        faults.append(f"{account['account_id']} buys and sells a security")
    differs("cash", cash, result["cash"])
    if not -FEASIBLE * result["value"] <= cash <= (0.01 + FEASIBLE) * result["value"]:
        faults.append(f"{account['account_id']} has {cash} in cash")
    return shares


def least(i, lots, curvature, slope, charge, gains):
    """Lowest value of one security over purchases, and over sales with the lowest tax first."""
    held, target = sum(size for size, _, _ in lots), weights[i]
    best = curvature * (held - target) ** 2 + slope * held

    def over(way, begin, end, offset, price):
        free = way * (target - held) - (way * slope + price) / (2 * curvature)
        x = min(end, max(begin, free))
        w = held + way * x
        return curvature * (w - target) ** 2 + slope * w + offset + price * (x - begin)

    if target > 0:
        best = min(best, over(1, 0.0, max(0.0, min(1.0, target + 0.05) - held), 0.0, charge))
    sold = offset = 0.0
    for price, size in sorted((gains[is_long_lot] * gain + charge, size) for size, is_long_lot, gain in lots):
        best = min(best, over(-1, sold, sold + size, offset, price))
        sold, offset = sold + size, offset + price * size
    return best


def bound_of(own, side, value):
    """Lagrangian bound: given the multipliers, securities are independent."""
    y = [max(0.0, x) for x in side["rows"]]
    pieces = PIECES[side["side"]]
    of_tax = sum(y[2 : 2 + len(pieces)])
    shares = [x / of_tax for x in y[2 : 2 + len(pieces)]]
    gains = {
        False: sum(a * piece[0] for a, piece in zip(shares, pieces)),
        True: sum(a * piece[1] for a, piece in zip(shares, pieces)) - (y[-1] if side["side"] == 0 else -y[-1]),
    }
    cash = y[0] - y[1]
    exposures = side["exposures"]
    bound = -aversion * sum(x * x for x in exposures) - y[0] * (1 - goal["cash_minimum"]) + y[1] * (1 - goal["cash_maximum"])
    for i, row in enumerate(loadings):
        if weights[i] <= 0 and not own[i]:
            continue
        tangent = 2 * aversion * sum(a * b for a, b in zip(row, exposures))
        bound += least(i, own[i], aversion * specific[i], tangent + cash, (1 + cash) * rate, gains) - tangent * weights[i]
    return bound


def certificate(account, result, shares, differs):
    global compared, largest
    value = account["cash"] + sum(lot["shares"] * prices[place[lot["identifier"]]] for lot in account["lots"])
    differs("value", value, result["value"])
    active = [shares.get(name, 0.0) * prices[i] / value - weights[i] for i, name in enumerate(names)]
    factors = [0.0] * count
    for row, a in zip(loadings, active):
        if a != 0:
            factors = [x + a * b for x, b in zip(factors, row)]
    variance = sum(x * x for x in factors) + sum(d * a * a for d, a in zip(specific, active))
    objective = aversion * variance + (result["costs"] + result["tax"]) / value
    for what, own, stated in (
        ("variance", variance, result["tracking_error"] ** 2),
        ("objective", objective, result["certificate"]["objective"]),
    ):
        if abs(own - stated) > RELATIVE:
            faults.append(f"{account['account_id']}: {what} is {stated}, {own} follows")
    lots = [[] for _ in names]
    for lot in account["lots"]:
        i = place[lot["identifier"]]
        lots[i].append((lot["shares"] * prices[i] / value, is_long(lot["acquired"]), 1 - lot["cost"] / prices[i]))
    sides = result["certificate"]["sides"]
    if sorted(side["side"] for side in sides) != [0, 1]:
        faults.append(f"{account['account_id']} has no certificate for a side of the tax")
    gap = objective - min(bound_of(lots, side, value) for side in sides)
    largest, compared = max(largest, gap), compared + 1
    if not -RELATIVE < gap < 1e-8:
        faults.append(f"{account['account_id']}: the gap is {gap}")


def check(position, result, account):
    def differs(what, own, stated):
        if abs(own - stated) > RELATIVE * result["value"]:
            faults.append(f"{result['account_id']}: {what} is {stated}, {own} follows")

    if result["account_id"] != f"A{position}":
        faults.append(f"{result['account_id']} is at position {position}")
    sums(result, differs)
    if account is not None:
        certificate(account, result, positions(account, result, differs), differs)


results = 0
for line in sys.stdin:
    given = json.loads(line)
    if given["position"] != results:
        faults.append(f"position {given['position']} follows {results - 1}")
    check(given["position"], given["result"], given["account"])
    results += 1
print(json.dumps({"faults": faults[:20], "results": results, "compared": compared, "largest": largest}))
