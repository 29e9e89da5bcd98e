import { KernelFault } from '../assert.js';
import { computeNaturalLog } from '../power.js';

/**
 * Computes a quantile of the standard normal distribution.
 *
 * @param p  Probability in (0, 1).
 * @returns  z with P(Z <= z) = p, to about 1e-16 relative; the same bits on every engine.
 * @throws   KernelFault if p is not inside (0, 1).
 * @cost     15 multiply-adds and a division; a logarithm and a square root in the tails (15 % of uniform input).
 * @source   Wichura (1988), Algorithm AS 241: the percentage points of the normal distribution, Applied Statistics
 *   37(3), PPND16.
 */
export function computeNormalQuantile(p: number): number {
  if (!(p > 0 && p < 1)) throw new KernelFault(`p: ${p}, a probability inside (0, 1) needed`);
  const q = p - 0.5;
  if (Math.abs(q) <= 0.425) return q * computeCentralQuantile(0.180625 - q * q);
  const r = Math.sqrt(-computeNaturalLog(q < 0 ? p : 1 - p));
  const z = r <= 5 ? computeMiddleQuantile(r - 1.6) : computeFarQuantile(r - 5);
  return q < 0 ? -z : z;
}

function computeCentralQuantile(r: number): number {
  return (
    (((((((2509.0809287301227 * r + 33430.57558358813) * r + 67265.7709270087) * r + 45921.95393154987) * r +
      13731.69376550946) *
      r +
      1971.5909503065513) *
      r +
      133.14166789178438) *
      r +
      3.3871328727963665) /
    (((((((5226.495278852546 * r + 28729.085735721943) * r + 39307.89580009271) * r + 21213.794301586597) * r +
      5394.196021424751) *
      r +
      687.1870074920579) *
      r +
      42.31333070160091) *
      r +
      1)
  );
}

function computeMiddleQuantile(r: number): number {
  return (
    (((((((0.0007745450142783414 * r + 0.022723844989269184) * r + 0.2417807251774506) * r + 1.2704582524523684) * r +
      3.6478483247632045) *
      r +
      5.769497221460691) *
      r +
      4.630337846156546) *
      r +
      1.4234371107496835) /
    (((((((1.0507500716444169e-9 * r + 0.0005475938084995345) * r + 0.015198666563616457) * r + 0.14810397642748008) *
      r +
      0.6897673349851) *
      r +
      1.6763848301838038) *
      r +
      2.053191626637759) *
      r +
      1)
  );
}

function computeFarQuantile(r: number): number {
  return (
    (((((((2.0103343992922881e-7 * r + 2.7115555687434876e-5) * r + 0.0012426609473880784) * r + 0.026532189526576124) *
      r +
      0.29656057182850487) *
      r +
      1.7848265399172913) *
      r +
      5.463784911164114) *
      r +
      6.657904643501103) /
    (((((((2.0442631033899397e-15 * r + 1.421511758316446e-7) * r + 1.8463183175100548e-5) * r +
      0.0007868691311456133) *
      r +
      0.014875361290850615) *
      r +
      0.1369298809227358) *
      r +
      0.599832206555888) *
      r +
      1)
  );
}

/**
 * Computes the probability that a standard normal variable is at most z.
 * @param z  Finite number.
 * @returns  P(Z <= z) in (0, 1), with a relative error below 1e-13 for |z| <= 7. To working precision, it is 0 below
 *   -37 and 1 above 8.3.
 * @cost     16 multiply-adds, an exponential and a division.
 * @source   Hart et al. (1968), Computer Approximations, formula 5666, in the form of West (2005), Better
 *   approximations to cumulative normal functions.
 */
export function computeNormalProbability(z: number): number {
  const size = Math.abs(z);
  const tail =
    size > 37
      ? 0
      : Math.exp(-0.5 * size * size) * (size < 7.07106781186547 ? computeRatio(size) : computeMillsFraction(size));
  return z > 0 ? 1 - tail : tail;
}

function computeRatio(x: number): number {
  const upperPart =
    (((((3.52624965998911e-2 * x + 0.700383064443688) * x + 6.37396220353165) * x + 33.912866078383) * x +
      112.079291497871) *
      x +
      221.213596169931) *
      x +
    220.206867912376;
  const tailProbability =
    ((((((8.83883476483184e-2 * x + 1.75566716318264) * x + 16.064177579207) * x + 86.7807322029461) * x +
      296.564248779674) *
      x +
      637.333633378831) *
      x +
      793.826512519948) *
      x +
    440.413735824752;
  return upperPart / tailProbability;
}

/** Returns the continued fraction of Mills' ratio, five levels deep, divided by the square root of 2 pi. */
function computeMillsFraction(x: number): number {
  return 1 / (x + 1 / (x + 2 / (x + 3 / (x + 4 / (x + 0.65))))) / 2.506628274631;
}
