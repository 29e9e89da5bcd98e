import { factoriseSemidefinite } from '#kernels/algebra/semidefinite-factor.js';
import type { ProductShape } from '#kernels/algebra/gemm.js';
import type { Metric } from '#kernels/optimisation/program/metric.js';
import type { CounterRandom } from '#kernels/random/counter-random.js';

/** Matrix functions for drawing returns, which every engine has. */
export interface DrawAlgebra {
  gemm(shape: ProductShape, a: Float64Array, b: Float64Array, out: Float64Array): void;
}

export interface ReturnMoments {
  /** Covariance of returns times `periods`. */
  readonly metric: Metric;
  /** Mean returns, [N]. */
  readonly means: Float64Array;
  /** Number of returns per covariance period: 252 for an annual covariance of daily returns. */
  readonly periods: number;
}

/** Source of random returns with given moments, drawn row by row from one stream. */
export interface ReturnDraws {
  /**
   * Draws returns.
   * @param count number of rows.
   * @param degrees degrees of freedom of Student's distribution, an integer above 2; null for normal draws.
   * @returns [count x N]
   */
  draw(random: CounterRandom, count: number, degrees: number | null): Float64Array;
}

/**
 * Creates draws from a normal distribution, or from Student's distribution scaled to the given covariance.
 * @cost N^3 / 6 once for a whole matrix; N normals and N^2 multiply-adds per row, N k for loadings.
 * @source Kotz & Nadarajah (2004), Multivariate t distributions, section 1.1, as a normal over the root of a
 *   chi-square.
 */
export function createReturnDraws(algebra: DrawAlgebra, { metric, means, periods }: ReturnMoments): ReturnDraws {
  const { n } = metric;
  const scale = 1 / Math.sqrt(periods);
  const root = metric.form === 'factor' ? metric.loadings : factoriseSemidefinite(metric.matrix, n).lower;
  const factorCount = metric.form === 'factor' ? metric.factors : n;
  const specificDeviations =
    metric.form === 'factor' ? metric.specific.map((value) => Math.sqrt(Math.max(value, 0))) : null;
  return {
    draw(random, count, degrees) {
      const out = new Float64Array(count * n);
      for (let from = 0; from < count; from += CHUNK_ROWS)
        drawInto(random, degrees, out.subarray(from * n, Math.min(from + CHUNK_ROWS, count) * n));
      return out;
    },
  };

  function drawInto(random: CounterRandom, degrees: number | null, out: Float64Array): void {
    const count = out.length / n;
    const commonDraws = new Float64Array(count * factorCount);
    const specific = specificDeviations === null ? null : new Float64Array(count * n);
    const lengths = new Float64Array(count).fill(scale);
    for (let t = 0; t < count; t++) {
      for (let f = 0; f < factorCount; f++) commonDraws[t * factorCount + f] = random.normal();
      if (specific !== null)
        for (let i = 0; i < n; i++) specific[t * n + i] = specificDeviations![i]! * random.normal();
      if (degrees !== null) lengths[t] = scale * Math.sqrt((degrees - 2) / drawChiSquare(random, degrees));
    }
    if (factorCount > 0)
      algebra.gemm({ rows: count, inner: factorCount, columns: n, transposeB: true }, commonDraws, root, out);
    for (let t = 0, e = 0; t < count; t++)
      for (let i = 0; i < n; i++, e++) out[e] = means[i]! + lengths[t]! * (out[e]! + (specific?.[e] ?? 0));
  }
}

/** Number of rows that are multiplied at once. */
const CHUNK_ROWS = 4096;

function drawChiSquare(random: CounterRandom, degrees: number): number {
  let total = 0;
  for (let k = 0; k < degrees; k++) total += random.normal() ** 2;
  return total;
}
