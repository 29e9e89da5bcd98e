"""Deflated Sharpe ratios and the probability of overfitting of a sweep, by the definitions and the standard library alone.

Reads {"partitions": S, "levels": [{date: level} by variant]} from standard input and writes JSON.
"""
import itertools
import json
import math
import sys
from statistics import NormalDist, mean, median, stdev, variance

NORMAL = NormalDist()
EULER = 0.57721566490153286


def returns(level, days):
    return [level[b] / level[a] - 1 for a, b in itertools.pairwise(days)]


def sharpe(r):
    return mean(r) / stdev(r)


asked = json.load(sys.stdin)
levels, partitions = asked['levels'], asked['partitions']
own = [returns(level, sorted(level)) for level in levels]
trials = len(own)
ratios = [sharpe(r) for r in own]
threshold = math.sqrt(variance(ratios)) * ((1 - EULER) * NORMAL.inv_cdf(1 - 1 / trials) + EULER * NORMAL.inv_cdf(1 - 1 / (trials * math.e)))


def deflated(r):
    centre, ratio = mean(r), sharpe(r)
    second, third, fourth = (mean((x - centre) ** power for x in r) for power in (2, 3, 4))
    skew, kurtosis = third / second**1.5, fourth / second**2
    return NORMAL.cdf((ratio - threshold) * math.sqrt(len(r) - 1) / math.sqrt(1 - skew * ratio + (kurtosis - 1) / 4 * ratio**2))


shared = sorted(set.intersection(*map(set, levels)))
rows = [returns(level, shared) for level in levels]
block = len(rows[0]) // partitions
rows = [row[len(row) - block * partitions:] for row in rows]
logits, losses = [], 0
for chosen in itertools.combinations(range(partitions), partitions // 2):
    def over(row, inside):
        return [x for s in range(partitions) if (s in chosen) == inside for x in row[s * block:(s + 1) * block]]

    inside = [sharpe(over(row, True)) for row in rows]
    outside = [sharpe(over(row, False)) for row in rows]
    best = inside.index(max(inside))
    below = sum(value < outside[best] for value in outside)
    equal = sum(value == outside[best] for value in outside)
    rank = (below + (equal + 1) / 2) / (trials + 1)
    logits.append(math.log(rank / (1 - rank)))
    losses += outside[best] < 0

print(json.dumps({
    'deflated': [deflated(r) for r in own],
    'expected_maximum': threshold,
    'overfitting': {
        'probability': sum(logit <= 0 for logit in logits) / len(logits), 'probability_of_loss': losses / len(logits), 'median_logit': median(logits),
        'combinations': len(logits), 'partitions': partitions, 'observations': block * partitions,
    },
}))
