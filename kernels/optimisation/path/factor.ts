import { type DenseAlgebra, solveBackward, solveForward } from '../factors/algebra.js';
import type { Metric } from '../program/metric.js';
import type { Program } from '../program/program.js';

/**
 * Cholesky factor of the curvature on a list of free variables. The list changes by one variable at a time. The array
 * of rows has spare space, so an added variable appends a row without copying.
 */
export interface PathFactor {
  /** Free variables in the order of the factor; only the first `count()` entries are valid. */
  readonly order: Int32Array;
  count(): number;
  /** Returns the position of a variable in the order; -1 if it is not free. */
  placeOf(name: number): number;
  /** Factors the curvature on some securities; returns false if it is not positive definite. @cost f^3 / 6 */
  begin(algebra: DenseAlgebra, names: Int32Array): boolean;
  /** Appends a security; returns false if the curvature is not positive definite to working precision. @cost f^2 / 2 */
  add(name: number): boolean;
  /** Removes a security. @cost (f - position)^2 */
  remove(name: number): void;
  /** Computes b := L^-1 b, [f]. @cost f^2 / 2 */
  forward(b: Float64Array): void;
  /** Computes b := L'^-1 b, [f]. @cost f^2 / 2 */
  backward(b: Float64Array): void;
}

/** Cache of factors of a program's curvature on some free variables. */
export interface PathFactors {
  /**
   * Returns the factor of the curvature on some free variables.
   * @param free  Indices of the free variables, ascending.
   * @returns     Factor, valid until the next call; undefined if the curvature is not positive definite on the
   *              variables.
   * @cost        f^3 / 6, or f^2 per added or removed variable since the last call with the same curvature.
   */
  factorOf(program: Program, free: Int32Array): PathFactor | undefined;
}

/**
 * Maximum fraction of free variables that have changed since the last call. Up to this fraction, the factor is updated;
 * above it, the factor is recomputed.
 */
const CHANGED_SHARE_MAX = 0.25;

export function createPathFactors(algebra: DenseAlgebra): PathFactors {
  let last: { readonly program: Program; readonly factor: PathFactor } | undefined;
  return {
    factorOf(program, free) {
      if (last !== undefined && isSameCurvature(last.program, program) && updateFactor(last.factor, free))
        return last.factor;
      const factor = createPathFactor(program);
      last = factor.begin(algebra, free) ? { program, factor } : undefined;
      return last?.factor;
    },
  };
}

function isSameCurvature(a: Program, b: Program): boolean {
  return a.n === b.n && a.metric === b.metric && a.curvature === b.curvature && a.ridge === b.ridge;
}

/**
 * Removes securities that are no longer free and adds newly free ones. Returns false if too many have changed, or the
 * curvature is not positive definite on them.
 */
function updateFactor(factor: PathFactor, free: Int32Array): boolean {
  const freeSet = new Set(free);
  const removedNames = Array.from(factor.order.subarray(0, factor.count())).filter((name) => !freeSet.has(name));
  const addedNames = free.filter((name) => factor.placeOf(name) < 0);
  if (removedNames.length + addedNames.length > CHANGED_SHARE_MAX * Math.max(free.length, 16)) return false;
  for (const name of removedNames) factor.remove(name);
  return addedNames.every((name) => factor.add(name));
}

/** Minimum ratio of a pivot to its diagonal entry. A smaller pivot is a rounding error. */
const PIVOT_MIN = 1e-13;

/**
 * Creates an empty factor.
 * @source Golub & Van Loan (2013), Matrix Computations, section 6.5.4: removal of rows from a Cholesky factor by Givens
 * rotations.
 */
