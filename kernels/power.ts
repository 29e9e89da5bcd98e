import { KernelFault } from './assert.js';

const NATURAL_LOG_LN2_HIGH = 0.6931471803691238;
const NATURAL_LOG_LN2_LOW = 1.9082149292705877e-10;

/** Double and its two words; the position of the upper word depends on the byte order. */
const double = new Float64Array(1);
const logWords = new Int32Array(double.buffer);
double[0] = 1;
const UPPER = logWords[1] === 0 ? 0 : 1;

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
  const high = logWords[UPPER]!;
  const shift = ((high & 0xfffff) + 0x95f64) & 0x100000;
  logWords[UPPER] = (high & 0xfffff) | (shift ^ 0x3ff00000);
  const k = (high >> 20) - 1023 + (shift >> 20);
  const f = double[0]! - 1;
  if (f === 0) return k === 0 ? 0 : k * NATURAL_LOG_LN2_HIGH + k * NATURAL_LOG_LN2_LOW;

  const s = f / (2 + f);
  const z = s * s;
  const w = z * z;
  const evenTerms = w * (0.3999999999940942 + w * (0.22222198432149784 + w * 0.15313837699209373));
  const oddTerms =
    z * (0.6666666666666735 + w * (0.2857142874366239 + w * (0.1818357216161805 + w * 0.14798198605116586)));
  const half = 0.5 * f * f;
  const correction = s * (half + (evenTerms + oddTerms));
  return k === 0
    ? f - (half - correction)
    : k * NATURAL_LOG_LN2_HIGH - (half - (correction + k * NATURAL_LOG_LN2_LOW) - f);
}

/** Numbers around which the logarithm is expanded, with their log2 as high and low part. */
const BASES = [1, 1.5] as const;
const LOG2_HIGH = [0, 5.8496248722076416e-1] as const;
const LOG2_LOW = [0, 1.350039202129749e-8] as const;

/** Coefficients of the series of log((1 + s) / (1 - s)) in s^2. */
const [L1, L2, L3] = [5.99999999999994648725e-1, 4.28571428578550184252e-1, 3.33333329818377432918e-1] as const;
const [L4, L5, L6] = [2.72728123808534006489e-1, 2.30660745775561754067e-1, 2.06975017800338417784e-1] as const;
/** Coefficients of the rational form of exp. */
const [P1, P2, P3] = [1.66666666666666019037e-1, -2.77777777770155933842e-3, 6.61375632143793436117e-5] as const;
const [P4, P5] = [-1.6533902205465251539e-6, 4.13813679705723846039e-8] as const;
const { LN2 } = Math;
const [LN2_HIGH, LN2_LOW] = [6.93147182464599609375e-1, -1.90465429995776804525e-9] as const;
/** 2 / (3 ln 2), as a whole and as high and low part. */
const TWO_THIRDS_LOG2_E = 9.61796693925975554329e-1;
const [C_HIGH, C_LOW] = [9.61796700954437255859e-1, -7.02846165095275826516e-9] as const;

/**
 * Limits beyond which `Math.pow` is called. They apply to larger exponents, to results beyond these powers of two, and
 * to subnormal bases. No caller comes near these limits.
 */
const EXPONENT_MAX = 2 ** 31;
const LOG2_MAX = 1022;
const NORMAL_MIN = 2 ** -1022;

const number = new Float64Array(1);
const words = new Int32Array(number.buffer);
const HIGH = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1 ? 1 : 0;
const LOW = 1 - HIGH;

/** Returns the upper 32-bit word of a double: sign, exponent and 20 bits of the fraction. */
function readHighWord(x: number): number {
  number[0] = x;
  return words[HIGH]!;
}

/** Returns a double with the lower 32 bits cleared. */
function clearLowWord(x: number): number {
  number[0] = x;
  words[LOW] = 0;
  return number[0];
}

function addHighWord(x: number, high: number): number {
  number[0] = x;
  words[HIGH] = high;
  return number[0];
}

/**
 * Computes x to the power of y, bit-identical on every version of Node. (`Math.pow` and `**` changed between V8 12 and
 * 13, except for whole powers of two and squares.) The error is at most two units in the last place.
 * @param x any number. A whole power of a negative number is that of -x with its sign. Zeros, infinities and NaN follow
 * ECMAScript
 * @cost about 100 ns
 * @source method of fdlibm 5.3, e_pow.c (Sun Microsystems, 1993), as in V8 until version 12: log2 of x in two parts,
 * times y in two parts, and two to the power of the product
 */
