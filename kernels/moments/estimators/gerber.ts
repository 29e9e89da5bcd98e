import { assert } from '../../assert.js';
import type { Engine } from '../../engines/engine.js';

/** Engine operations for counting joint moves. */
type CountingEngine = Pick<Engine, 'symmetricRankK' | 'allocate' | 'scope'>;

/**
 * Computes the Gerber statistic of each pair of securities. It counts the observations in which both securities move
 * beyond a threshold in the same direction, and subtracts those in which they move in opposite directions. It divides
 * the difference by the number of observations in which at least one security moves beyond the threshold.
 * @param engine      Engine that multiplies counts.
 * @param panel       [observations x assets] row-major returns.
 * @param deviations  Standard deviations, [assets].
 * @param threshold   Minimum size of a move in standard deviations, at least 0.
 * @param out         [assets x assets] row-major, overwritten; symmetric, 1 on the diagonal. Not always positive
 *                    semi-definite.
 * @returns           Nothing; the statistic is in `out`.
 * @throws            KernelFault on a shape mismatch.
 * @cost              Two products of observations * assets^2 / 2; scratch of two panels and a matrix.
 * @source            Gerber, Markowitz, Ernst, Miao, Javid & Sargen (2022), The Gerber statistic: a robust co-movement
 *                    measure for portfolio optimization, J. Portfolio Management 48(3), 87-102, equation 10.
 */
export function estimateGerber(
  engine: CountingEngine,
  panel: Float64Array,
  { deviations, threshold }: { readonly deviations: Float64Array; readonly threshold: number },
  out: Float64Array,
): void {
  const n = deviations.length;
  const observations = panel.length / n;
  assert(Number.isInteger(observations), `panel: ${panel.length} values over ${n} assets`);
  assert(out.length === n * n, `out: ${out.length} values for ${n} assets`);
  engine.scope(() => {
    const moves = engine.allocate(panel.length);
    const isStill = engine.allocate(panel.length);
    for (let k = 0; k < panel.length; k++) {
      const bound = threshold * deviations[k % n]!;
      moves[k] = panel[k]! >= bound ? Number(panel[k]! > 0 || bound > 0) : panel[k]! <= -bound ? -1 : 0;
      if (deviations[k % n] === 0) moves[k] = 0;
      isStill[k] = moves[k] === 0 ? 1 : 0;
    }
    const stillProducts = engine.allocate(n * n);
    engine.symmetricRankK(moves, n, out);
    engine.symmetricRankK(isStill, n, stillProducts);
    for (let k = 0; k < out.length; k++) {
      const movingCount = observations - stillProducts[k]!;
      out[k] = movingCount === 0 ? 0 : out[k]! / movingCount;
    }
  });
  for (let i = 0; i < n; i++) out[i * n + i] = 1;
}
