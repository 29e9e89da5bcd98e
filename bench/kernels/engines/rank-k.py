"""Processor milliseconds of X'X by numpy, the least of so many: python3 rank-k.py OBSERVATIONS ASSETS REPEATS."""
import sys
import time

import numpy

observations, assets, repeats = map(int, sys.argv[1:])
x = numpy.random.default_rng(42).uniform(-0.02, 0.02, (observations, assets))
out = x.T @ x
best = float("inf")
for _ in range(repeats):
    start = time.process_time()
    numpy.matmul(x.T, x, out=out)
    best = min(best, time.process_time() - start)
print(1000 * best)
