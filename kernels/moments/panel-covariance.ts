import type { EigenvalueRange } from '../algebra/symmetric-eigen.js';
import { assert } from '../assert.js';
import type { Engine } from '../engines/engine.js';
import { computeTridiagonalEigenpairs } from '../engines/extreme-eigenvalues.js';
import { createCounterRandom } from '../random/counter-random.js';
import { computePairwiseSum } from '../sums/sums.js';
import type { LowRankCovariance } from './low-rank-covariance.js';
import { sumCorrelations } from './shrinkage.js';

/** Number of columns that are multiplied in one block: 10 MB with 1,250 observations. */
const BLOCK_COLUMNS = 1024;

/** Covariance defined by a panel: keep X'X + common s s' + diag(addedVariances). */
export interface PanelCovariance {
  /** X, [rows x assets] row-major. */
  readonly panel: Float64Array;
  readonly assets: number;
  readonly keep: number;
  readonly common: number;
  /** s, [assets]. */
  readonly scale: Float64Array;
  /** Diagonal term, [assets]. */
  readonly addedVariances: Float64Array;
}

export function createPanelCovariance({ panel, assets, intensity, target, scale }: LowRankCovariance): PanelCovariance {
  const targetScale = scale * intensity;
  return {
    panel,
    assets,
    keep: scale * (1 - intensity),
    common: targetScale * target.common,
    scale: target.scale,
    addedVariances: target.addedVariances.map((value) => targetScale * value),
  };
}

/** Returns the number of entries in rows [from, to) of an upper triangle. */
export function countTriangleEntries(assets: number, from: number, to: number): number {
  return (to - from) * assets - (to * (to - 1) - from * (from - 1)) / 2;
}

/**
 * Computes rows of the upper triangle of a covariance.
 *
 * @param engine      Engine that multiplies.
 * @param covariance  Covariance defined by a panel.
 * @param from        First row.
 * @param to          One past the last row.
 * @param out         Entries of the rows, overwritten: each row from its diagonal on, row after row.
 * @throws            KernelFault on a shape mismatch.
 * @cost              One multiply-add per row of the panel and entry; scratch for the columns of the requested rows and
 *                    for 1,024 further columns.
 * @source            Definition. Each entry is summed over the rows of the panel in ascending order.
 */
export function fillCovarianceRows(
  engine: Pick<Engine, 'gemm' | 'room' | 'scope'>,
  covariance: PanelCovariance,
  from: number,
  to: number,
  out: Float64Array,
): void {
  const { panel, assets } = covariance;
  const inner = panel.length / assets;
  assert(Number.isInteger(inner), `panel: ${panel.length} values over ${assets} assets`);
  assert(from >= 0 && from <= to && to <= assets, `rows: ${from} to ${to} of ${assets}`);
  const entries = countTriangleEntries(assets, from, to);
  assert(out.length === entries, `out: ${out.length} values for ${entries} entries`);
  const rows = to - from;
  if (rows === 0) return;
  engine.scope(() => {
    const leftColumns = copyColumns(panel, assets, from, to, engine.room(inner * rows));
    for (let first = from; first < assets; first += BLOCK_COLUMNS) {
      const end = Math.min(assets, first + BLOCK_COLUMNS);
      engine.scope(() => {
        const columns = end - first;
        const right = copyColumns(panel, assets, first, end, engine.room(inner * columns));
        const products = engine.room(rows * columns);
        engine.gemm({ rows, inner, columns, transposeA: true }, leftColumns, right, products);
        placeEntries(covariance, { from, to, first, end }, products, out);
      });
    }
  });
}

/** Copies columns [from, to) of a panel to `out` and returns it. */
function copyColumns(panel: Float64Array, width: number, from: number, to: number, out: Float64Array): Float64Array {
  for (let position = 0, row = 0; row < panel.length; row += width, position += to - from)
    out.set(panel.subarray(row + from, row + to), position);
  return out;
}