function createPathFactor({
  n,
  metric,
  curvature,
  ridge,
}: Pick<Program, 'n' | 'metric' | 'curvature' | 'ridge'>): PathFactor {
  const order = new Int32Array(n);
  const positions = new Int32Array(n).fill(-1);
  const writeEntries = createEntries(metric, curvature, ridge);
  let f = 0;
  let stride = Math.min(n, 64);
  let l = new Float64Array(stride * stride);

  function grow(): void {
    const newStride = Math.min(n, 2 * stride);
    const next = new Float64Array(newStride * newStride);
    for (let p = 0; p < f; p++) for (let q = 0; q <= p; q++) next[p * newStride + q] = l[p * stride + q]!;
    l = next;
    stride = newStride;
  }

  function startFactor(algebra: DenseAlgebra, names: Int32Array): boolean {
    const count = names.length;
    stride = Math.min(n, Math.max(64, Math.ceil(1.25 * count)));
    l = new Float64Array(stride * stride);
    const matrix = new Float64Array(count * count);
    order.set(names);
    for (let p = 0; p < count; p++) matrix[p * count + p] = writeEntries(names[p]!, order, p, matrix, p * count);
    if (algebra.cholesky(matrix, count) < count) return false;
    for (let p = 0; p < count; p++) {
      positions[names[p]!] = p;
      for (let q = 0; q <= p; q++) l[p * stride + q] = matrix[p * count + q]!;
    }
    f = count;
    return true;
  }

  function add(name: number): boolean {
    if (f === stride) grow();
    const row = f * stride;
    const diagonal = writeEntries(name, order, f, l, row);
    let pivot = diagonal;
    for (let p = 0; p < f; p++) {
      const otherRow = p * stride;
      let total = l[row + p]!;
      for (let q = 0; q < p; q++) total -= l[row + q]! * l[otherRow + q]!;
      total /= l[otherRow + p]!;
      l[row + p] = total;
      pivot -= total * total;
    }
    if (!(pivot > PIVOT_MIN * diagonal)) return false;
    l[row + f] = Math.sqrt(pivot);
    order[f] = name;
    positions[name] = f++;
    return true;
  }

  function remove(name: number): void {
    const place = positions[name]!;
    positions[name] = -1;
    for (let p = place; p < f - 1; p++) {
      const offset = (p + 1) * stride;
      const a = l[offset + p]!;
      const b = l[offset + p + 1]!;
      const length = Math.hypot(a, b);
      const c = a / length;
      const s = b / length;
      for (let q = p + 1; q < f; q++) {
        const position = q * stride + p;
        const first = l[position]!;
        const second = l[position + 1]!;
        l[position] = c * first + s * second;
        l[position + 1] = c * second - s * first;
      }
      for (let q = 0; q <= p; q++) l[p * stride + q] = l[offset + q]!;
      order[p] = order[p + 1]!;
      positions[order[p]!] = p;
    }
    f--;
  }

  return {
    order,
    count: () => f,
    placeOf: (name) => positions[name]!,
    begin: startFactor,
    add,
    remove,
    forward: (b) => solveForward(l, b, { n: f, stride }),
    backward: (b) => solveBackward(l, b, { n: f, stride }),
  };
}

/**
 * Function that writes the entries of the curvature P + ridge I between a variable and some others. It returns the
 * diagonal entry of the variable.
 */
type Entries = (name: number, others: Int32Array, count: number, out: Float64Array, offset: number) => number;

function createEntries(metric: Metric | null, curvature: number, ridge: number): Entries {
  if (metric === null || curvature === 0) {
    return (_name, _others, count, out, position) => {
      out.fill(0, position, position + count);
      return ridge;
    };
  }
  if (metric.form === 'dense') {
    const { matrix, n } = metric;
    return (name, others, count, out, position) => {
      for (let p = 0; p < count; p++) out[position + p] = curvature * matrix[name * n + others[p]!]!;
      return curvature * matrix[name * n + name]! + ridge;
    };
  }
  const { loadings, specific, factors: k } = metric;
  const multiplyLoadings = (i: number, j: number) => {
    let total = 0;
    for (let e = 0; e < k; e++) total += loadings[i * k + e]! * loadings[j * k + e]!;
    return total;
  };
  return (name, others, count, out, position) => {
    for (let p = 0; p < count; p++) out[position + p] = curvature * multiplyLoadings(name, others[p]!);
    return curvature * (multiplyLoadings(name, name) + specific[name]!) + ridge;
  };
}
