"""Checks the conditions of optimality of a convex account without the solver: standard input has program, trades,
multipliers and prices of gains as JSON; standard output the largest violation."""

import json
import sys

given = json.load(sys.stdin)
p, trades, y, prices = given["program"], given["trades"], given["multipliers"], given["prices"]
n, k = p["n"], p["k"]
start, sold, bought = p["lotStart"], trades["sold"], trades["bought"]
worst = 0.0
weights = [p["heldWeights"][i] + bought[i] - sum(sold[start[i] : start[i + 1]]) for i in range(n)]
active = [w - b for w, b in zip(weights, p["target"])]
loading = lambda i, f: p["loadings"][i * k + f]
factors = [sum(loading(i, f) * active[i] for i in range(n)) for f in range(k)]
variance = sum(x * x for x in factors) + sum(d * a * a for d, a in zip(p["specific"], active))
cost = sum(p["costRate"][i] * (bought[i] + sum(sold[start[i] : start[i + 1]])) for i in range(n))
scale = p["aversion"] + y["variance"]
m = len(p["rows"])

# Rows: feasible, multipliers not negative, one of the two zero.
price_of_cost = 1.0
for row, own in zip(p["rows"], y["rows"]):
    value = row["constant"] + row["cost"] * cost + sum(a * w for a, w in zip(row["weights"], weights))
    price_of_cost += own * row["cost"]
    worst = max(worst, value, -own, abs(own * value))
if p["varianceLimit"] != "inf":
    worst = max(worst, variance - p["varianceLimit"], abs(y["variance"] * (variance - p["varianceLimit"])))

# Tax: multipliers of its pieces sum to the weight, and only the largest pieces have any.
short = p["fixedShort"] + sum(a * b for a, b in zip(p["lotShort"], sold))
long = p["fixedLong"] + sum(a * b for a, b in zip(p["lotLong"], sold))
pieces = p["sides"][0]["pieces"]
values = [q["short"] * short + q["long"] * long + q["constant"] for q in pieces]
own = y["rows"][m : m + len(pieces)]
worst = max(worst, abs(sum(own) - p["taxWeight"]), *(a * (max(values) - v) for a, v in zip(own, values)))

# Trades: no trade has a reduced cost of the wrong sign.
for i in range(n):
    slope = 2 * scale * (p["specific"][i] * active[i] + sum(loading(i, f) * factors[f] for f in range(k)))
    slope += sum(own * row["weights"][i] for row, own in zip(p["rows"], y["rows"]))
    charge = price_of_cost * p["costRate"][i]
    lots = [
        (sold[l], p["lotSize"][l], prices["short"] * p["lotShort"][l] + prices["long"] * p["lotLong"][l] + charge - slope)
        for l in range(start[i], start[i + 1])
    ]
    for amount, size, reduced in lots + [(bought[i], p["buyLimit"][i], slope + charge)]:
        if amount < size - 1e-9:
            worst = max(worst, -reduced)
        if amount > 1e-9:
            worst = max(worst, reduced)
print(json.dumps({"worst": worst}))
