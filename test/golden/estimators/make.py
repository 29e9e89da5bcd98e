"""Writes estimators.json beside it: small panels of returns and their covariances by four estimators.

    python3 test/golden/estimators/make.py

Made with numpy 2.4.6. Each estimator is written from its paper, with explicit products and pairs, and shares no code
with the service. nonlinear is the authors' published code (Ledoit and Wolf 2020, appendix D), line by line.
"""
import json
import pathlib

import numpy

HERE = pathlib.Path(__file__).parent


def panel(seed: int, observations: int, names: int) -> numpy.ndarray:
    random = numpy.random.default_rng(seed)
    common = random.standard_normal((observations, 2)) @ (0.4 + random.random((2, names)))
    noise = random.standard_normal((observations, names)) * (0.5 + random.random(names))
    noise[1:] += 0.3 * noise[:-1]
    return numpy.round(0.01 * (common + noise), 6)


def nonlinear(returns: numpy.ndarray) -> numpy.ndarray:
    x = returns - returns.mean(axis=0)
    n, p = x.shape[0] - 1, x.shape[1]
    sample = x.T @ x / n
    lam, u = numpy.linalg.eigh(sample)
    lam = lam[max(0, p - n):].astype(numpy.longdouble)  # the formula cancels far from an eigenvalue
    L = numpy.tile(lam[:, None], (1, min(p, n)))
    h = n ** (-1 / 3)
    H = h * L.T
    z = (L - L.T) / H
    ftilde = (3 / 4 / numpy.sqrt(5)) * numpy.mean(numpy.maximum(1 - z**2 / 5, 0) / H, axis=1)
    log = numpy.log(numpy.abs((numpy.sqrt(5) - z) / (numpy.sqrt(5) + z)))
    Hftemp = (-3 / 10 / numpy.pi) * z + (3 / 4 / numpy.sqrt(5) / numpy.pi) * (1 - z**2 / 5) * log
    Hftilde = numpy.mean(Hftemp / H, axis=1)
    c = p / n
    if p <= n:
        d = lam / ((numpy.pi * c * lam * ftilde) ** 2 + (1 - c - numpy.pi * c * lam * Hftilde) ** 2)
    else:
        root = numpy.sqrt(5) * h
        Hftilde0 = (
            (1 / numpy.pi)
            * (3 / 10 / h**2 + 3 / 4 / root * (1 - 1 / 5 / h**2) * numpy.log((1 + root) / abs(1 - root)))
            * numpy.mean(1 / lam)
        )
        d0 = 1 / (numpy.pi * (p - n) / n * Hftilde0)
        d1 = lam / (numpy.pi**2 * lam**2 * (ftilde**2 + Hftilde**2))
        d = numpy.concatenate([d0 * numpy.ones(p - n), d1])
    return u @ numpy.diag(d.astype(float)) @ u.T


def gerber(returns: numpy.ndarray, threshold: float) -> numpy.ndarray:
    n = returns.shape[1]
    s = returns.std(axis=0, ddof=1)
    out = numpy.empty((n, n))
    for i in range(n):
        for j in range(n):
            with_, against, still = 0, 0, 0
            for a, b in zip(returns[:, i] / s[i], returns[:, j] / s[j]):
                big = abs(a) >= threshold, abs(b) >= threshold
                with_ += all(big) and a * b > 0
                against += all(big) and a * b < 0
                still += not any(big)
            out[i, j] = s[i] * s[j] * (1 if i == j else (with_ - against) / (len(returns) - still))
    return out


def denoised(returns: numpy.ndarray) -> numpy.ndarray:
    t, n = returns.shape
    s = returns.std(axis=0, ddof=1)
    lam, u = numpy.linalg.eigh(numpy.corrcoef(returns.T))
    noise = numpy.ones(n, dtype=bool)
    while True:
        edge = lam[noise].mean() * (1 + numpy.sqrt(n / t)) ** 2
        next_ = noise & (lam <= edge)
        if (next_ == noise).all():
            break
        noise = next_
    lam[noise] = lam[noise].mean()
    c = u @ numpy.diag(lam) @ u.T
    c /= numpy.sqrt(numpy.outer(numpy.diag(c), numpy.diag(c)))
    return c * numpy.outer(s, s)


def newey_west(returns: numpy.ndarray, lags: int, half_life: float) -> numpy.ndarray:
    t = len(returns)
    w = 0.5 ** ((t - 1 - numpy.arange(t)) / half_life)
    w /= w.sum()
    x = returns - w @ returns
    f = w / (1 - (w**2).sum())
    out = sum(f[k] * numpy.outer(x[k], x[k]) for k in range(t))
    for lag in range(1, lags + 1):
        gamma = sum(numpy.sqrt(f[k] * f[k - lag]) * numpy.outer(x[k], x[k - lag]) for k in range(lag, t))
        out = out + (1 - lag / (lags + 1)) * (gamma + gamma.T)
    return out


cases = []
for seed, observations, names in [(1, 60, 8), (2, 16, 20)]:
    returns = panel(seed, observations, names)
    cases.append(
        {
            "returns": returns.tolist(),
            "threshold": 0.5,
            "lags": 3,
            "half_life": 20,
            "nonlinear": nonlinear(returns).tolist(),
            "gerber": gerber(returns, 0.5).tolist(),
            "denoised": denoised(returns).tolist(),
            "newey_west": newey_west(returns, 3, 20).tolist(),
        }
    )
(HERE / "estimators.json").write_text(json.dumps({"cases": cases}) + "\n")
