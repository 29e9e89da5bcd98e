import { assert } from '../assert.js';

/**
 * Squares every entry of a matrix.
 *
 * @param x    Matrix of any shape.
 * @param out  Same length as `x`, overwritten; may be `x` itself.
 * @returns    Nothing; the squares are in `out`.
 * @throws     KernelFault on a shape mismatch.
 * @cost       One pass, bound by memory.
 * @source     Definition (the Hadamard square).
 */
export function square(x: Float64Array, out: Float64Array): void {
  assert(out.length === x.length, `out: ${out.length} values for ${x.length}`);
  for (let k = 0; k < x.length; k++) out[k] = x[k]! * x[k]!;
}
