import { assert } from '../assert.js';

/** Prices and the rebalances of one portfolio. */
export interface NavPathInput {
  /** [sessions x assets] row-major, finite and positive wherever a weight is not 0; finite elsewhere. */
  readonly prices: Float64Array;
  readonly assets: number;
  /** Rows at whose close the portfolio is rebalanced, ascending, the first 0. */
  readonly rebalances: Int32Array;
  /** [rebalances x assets] row-major fractions; the remainder to 1 is held in cash. */
  readonly weights: Float64Array;
}

/** Tolerance per security within which a sum of weights counts as 1. */
const ROUNDING = 1e-14;

/**
 * Value of a portfolio whose units are fixed between rebalances, so that its weights drift with prices. No costs.
 *
 * @param input  Prices, rebalance rows and target weights.
 * @param out    [sessions], overwritten: value at each close, 1 at the first.
 * @returns      Nothing; the path is in `out`. The value at a rebalance is that of the old units.
 * @throws       KernelFault on a shape mismatch or rebalances that do not ascend from row 0.
 * @cost         sessions * assets multiply-adds, one pass over the prices: bound by memory.
 * @source       Index recursion with weights held after each close: I[t] = I[t-1] sum_i w_i p_i[t] / p_i[t-1].
 */
export function navPath(input: NavPathInput, out: Float64Array): void {
  assertNavPath(input, out);
  const { prices, assets, rebalances, weights } = input;
  const units = new Float64Array(assets);
  out[0] = 1;
  for (let r = 0; r < rebalances.length; r++) {
    const start = rebalances[r]!;
    const end = r + 1 < rebalances.length ? rebalances[r + 1]! : out.length - 1;
    const cash = buy(
      weights.subarray(r * assets, (r + 1) * assets),
      prices.subarray(start * assets, (start + 1) * assets),
      out[start]!,
      units,
    );
    for (let t = start + 1; t <= end; t++) out[t] = valueOf(prices, t * assets, units) + cash;
  }
}

/** Checks the arguments of every NAV path. */
export function assertNavPath({ prices, assets, rebalances, weights }: NavPathInput, out: Float64Array): void {
  assert(
    assets >= 1 && prices.length === out.length * assets,
    `prices: ${prices.length} values for ${out.length} x ${assets}`,
  );
  assert(
    weights.length === rebalances.length * assets,
    `weights: ${weights.length} values for ${rebalances.length} x ${assets}`,
  );
  assert(rebalances[0] === 0, `rebalances: the first is row ${rebalances[0]}, row 0 needed`);
  for (let r = 1; r < rebalances.length; r++) {
    assert(
      rebalances[r]! > rebalances[r - 1]! && rebalances[r]! < out.length,
      `rebalances: row ${rebalances[r]} after ${rebalances[r - 1]} of ${out.length}`,
    );
  }
}

/** Computes units for the weights at given prices; returns the money that remains in cash. */
function buy(weights: Float64Array, prices: Float64Array, value: number, units: Float64Array): number {
  let invested = 0;
  for (let i = 0; i < weights.length; i++) {
    const weight = weights[i]!;
    invested += weight;
    units[i] = weight === 0 ? 0 : (weight * value) / prices[i]!;
  }
  return Math.abs(1 - invested) <= ROUNDING * weights.length ? 0 : value * (1 - invested);
}

function valueOf(prices: Float64Array, row: number, units: Float64Array): number {
  let total = 0;
  for (let i = 0; i < units.length; i++) total += units[i]! * prices[row + i]!;
  return total;
}
