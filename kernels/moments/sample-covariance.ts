import { centreColumns as plainCentreColumns, centreColumns } from '../algebra/columns.js';
import { computeSymmetricRankK } from '../algebra/products.js';
import { assert } from '../assert.js';
import type { Engine } from '../engines/engine.js';

export type CentringEngine = Pick<Engine, 'centreColumns'>;

const DEMEAN_PLAIN_ENGINE: CentringEngine = { centreColumns: plainCentreColumns };

/** Results of demeaning that a covariance needs. */
interface RowMoments {
  /** Row factors v_t, [observations]: S = X'X once every row of X is multiplied by the square root of its factor. */
  readonly rowFactors: Float64Array;
  /**
   * Sum of the squared factors divided by the sum of the factors. It is 1/(T-1) for equal weights. In general, it is
   * the variance factor of a weighted mean.
   */
  readonly dispersion: number;
  /** Variances of the columns, [assets]: the diagonal of S. */
  readonly variances: Float64Array;
}

/**
 * Subtracts the (weighted) mean of each column in place and multiplies the rows so that products become covariances.
 *
 * @param x        [observations x assets] row-major returns, finite; becomes the deviations from the column
 *                 means, times the square roots of the row factors.
 * @param assets   Columns of `x`, at least 1.
 * @param weights  [observations] summing to 1, or undefined for equal weights (factors 1/(observations - 1), ddof 1).
 * @param means    [assets], overwritten with the column means.
 * @param engine   Engine that centres (plain loops when absent).
 * @returns        Factors v_t = w_t / (1 - sum w^2), their dispersion and the variances; the covariance S_ij = sum_t
 *                 v_t x_ti x_tj of the deviations is unbiased.
 * @throws         KernelFault on a shape mismatch or fewer than two observations.
 * @cost           two passes over the panel; no scratch beyond the factors.
 * @source         ISO/GUM reliability weights; equal weights give the textbook ddof 1.
 */
export function demean(
  x: Float64Array,
  assets: number,
  weights: Float64Array | undefined,
  means: Float64Array,
  { centreColumns }: CentringEngine = DEMEAN_PLAIN_ENGINE,
): RowMoments {
  const observations = x.length / assets;
  assert(assets >= 1 && Number.isInteger(observations), `x: ${x.length} values over ${assets} assets`);
  assert(observations >= 2, `observations: ${observations}, at least 2 needed`);
  assert(
    weights === undefined || weights.length === observations,
    `weights: ${weights?.length} for ${observations} observations`,
  );
  assert(means.length === assets, `means: ${means.length} for ${assets} assets`);
  const { rowFactors, dispersion } = computeRowFactors(observations, weights);
  const variances = new Float64Array(assets);
  centreColumns(x, { weights, factors: rowFactors }, means, variances);
  return { rowFactors, dispersion, variances };
}

function computeRowFactors(observations: number, weights: Float64Array | undefined): Omit<RowMoments, 'variances'> {
  const rowFactors = new Float64Array(observations);
  if (weights === undefined) {
    rowFactors.fill(1 / (observations - 1));
    return { rowFactors, dispersion: 1 / (observations - 1) };
  }
  let squares = 0;
  for (let t = 0; t < observations; t++) squares += weights[t]! * weights[t]!;
  let total = 0;
  let totalOfSquares = 0;
  for (let t = 0; t < observations; t++) {
    const factor = weights[t]! / (1 - squares);
    rowFactors[t] = factor;
    total += factor;
    totalOfSquares += factor * factor;
  }
  return { rowFactors, dispersion: totalOfSquares / total };
}

/**
 * Computes exponential weights that halve every `halfLife` observations into the past.
 *
 * @param halfLife  Number of observations after which a weight has halved, above 0; Infinity gives equal weights.
 * @param out       Weights, [observations], overwritten; the last one is the largest, and the sum is 1.
 * @throws          KernelFault if the half-life is not positive.
 * @cost            One multiplication and one division per observation; no scratch.
 * @source          RiskMetrics Technical Document, 4th ed. (1996), section 5.2, with decay 0.5^(1/half-life).
 */
