"""Levels of an index with two reviews, in numpy and without any code of the project.

Reads a case as JSON: close, counts, ordinary, special, split and rate (sessions by securities), the reviews
(effective session, reference session, scope) in their order, and count, the size of a selection. Prints price, total,
divisor and the index shares after each review.

The members of a selection are the largest by market value on the reference session; their shares are their share counts.
A review of weights gives each member the same market value at the closes of its reference session. From that session to
the close of the effective one splits multiply the shares. An effective close scales the shares to the market value of
the index, so that the divisor stays. A special dividend is taken off the previous close, at the rate of that session.
"""

import json
import sys

import numpy as np


def pending_shares(case, review, members):
    """Shares decided on the reference session, as they are at the effective close."""
    effective, reference, scope = review["effective"], review["reference"], review["scope"]
    values = case["close"][reference] * case["rate"][reference]
    if scope == "membership":
        sizes = case["counts"][reference] * values
        chosen = np.argsort(-sizes, kind="stable")[: case["count"]]
        shares = np.zeros_like(sizes)
        shares[chosen] = case["counts"][reference][chosen]
    else:
        shares = np.where(members > 0, 1 / values, 0.0)
    return shares * np.prod(case["split"][reference + 1 : effective + 1], axis=0)


def levels(case):
    close, rate = case["close"], case["rate"]
    reviews = {}
    for review in case["reviews"]:
        reviews.setdefault(review["effective"], []).append(review)
    shares = pending_shares(case, case["reviews"][0], None)
    shares *= 100 / (shares @ (close[0] * rate[0]))
    divisor = 1.0
    found = {"price": [100.0], "total": [100.0], "divisor": [1.0], "shares": {"0": shares.tolist()}}
    for t in range(1, len(close)):
        worth = shares @ (close[t - 1] * rate[t - 1])
        opened = worth - shares @ (case["special"][t] * rate[t - 1])
        divisor *= opened / worth
        shares = shares * case["split"][t]
        market = shares @ (close[t] * rate[t])
        price = market / divisor
        points = shares @ (case["ordinary"][t] * rate[t]) / divisor
        found["total"].append(found["total"][-1] * (price + points) / found["price"][-1])
        found["price"].append(price)
        for review in reviews.get(t, []):
            shares = pending_shares(case, review, shares)
            shares *= market / (shares @ (close[t] * rate[t]))
            found["shares"][str(t)] = shares.tolist()
        found["divisor"].append(divisor)
    return found


def read(text):
    case = json.loads(text)
    for name in ("close", "counts", "ordinary", "special", "split", "rate"):
        case[name] = np.array(case[name], dtype=float)
    return case


print(json.dumps([levels(read(line)) for line in sys.stdin if line.strip()]))
