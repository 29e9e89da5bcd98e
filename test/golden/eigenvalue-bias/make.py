"""Writes eigenvalue-bias.json beside it: the biases of USE4, section 4.2, from 20,000 samples drawn by numpy.

    python3 test/golden/eigenvalue-bias/make.py

Made with numpy 2.4.6. The Monte Carlo error of each is below 0.1 %.
"""
import json
import pathlib

import numpy as np

VALUES, OBSERVATIONS, SIMULATIONS = [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 6.0], 30, 20_000
rng = np.random.default_rng(11)
truth = np.array(VALUES)
ratios = np.zeros(len(truth))
for _ in range(SIMULATIONS):
    sample = np.cov(rng.standard_normal((OBSERVATIONS, len(truth))).T * np.sqrt(truth)[:, None])
    values, vectors = np.linalg.eigh(sample)
    ratios += np.einsum("ik,i,ik->k", vectors, truth, vectors) / values
found = {
    "values": VALUES,
    "observations": OBSERVATIONS,
    "biases": np.sqrt(ratios / SIMULATIONS).tolist(),
}
pathlib.Path(__file__).with_name("eigenvalue-bias.json").write_text(json.dumps(found) + "\n")