export function fillHalfLifeWeights(halfLife: number, out: Float64Array): void {
  assert(halfLife > 0, `halfLife: ${halfLife}, more than 0 needed`);
  const decay = computeDecay(halfLife);
  let weight = 1;
  let total = 0;
  for (let t = out.length - 1; t >= 0; t--) {
    out[t] = weight;
    total += weight;
    weight *= decay;
  }
  for (let t = 0; t < out.length; t++) out[t]! /= total;
}

/** Computes the ratio of the weight of an observation to the weight of the next one. */
export function computeDecay(halfLife: number): number {
  return computePowerOfHalf(1 / halfLife);
}

/**
 * Computes 0.5^x for x >= 0 by repeated square roots. Every engine gives the same bits, unlike with Math.pow, whose
 * exact result the standard does not define. Whole halvings come from the exponent, and the fraction comes from its
 * binary digits.
 */
function computePowerOfHalf(x: number): number {
  const halvings = Math.floor(x);
  if (halvings > 1074) return 0;
  let result = 1;
  for (let k = 0; k < halvings; k++) result *= 0.5;
  let fraction = x - halvings;
  let root = 0.5;
  while (fraction > 0) {
    root = Math.sqrt(root);
    fraction *= 2;
    if (fraction >= 1) {
      result *= root;
      fraction -= 1;
    }
  }
  return result;
}

export type RankKProduct = Pick<Engine, 'symmetricRankK' | 'centreColumns'>;

const PLAIN_ENGINE: RankKProduct = { symmetricRankK: computeSymmetricRankK, centreColumns };

/**
 * Computes the sample covariance of a panel of returns, ddof 1, or its weighted form.
 *
 * @param x        [observations x assets] row-major returns, finite. Overwritten by the demeaned panel, scaled so that
 *                 X'X is the covariance.
 * @param assets   Columns of `x`, at least 1.
 * @param out      [assets x assets] row-major, overwritten; return^2 per period, exactly symmetric.
 * @param options  `weights`, [observations], summing to 1 (default: equal), and `engine`, which multiplies (default:
 *                 plain loops).
 * @returns        Row factors: row t of the overwritten panel divided by the square root of factor t gives the
 *                 deviations.
 * @throws         KernelFault on a shape mismatch or fewer than two observations.
 * @cost           observations * assets^2 / 2 multiply-adds.
 * @source         Unbiased estimator; weights are reliability weights, S = sum w x x' / (1 - sum w^2).
 */
export function computeSampleCovariance(
  x: Float64Array,
  assets: number,
  out: Float64Array,
  options: { readonly weights?: Float64Array; readonly engine?: RankKProduct } = {},
): RowMoments {
  assert(out.length === assets * assets, `out: ${out.length} values for ${assets} assets`);
  const engine = options.engine ?? PLAIN_ENGINE;
  const demeanedPanel = demean(x, assets, options.weights, new Float64Array(assets), engine);
  engine.symmetricRankK(x, assets, out);
  return demeanedPanel;
}

type UpdateEngine = Pick<Engine, 'allocate' | 'scope' | 'rankOneUpdate'>;

/** Function called after each observation. The next call overwrites both arrays. */
type VisitMoments = (observation: number, means: Float64Array, covariance: Float64Array) => void;

/**
 * Computes rolling means and covariances of a panel: each step adds one row to the window and removes one.
 *
 * @param engine   Engine that updates.
 * @param panel    [observations x columns] row-major, finite.
 * @param columns  Number of columns of `panel`, at least 1.
 * @param window   Number of observations of the window, at least 2.
 * @param visit    Receives the moments of each complete window: its last observation, means [columns], covariance
 *                 [columns x columns], ddof 1.
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
