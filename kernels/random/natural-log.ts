import { KernelFault } from '../assert.js';

const LN2_HIGH = 0.6931471803691238;
const LN2_LOW = 1.9082149292705877e-10;

/** Double and its two words; the position of the upper word depends on the byte order. */
const double = new Float64Array(1);
const words = new Int32Array(double.buffer);
double[0] = 1;
const UPPER = words[1] === 0 ? 0 : 1;

/**
 * Computes the natural logarithm with basic operations only. Unlike `Math.log`, its results are bit-identical on every
 * JavaScript engine by specification.
 *
 * @param x  Positive, finite, normal number.
 * @returns  ln x, with an error below one unit in the last place.
 * @throws   KernelFault if x is not a positive normal number.
 * @cost     About 12 multiply-adds and a division.
 * @source   Sun Microsystems (1993), fdlibm e_log.c.
 */
export function computeNaturalLog(x: number): number {
  if (!(x >= 2.2250738585072014e-308 && x < Infinity))
    throw new KernelFault(`x: ${x}, a positive normal number needed`);
  double[0] = x;
  const high = words[UPPER]!;
  const shift = ((high & 0xfffff) + 0x95f64) & 0x100000;
  words[UPPER] = (high & 0xfffff) | (shift ^ 0x3ff00000);
  const k = (high >> 20) - 1023 + (shift >> 20);
  const f = double[0]! - 1;
  if (f === 0) return k === 0 ? 0 : k * LN2_HIGH + k * LN2_LOW;

  const s = f / (2 + f);
  const z = s * s;
  const w = z * z;
  const evenTerms = w * (0.3999999999940942 + w * (0.22222198432149784 + w * 0.15313837699209373));
  const oddTerms =
    z * (0.6666666666666735 + w * (0.2857142874366239 + w * (0.1818357216161805 + w * 0.14798198605116586)));
  const half = 0.5 * f * f;
  const correction = s * (half + (evenTerms + oddTerms));
  return k === 0 ? f - (half - correction) : k * LN2_HIGH - (half - (correction + k * LN2_LOW) - f);
}