interface Block {
  readonly from: number;
  readonly to: number;
  readonly first: number;
  readonly end: number;
}

function placeEntries(
  { assets, keep, common, scale, addedVariances }: PanelCovariance,
  { from, to, first, end }: Block,
  products: Float64Array,
  out: Float64Array,
): void {
  for (let i = from; i < Math.min(to, end); i++) {
    const position = countTriangleEntries(assets, from, i) - i;
    const product = (i - from) * (end - first) - first;
    const rowScale = common * scale[i]!;
    if (i >= first) out[position + i] = keep * products[product + i]! + rowScale * scale[i]! + addedVariances[i]!;
    for (let j = Math.max(first, i + 1); j < end; j++)
      out[position + j] = keep * products[product + j]! + rowScale * scale[j]!;
  }
}

/**
 * Returns standard deviations: square roots of the diagonal of a covariance.
 * @param squares  sums of squares of the panel's columns, [assets]
 */
export function computeDeviations(
  { keep, common, scale, addedVariances }: PanelCovariance,
  squares: Float64Array,
): Float64Array {
  return squares.map((square, i) =>
    Math.sqrt(Math.max(0, keep * square + common * scale[i]! * scale[i]! + addedVariances[i]!)),
  );
}

/**
 * Sums the correlations of each row of an upper triangle.
 *
 * @param rows        Rows [from, from + out.length) as written by `fillCovarianceRows`.
 * @param from        First row.
 * @param deviations  Square roots of the diagonal, [assets].
 * @param out         Overwritten with the sum of each row right of the diagonal, [rows].
 * @throws            KernelFault on a shape mismatch.
 * @cost              One division per entry.
 * @source            Definition; see `computeAverageCorrelation`.
 */
export function fillCorrelationSums(
  rows: Float64Array,
  from: number,
  deviations: Float64Array,
  out: Float64Array,
): void {
  const assets = deviations.length;
  const entries = countTriangleEntries(assets, from, from + out.length);
  assert(rows.length === entries, `rows: ${rows.length} values for ${entries} entries`);
  for (let i = 0, position = 0; i < out.length; position += assets - from - i, i++)
    out[i] = sumCorrelations(rows.subarray(position, position + assets - from - i), from + i, deviations);
}

/**
 * Returns the mean off-diagonal correlation from the correlation sums of all rows, bit-identical to
 * `computeAverageCorrelation`.
 */
export function averageCorrelationSums(sums: Float64Array): number {
  const assets = sums.length;
  return assets === 1 ? 0 : computePairwiseSum(sums) / ((assets * (assets - 1)) / 2);
}

/** Maximum number of Lanczos steps. */
const STEPS_MAX = 1_000;

/** Number of steps between two convergence tests. */
const STEPS_PER_TEST = 25;

/** Maximum residual of both eigenpairs, relative to the largest eigenvalue, of a converged solution. */
const RESIDUAL_MAX = 1e-12;

/**
 * Length of the next Lanczos vector, relative to the largest entry of the tridiagonal matrix. A smaller length is a
 * rounding error, and no further step is possible.
 */
const EXHAUSTED_RATIO = 1e-13;

/** Seed of the start vector. */
const SEED = 20_040_110;

/**
 * Computes the smallest and the largest eigenvalue of a covariance by Lanczos steps with full reorthogonalisation. The
 * steps need only products with the panel.
 * @param engine      Engine that multiplies.
 * @param covariance  Covariance defined by a panel.
 * @returns           Both eigenvalues, with an error below 1e-12 of the largest one. If 1,000 steps do not separate the
 *                    smallest eigenvalues of the panel, the smallest may be too large.
 * @throws            KernelFault on a shape mismatch; Error if the panel is not finite.
 * @cost              Two passes over the panel per step, with 150 to 750 steps for 2,000 to 6,000 securities; scratch
 *                    for the panel and for one vector of the securities per step.
 * @source            Golub & Van Loan (2013), Matrix Computations, 4th ed., sections 10.1 and 10.3.
 */