export function raiseToPower(x: number, y: number): number {
  if (x < 0 && Number.isInteger(y)) return Math.abs(y) % 2 === 1 ? -raiseToPower(-x, y) : raiseToPower(-x, y);
  if (!(x >= NORMAL_MIN && x < Infinity) || !(Math.abs(y) <= EXPONENT_MAX) || x === 1 || y === 0) return Math.pow(x, y);
  if (y === 1) return x;
  if (y === -1) return 1 / x;
  if (y === 2) return x * x;
  if (y === 0.5) return Math.sqrt(x);
  const { t1, t2 } = computeLog2(x);
  const y1 = clearLowWord(y);
  const low = (y - y1) * t1 + y * t2;
  const high = y1 * t1;
  if (!(Math.abs(low + high) < LOG2_MAX)) return Math.pow(x, y);
  return computePowerOfTwo(high, low);
}

/** log2(e) as high and low part. */
const [LOG2_E_HIGH, LOG2_E_LOW] = [1.4426946640014648, 3.768874985636099e-7] as const;

/**
 * Computes e to the power of x, bit-identical on every version of Node, which `Math.exp` does not guarantee. The error
 * is at most two units in the last place.
 * @cost about 50 ns
 */
export function computeExponential(x: number): number {
  if (!(Math.abs(x) < 700)) return Math.exp(x); // Result is zero, infinite or near these limits.
  const upper = clearLowWord(x);
  return computePowerOfTwo(upper * LOG2_E_HIGH, (x - upper) * Math.LOG2E + upper * LOG2_E_LOW);
}

/** 2^54, which scales every subnormal number into the normal range. */
const SCALE = 2 ** 54;

/** Returns the natural logarithm, bit-identical on every version of Node; NaN for a number that is not positive. */
export function computeLogarithm(x: number): number {
  if (!(x > 0)) return NaN;
  if (x === Infinity) return x;
  return x < NORMAL_MIN ? computeNaturalLog(x * SCALE) - 54 * LN2 : computeNaturalLog(x);
}

/** Returns log2 of a positive normal number as the sum of an upper half and a remainder. */
function computeLog2(x: number): { readonly t1: number; readonly t2: number } {
  let high = readHighWord(x);
  let n = (high >> 20) - 1023;
  const fraction = high & 0xfffff;
  high = fraction | 0x3ff00000;
  let k: 0 | 1 = 0;
  if (fraction > 0x3988e) {
    if (fraction < 0xbb67a) k = 1;
    else {
      n++;
      high -= 0x100000;
    }
  }
  const a = addHighWord(x, high);
  const u = a - BASES[k];
  const v = 1 / (a + BASES[k]);
  const s = u * v;
  const sHigh = clearLowWord(s);
  const aHigh = addHighWord(0, ((high >> 1) | 0x20000000) + 0x80000 + (k << 18));
  const aLow = a - (aHigh - BASES[k]);
  const sLow = v * (u - sHigh * aHigh - sHigh * aLow);
  const s2 = s * s;
  const rest = s2 * s2 * (L1 + s2 * (L2 + s2 * (L3 + s2 * (L4 + s2 * (L5 + s2 * L6))))) + sLow * (sHigh + s);
  const squared = sHigh * sHigh;
  const tHigh = clearLowWord(3 + squared + rest);
  const tLow = rest - (tHigh - 3 - squared);
  const p = sHigh * tHigh;
  const q = sLow * tHigh + tLow * s;
  const pHigh = clearLowWord(p + q);
  const pLow = q - (pHigh - p);
  const zHigh = C_HIGH * pHigh;
  const zLow = C_LOW * pHigh + pLow * TWO_THIRDS_LOG2_E + LOG2_LOW[k];
  const t1 = clearLowWord(zHigh + zLow + LOG2_HIGH[k] + n);
  return { t1, t2: zLow - (t1 - n - LOG2_HIGH[k] - zHigh) };
}

/** Returns two to the power of a sum; the result must be in the range of normal numbers. */
function computePowerOfTwo(high: number, low: number): number {
  const word = readHighWord(high + low);
  const size = word & 0x7fffffff;
  let n = 0;
  let remainder = high;
  if (size > 0x3fe00000) {
    const rounded = word + (0x100000 >> ((size >> 20) - 1022));
    const k = ((rounded & 0x7fffffff) >> 20) - 1023;
    remainder -= addHighWord(0, rounded & ~(0xfffff >> k));
    n = ((rounded & 0xfffff) | 0x100000) >> (20 - k);
    if (word < 0) n = -n;
  }
  const t = clearLowWord(low + remainder);
  const u = t * LN2_HIGH;
  const v = (low - (t - remainder)) * LN2 + t * LN2_LOW;
  const z = u + v;
  const w = v - (z - u);
  const t2 = z * z;
  const t1 = z - t2 * (P1 + t2 * (P2 + t2 * (P3 + t2 * (P4 + t2 * P5))));
  const r = (z * t1) / (t1 - 2 - (w + z * w)); // V8 does the same; fdlibm subtracts the last term from the quotient.
  const scaled = 1 - (r - z);
  return addHighWord(scaled, readHighWord(scaled) + (n << 20));
}
