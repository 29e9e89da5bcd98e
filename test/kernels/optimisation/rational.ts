import type { Program } from '#kernels/optimisation/program/program.js';

/** Exponent of the unit 2^-1074, without its sign. Every double is a multiple of the unit. */
const EXPONENT = 1074n;

const bits = new DataView(new ArrayBuffer(8));

/** Returns a finite double as a multiple of 2^-1074. */
function convertExactly(value: number): bigint {
  bits.setFloat64(0, value);
  const word = bits.getBigUint64(0);
  const power = (word >> 52n) & 0x7ffn;
  const fraction = word & 0xfffffffffffffn;
  const size = power === 0n ? fraction : (fraction | 0x10000000000000n) << (power - 1n);
  return word >> 63n === 1n ? -size : size;
}

/** Returns the sum of values[i] * getFactor(i) as a multiple of 2^-2148. */
function sumExactProducts(values: Float64Array, getFactor: (i: number) => number): bigint {
  let total = 0n;
  for (let i = 0; i < values.length; i++) {
    const [value, factor] = [values[i]!, getFactor(i)];
    if (value !== 0 && factor !== 0) total += convertExactly(value) * convertExactly(factor);
  }
  return total;
}

/** Converts a number of units to the nearest double. The unit is 2^-(1074 k). */
function roundUnits(units: bigint, k: bigint): number {
  const size = units < 0n ? -units : units;
  const length = BigInt(size.toString(2).length);
  const shift = length > 64n ? length - 64n : 0n;
  const value = Number(size >> shift) * 2 ** Number(shift - EXPONENT * k + 1000n) * 2 ** -1000;
  return units < 0n ? -value : value;
}

const createMagnitude = (value: bigint): bigint => (value < 0n ? -value : value);

/** Distance of a point and its multipliers from an optimum, as benchmarks of solvers define it. */
export interface RationalResiduals {
  /** Largest violation of a bound or row. */
  readonly primal: number;
  /** Largest entry of the gradient of the Lagrangian. If a bound is infinite, the whole of its multiplier counts. */
  readonly dual: number;
  /** Absolute value of x'Px + linear'x plus the products of multipliers and bounds. */
  readonly gap: number;
}

/**
 * Computes residuals in exact arithmetic. The programme must have a dense metric and centre 0, and neither kinks, norms
 * nor ridge.
 */
export function computeRationalResiduals(
  { n, metric, linear, lower, upper, rows }: Program,
  x: Float64Array,
  rowMultipliers: Float64Array,
  boundMultipliers: Float64Array,
): RationalResiduals {
  const ONE = 1n << EXPONENT;
  const matrix = metric?.form === 'dense' ? metric.matrix : new Float64Array(n * n);
  const clampToBounds = (z: number, least: number, most: number) =>
    z === 0 || Number.isFinite(z > 0 ? most : least) ? z : 0;
  const y = rowMultipliers.map((value, r) => clampToBounds(value, rows.lower[r]!, rows.upper[r]!));
  const z = boundMultipliers.map((value, i) => clampToBounds(value, lower[i]!, upper[i]!));
  const readMultiplierTerm = (value: number, least: number, most: number) =>
    value === 0 ? 0n : convertExactly(value) * convertExactly(value > 0 ? most : least) * ONE;
  let primal = 0n;
  const addPrimalResidual = (value: bigint, least: number, most: number) => {
    if (Number.isFinite(least)) primal = selectLarger(primal, convertExactly(least) * ONE - value);
    if (Number.isFinite(most)) primal = selectLarger(primal, value - convertExactly(most) * ONE);
  };
  let dual = 0n;
  let gap = 0n; // in units of 2^-3222, as the quadratic part requires
  for (let i = 0; i < n; i++) {
    addPrimalResidual(convertExactly(x[i]!) * ONE, lower[i]!, upper[i]!);
    const curvature = sumExactProducts(x, (j) => matrix[i * n + j]!);
    const forces = sumExactProducts(y, (r) => rows.coefficients[r * n + i]!);
    dual = selectLarger(
      dual,
      createMagnitude(curvature + forces + (convertExactly(linear[i]!) + convertExactly(z[i]!)) * ONE),
    );
    gap += convertExactly(x[i]!) * (curvature + convertExactly(linear[i]!) * ONE);
    gap += readMultiplierTerm(z[i]!, lower[i]!, upper[i]!);
  }
  for (let r = 0; r < rows.count; r++) {
    addPrimalResidual(
      sumExactProducts(x, (i) => rows.coefficients[r * n + i]!),
      rows.lower[r]!,
      rows.upper[r]!,
    );
    gap += readMultiplierTerm(y[r]!, rows.lower[r]!, rows.upper[r]!);
  }
  return { primal: roundUnits(primal, 2n), dual: roundUnits(dual, 2n), gap: roundUnits(createMagnitude(gap), 3n) };
}

function selectLarger(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
