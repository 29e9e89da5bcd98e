/**
 * Complementary pairs of an interior-point method in flat arrays. Slacks `s` and duals `z` are positive and have steps.
 * A pair that does not exist has a zero in `on` and is skipped.
 */
export interface Pairs {
  readonly count: number;
  readonly on: Uint8Array;
  readonly s: Float64Array;
  readonly z: Float64Array;
  readonly ds: Float64Array;
  readonly dz: Float64Array;
  /** Right-hand side of the linearised complementarity: s dz + z ds = target. */
  readonly target: Float64Array;
}

export function createPairs(count: number): Pairs {
  const allocateArray = () => new Float64Array(count);
  return {
    count,
    on: new Uint8Array(count),
    s: allocateArray(),
    z: allocateArray(),
    ds: allocateArray(),
    dz: allocateArray(),
    target: allocateArray(),
  };
}

/** Returns the mean of s z over the existing pairs, zero if there are none. */
export function computeMeanComplementarity({ count, on, s, z }: Pairs): number {
  let total = 0;
  let number = 0;
  for (let k = 0; k < count; k++) {
    if (on[k] === 0) continue;
    total += s[k]! * z[k]!;
    number++;
  }
  return number === 0 ? 0 : total / number;
}

/** Returns the mean of s z after a step of length `length`. */
export function predictComplementarity({ count, on, s, z, ds, dz }: Pairs, length: number): number {
  let total = 0;
  let number = 0;
  for (let k = 0; k < count; k++) {
    if (on[k] === 0) continue;
    total += (s[k]! + length * ds[k]!) * (z[k]! + length * dz[k]!);
    number++;
  }
  return number === 0 ? 0 : total / number;
}

/** Returns the longest step, at most 1, that keeps every pair positive. */
export function findLongestStep({ count, on, s, z, ds, dz }: Pairs): number {
  let length = 1;
  for (let k = 0; k < count; k++) {
    if (on[k] === 0) continue;
    if (ds[k]! < 0 && -s[k]! / ds[k]! < length) length = -s[k]! / ds[k]!;
    if (dz[k]! < 0 && -z[k]! / dz[k]! < length) length = -z[k]! / dz[k]!;
  }
  return length;
}

export function setAffineTarget({ count, s, z, target }: Pairs): void {
  for (let k = 0; k < count; k++) target[k] = -s[k]! * z[k]!;
}

/** Sets the target of the corrector: complementarity `mu`, less the product of the affine steps. */
export function setCentredTarget({ count, s, z, ds, dz, target }: Pairs, mu: number): void {
  for (let k = 0; k < count; k++) target[k] = mu - s[k]! * z[k]! - ds[k]! * dz[k]!;
}

/**
 * Ratio of a product to the target, or of the target to a product. From this ratio on, a product counts as off centre.
 */
const SPREAD_RATIO = 10;

/**
 * Corrects the target for products that are off centre after a step of up to `length`. Adds the distance of each such
 * product from the permitted range. This is Gondzio's correction, which gives another direction with the current
 * factors.
 * @source  Gondzio (1996), Multiple centrality corrections in a primal-dual method for linear programming,
 *          Computational Optimization and Applications 6.
 */
export function setNarrowerTarget({ count, on, s, z, ds, dz, target }: Pairs, length: number, mu: number): void {
  for (let k = 0; k < count; k++) {
    if (on[k] === 0) continue;
    const product = (s[k]! + length * ds[k]!) * (z[k]! + length * dz[k]!);
    if (product < mu / SPREAD_RATIO) target[k]! += mu / SPREAD_RATIO - product;
    else if (product > mu * SPREAD_RATIO) target[k]! += Math.max(mu * SPREAD_RATIO - product, -mu * SPREAD_RATIO);
  }
}
