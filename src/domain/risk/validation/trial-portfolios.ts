import type { Engine } from '#kernels/engines/engine.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import { computeNaturalLog } from '#kernels/random/natural-log.js';

export const PORTFOLIO_FAMILIES = ['equal_weight', 'index', 'random', 'active', 'eigenportfolio'] as const;
export type PortfolioFamily = (typeof PORTFOLIO_FAMILIES)[number];

/** Portfolio with which a model is tested, on one day. */
export interface TrialPortfolio {
  readonly family: PortfolioFamily;
  /** Number within its family, from 1. */
  readonly number: number;
  /** Weights of the covered securities, [n]. */
  readonly weights: Float64Array;
}

/** Maximum number of securities of a random portfolio. */
const RANDOM_SECURITIES_MAX = 20;

export interface RandomTrials {
  readonly count: number;
  readonly seed: number;
}

/** Returns the portfolio with equal weights of every covered security. */
export function createEqualTrial(n: number): TrialPortfolio {
  return { family: 'equal_weight', number: 1, weights: new Float64Array(n).fill(1 / n) };
}

/**
 * Draws random long portfolios with exponential weights. Each holds the securities with the smallest random keys. Key
 * and weight of a security depend only on seed, portfolio and security, so portfolios stay stable when securities enter
 * or leave.
 * @param names covered securities, as streams of random numbers, [n].
 * @returns portfolios, each followed by its difference from the equally weighted portfolio
 */
export function drawTrials(names: Int32Array, { count, seed }: RandomTrials): TrialPortfolio[] {
  const n = names.length;
  const keys = Array.from({ length: count }, () => new Float64Array(n));
  const sizes = keys.map(() => new Float64Array(n));
  names.forEach((name, i) => {
    const random = createCounterRandom({ seed, stream: name });
    for (let p = 0; p < count; p++) {
      keys[p]![i] = random.uniform();
      sizes[p]![i] = -computeNaturalLog(random.uniform());
    }
  });
  return keys.flatMap((key, p) => {
    const limit = n <= RANDOM_SECURITIES_MAX ? 1 : key.toSorted()[RANDOM_SECURITIES_MAX - 1]!;
    const drawnSizes = sizes[p]!.map((size, i) => (key[i]! <= limit ? size : 0));
    const total = drawnSizes.reduce((sum, size) => sum + size, 0);
    const weights = drawnSizes.map((size) => size / total);
    return [
      { family: 'random', number: p + 1, weights },
      { family: 'active', number: p + 1, weights: weights.map((weight) => weight - 1 / n) },
    ] as const;
  });
}

/**
 * Returns eigenvectors of a covariance as portfolios of gross weight 1. They are `count` eigenvectors, evenly spaced by
 * rank from the largest eigenvalue on.
 * @param covariance [n x n].
 * @cost a symmetric eigenproblem of order n
 */
export function createEigenTrials(
  engine: Engine,
  covariance: Float64Array,
  n: number,
  count: number,
): TrialPortfolio[] {
  if (count === 0) return [];
  return engine.scope(() => {
    const values = engine.allocate(n);
    const vectors = engine.allocate(n * n);
    engine.symmetricEigen(covariance, n, values, vectors);
    const trialCount = Math.min(count, n);
    return Array.from({ length: trialCount }, (_, k) => {
      const rank = trialCount === 1 ? 0 : Math.round((k * (n - 1)) / (trialCount - 1));
      const vector = vectors.slice((n - 1 - rank) * n, (n - rank) * n);
      const gross = vector.reduce((sum, value) => sum + Math.abs(value), 0);
      return { family: 'eigenportfolio', number: k + 1, weights: vector.map((value) => value / gross) };
    });
  });
}
