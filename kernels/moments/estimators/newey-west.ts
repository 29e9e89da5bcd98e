import { assert } from '../../assert.js';
import type { Engine } from '../../engines/engine.js';

/** Engine operations for products of a panel with its shifted copy. */
type ShiftingEngine = Pick<Engine, 'symmetricRankK' | 'gemm' | 'allocate' | 'scope'>;

/**
 * Computes a Newey-West covariance, which includes autocovariances with weight 1 - k / (lags + 1) for lag k: the
 * covariance, per observation, of a sum over many observations.
 *
 * @param engine  Engine that multiplies.
 * @param panel   [observations x assets] row-major deviations, each row multiplied by the square root of its weight. A
 *                pair of rows thus has the geometric mean of their weights, which keeps the result positive
 *                semi-definite.
 * @param assets  Number of columns of the panel.
 * @param lags    Number of lags, a whole number below the number of observations; 0 gives the plain covariance.
 * @param out     [assets x assets] row-major, overwritten; exactly symmetric.
 * @returns       Nothing; the covariance is in `out`.
 * @throws        KernelFault on a shape mismatch or too many lags.
 * @cost          (1/2 + lags) * observations * assets^2 multiply-adds; scratch of a matrix.
 * @source        Newey & West (1987), Econometrica 55(3), 703-708; weighted observations as in Menchero, Orr & Wang
 *                (2011), The Barra US Equity Model (USE4), section 4.1.
 */
export function estimateNeweyWest(
  engine: ShiftingEngine,
  panel: Float64Array,
  { assets: n, lags }: { readonly assets: number; readonly lags: number },
  out: Float64Array,
): void {
  const observations = panel.length / n;
  assert(Number.isInteger(observations), `panel: ${panel.length} values over ${n} assets`);
  assert(Number.isInteger(lags) && lags >= 0 && lags < observations, `lags: ${lags} of ${observations} observations`);
  engine.symmetricRankK(panel, n, out);
  engine.scope(() => {
    const shiftedProducts = engine.allocate(n * n);
    for (let lag = 1; lag <= lags; lag++) {
      const inner = observations - lag;
      const laterRows = panel.subarray(lag * n);
      const earlierRows = panel.subarray(0, inner * n);
      engine.gemm({ rows: n, inner, columns: n, transposeA: true }, laterRows, earlierRows, shiftedProducts);
      const weight = 1 - lag / (lags + 1);
      for (let i = 0; i < n; i++)
        for (let j = i; j < n; j++) {
          const value = out[i * n + j]! + weight * (shiftedProducts[i * n + j]! + shiftedProducts[j * n + i]!);
          out[i * n + j] = value;
          out[j * n + i] = value;
        }
    }
  });
}
