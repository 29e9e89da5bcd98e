import { assert } from '../assert.js';

/**
 * Multiplies row t of a panel by the square root of its factor, in place: X'X then weighs row t by the factor.
 *
 * @param x        [rows x columns] row-major.
 * @param columns  Columns of `x`.
 * @param factors  [rows], not negative.
 * @returns        Nothing; `x` is scaled.
 * @throws         KernelFault on a shape mismatch.
 * @cost           One pass over the panel.
 * @source         Definition.
 */
export function scaleRows(x: Float64Array, columns: number, factors: Float64Array): void {
  assert(x.length === columns * factors.length, `x: ${x.length} values for ${factors.length} x ${columns}`);
  for (let t = 0, at = 0; t < factors.length; t++) {
    const scale = Math.sqrt(factors[t]!);
    for (const end = at + columns; at < end; at++) x[at]! *= scale;
  }
}
