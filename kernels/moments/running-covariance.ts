import { assert } from '../assert.js';
import type { Engine } from '../engines/engine.js';
import { computeDecay } from './sample-covariance.js';

/** Engine operations for running moments. */
type UpdateEngine = Pick<Engine, 'allocate' | 'scope' | 'rankOneUpdate'>;

/** Function called after each observation. The next call overwrites both arrays. */
export type VisitMoments = (observation: number, means: Float64Array, covariance: Float64Array) => void;

/**
 * Computes rolling means and covariances of a panel: each step adds one row to the window and removes one.
 *
 * @param engine   Engine that updates.
 * @param panel    [observations x columns] row-major, finite.
 * @param columns  Number of columns of `panel`, at least 1.
 * @param window   Number of observations of the window, at least 2.
 * @param visit    Receives the moments of each complete window: its last observation, means [columns], covariance
 *                 [columns x columns], ddof 1.
 * @returns        Nothing.
 * @throws         KernelFault on a shape mismatch or a window below 2.
 * @cost           4 products of order columns^2 per observation, whatever the window. Sums are taken about the mean of
 *                 a recent window and recomputed once per window length, so that rounding errors do not accumulate.
 * @source         Chan, Golub & LeVeque (1983), Algorithms for computing the sample variance, The American Statistician
 *                 37(3), 242-247.
 */
export function visitRollingCovariances(
  engine: UpdateEngine,
  panel: Float64Array,
  columns: number,
  window: number,
  visit: VisitMoments,
): void {
  const observations = countRows(panel, columns);
  assert(Number.isInteger(window) && window >= 2, `window: ${window}, at least 2 needed`);
  engine.scope(() => {
    const state = createState(engine, columns);
    for (let last = window - 1; last < observations; last++) {
      if ((last - window + 1) % window === 0) recomputeSums(engine, state, panel, last - window + 1, window);
      else {
        addRow(engine, state, panel, last, 1);
        addRow(engine, state, panel, last - window, -1);
      }
      computeMoments(state, window);
      visit(last, state.means, state.covariance);
    }
  });
}

/**
 * Computes exponentially weighted means and covariances after each observation of a panel.
 *
 * @param engine    Engine that updates.
 * @param panel     [observations x columns] row-major, finite.
 * @param columns   Number of columns of `panel`, at least 1.
 * @param halfLife  Number of observations after which a weight has halved, above 0.
 * @param visit     Receives the moments from the second observation on; the covariance is unbiased for the weights.
 * @returns         Nothing.
 * @throws          KernelFault on a shape mismatch or a half-life that is not positive.
 * @cost            One product of order columns^2 per observation.
 * @source          West (1979), Updating mean and variance estimates, Communications of the ACM 22(9), 532-535, with
 *                  decaying weights.
 */
export function visitExponentialCovariances(
  engine: UpdateEngine,
  panel: Float64Array,
  columns: number,
  halfLife: number,
  visit: VisitMoments,
): void {
  const observations = countRows(panel, columns);
  assert(halfLife > 0, `halfLife: ${halfLife}, more than 0 needed`);
  const decay = computeDecay(halfLife);
  engine.scope(() => {
    const { means, covariance, products, gap } = createState(engine, columns);
    let weight = 0;
    let weightSquare = 0;
    for (let t = 0; t < observations; t++) {
      const decayedWeight = decay * weight;
      weight = decayedWeight + 1;
      weightSquare = decay * decay * weightSquare + 1;
      for (let i = 0; i < columns; i++) {
        gap[i] = panel[t * columns + i]! - means[i]!;
        means[i]! += gap[i]! / weight;
      }
      engine.rankOneUpdate(products, gap, { decay, factor: decayedWeight / weight });
      if (t === 0) continue;
      const scale = 1 / (weight - weightSquare / weight);
      fill(covariance, columns, (position) => products[position]! * scale);
      visit(t, means, covariance);
    }
  });
}

interface State {
  /** Point about which sums are taken, [columns]. */
  readonly origin: Float64Array;
  /** Sums of deviations from the origin, [columns]. */
  readonly sums: Float64Array;
  /** Sums of the products of deviations, upper triangle. */
  readonly products: Float64Array;
  readonly gap: Float64Array;
  readonly means: Float64Array;
  readonly covariance: Float64Array;
}

function createState(engine: UpdateEngine, columns: number): State {
  const allocateVector = (): Float64Array => engine.allocate(columns);
  return {
    origin: allocateVector(),
    sums: allocateVector(),
    gap: allocateVector(),
    means: allocateVector(),
    products: engine.allocate(columns * columns),
    covariance: engine.allocate(columns * columns),
  };
}

/** Recomputes the sums of a whole window about its own mean. */
function recomputeSums(engine: UpdateEngine, state: State, panel: Float64Array, from: number, window: number): void {
  const { origin, sums, products } = state;
  const columns = origin.length;
  origin.fill(0);
  for (let t = from; t < from + window; t++)
    for (let i = 0; i < columns; i++) origin[i]! += panel[t * columns + i]! / window;
  sums.fill(0);
  products.fill(0);
  for (let t = from; t < from + window; t++) addRow(engine, state, panel, t, 1);
}

/** Adds a row (`sign` 1) or removes it (-1). */
function addRow(
  engine: UpdateEngine,
  { origin, sums, products, gap }: State,
  panel: Float64Array,
  t: number,
  sign: 1 | -1,
): void {
  const columns = origin.length;
  for (let i = 0; i < columns; i++) {
    gap[i] = panel[t * columns + i]! - origin[i]!;
    sums[i]! += sign * gap[i]!;
  }
  engine.rankOneUpdate(products, gap, { decay: 1, factor: sign });
}

function computeMoments({ origin, sums, products, means, covariance }: State, window: number): void {
  const columns = origin.length;
  for (let i = 0; i < columns; i++) means[i] = origin[i]! + sums[i]! / window;
  fill(covariance, columns, (position, i, j) => (products[position]! - (sums[i]! * sums[j]!) / window) / (window - 1));
  for (let i = 0; i < columns; i++) covariance[i * (columns + 1)] = Math.max(0, covariance[i * (columns + 1)]!);
}

/** Fills both triangles by a function of the positions in the upper triangle. */
function fill(out: Float64Array, columns: number, value: (entry: number, i: number, j: number) => number): void {
  for (let i = 0; i < columns; i++) {
    for (let j = i; j < columns; j++) out[i * columns + j] = out[j * columns + i] = value(i * columns + j, i, j);
  }
}

function countRows(panel: Float64Array, columns: number): number {
  const rows = panel.length / columns;
  assert(columns >= 1 && Number.isInteger(rows), `panel: ${panel.length} values over ${columns} columns`);
  return rows;
}