export function findPanelEigenvalues(engine: Engine, covariance: PanelCovariance): EigenvalueRange {
  const { panel, assets: n } = covariance;
  assert(panel.length % n === 0, `panel: ${panel.length} values over ${n} assets`);
  const steps = Math.min(n, STEPS_MAX);
  return engine.scope(() => {
    const x = engine.room(panel.length);
    x.set(panel);
    const vectors = engine.room(steps * n);
    const [w, projected] = [engine.room(n), engine.room(panel.length / n)];
    const [along, removed] = [engine.room(steps), engine.room(n)];
    const [diagonal, off] = [new Float64Array(steps), new Float64Array(steps)];
    let size = 0;
    fillStartVector(vectors.subarray(0, n));
    for (let step = 0; ; step++) {
      const v = vectors.subarray(step * n, (step + 1) * n);
      multiply(engine, { ...covariance, panel: x }, v, w, projected);
      diagonal[step] = computeDotProduct(w, v);
      const earlierVectors = vectors.subarray(0, (step + 1) * n);
      for (let pass = 0; pass < 2; pass++) {
        engine.gemv(earlierVectors, w, along.subarray(0, step + 1));
        engine.gemvTransposed(earlierVectors, along.subarray(0, step + 1), removed);
        for (let i = 0; i < n; i++) w[i]! -= removed[i]!;
      }
      const length = Math.sqrt(computeDotProduct(w, w));
      size = Math.max(size, diagonal[step]!);
      const isLast = step === steps - 1 || !(length > EXHAUSTED_RATIO * size);
      if (isLast || (step + 1) % STEPS_PER_TEST === 0) {
        const { smallest, largest, ends } = findTridiagonalRange(engine, diagonal.subarray(0, step + 1), off);
        if (isLast || length * ends < RESIDUAL_MAX * largest) return { smallest, largest };
      }
      off[step] = length;
      size = Math.max(size, length);
      const next = vectors.subarray((step + 1) * n, (step + 2) * n);
      for (let i = 0; i < n; i++) next[i] = w[i]! / length;
    }
  });
}

/** Writes a seeded random unit vector, equal for all covariances. */
function fillStartVector(out: Float64Array): void {
  const random = createCounterRandom({ seed: SEED, stream: 0 });
  for (let i = 0; i < out.length; i++) out[i] = random.normal();
  const length = Math.sqrt(computeDotProduct(out, out));
  for (let i = 0; i < out.length; i++) out[i]! /= length;
}

/** Multiplies a covariance by a vector. @param projected  scratch, [rows] */
function multiply(
  engine: Pick<Engine, 'gemv' | 'gemvTransposed'>,
  { panel, keep, common, scale, addedVariances }: PanelCovariance,
  v: Float64Array,
  out: Float64Array,
  projected: Float64Array,
): void {
  engine.gemv(panel, v, projected);
  engine.gemvTransposed(panel, projected, out);
  const commonPart = common * computeDotProduct(scale, v);
  for (let i = 0; i < v.length; i++) out[i] = keep * out[i]! + commonPart * scale[i]! + addedVariances[i]! * v[i]!;
}

function computeDotProduct(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!;
  return sum;
}

/**
 * Returns the extreme eigenvalues of a tridiagonal matrix. Also returns the larger magnitude of the last entries of
 * their eigenvectors.
 */
function findTridiagonalRange(
  engine: Engine,
  diagonal: Float64Array,
  off: Float64Array,
): EigenvalueRange & { readonly ends: number } {
  const m = diagonal.length;
  const eigenpairs = computeTridiagonalEigenpairs(engine, diagonal, off);
  if (eigenpairs === undefined) throw new Error('the panel has entries that are not finite');
  const { values, vectors } = eigenpairs;
  const largestEnd = Math.max(Math.abs(vectors[m - 1]!), Math.abs(vectors[m * m - 1]!));
  return { smallest: values[0]!, largest: values[m - 1]!, ends: largestEnd };
}
