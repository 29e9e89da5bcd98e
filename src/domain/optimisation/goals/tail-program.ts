import {
  createFactorMetric,
  createMetricMatrix,
  createDenseMetric,
  type Metric,
} from '#kernels/optimisation/program/metric.js';
import type { Norm, Program } from '#kernels/optimisation/program/program.js';
import { countTailScenarios, type TailGoal } from '../../objectives/tail.js';

/** Scenarios and peaks in a tail program. All other scenarios are assumed not to be among the worst. */
export interface TailSet {
  /** Indices of the scenarios, ascending. */
  readonly scenarios: Int32Array;
  /** Indices of the scenarios that may be peaks of a drawdown, ascending; empty for losses. */
  readonly peaks: Int32Array;
}

/** Relative price of a peak variable that no scenario needs. It makes the variable as low as possible. */
const NEGLIGIBLE = 1e-10;

/**
 * Program in three kinds of variables: the weights, the tail level and, for drawdowns, the running maxima at the peaks.
 */
export interface TailProgram {
  readonly program: Program;
  /** Number of rows before the tail rows. */
  readonly rowsBefore: number;
}

/**
 * Creates the linear program that minimises a tail average. The average equals, at the best level, the level plus the
 * sum of the excesses over it divided by the size. Additional variables are the level and, for drawdowns, the running
 * maximum at each peak less the value there.
 * @param rows remaining objective, and the rows.
 * @param unit unit of the additional variables: the size of a loss.
 * @param price cost of a unit of the average, relative to the remaining objective.
 * @cost a copy of the returns of the set.
 * @source Rockafellar & Uryasev (2000), Optimization of conditional value-at-risk, Journal of Risk 2(3); for drawdowns
 * Chekhlov, Uryasev & Zabarankin (2005), Drawdown measure in portfolio optimization, International Journal of
 * Theoretical and Applied Finance 8(1).
 */
export function createTailProgram(
  goal: TailGoal,
  rows: Program,
  { scenarios, peaks }: TailSet,
  unit: number,
  price = 1,
): TailProgram {
  const { n } = rows;
  const width = n + 1 + peaks.length;
  const count = rows.rows.count + scenarios.length + peaks.length;
  const penalty = new Float64Array(count).fill(Infinity);
  penalty.set(rows.rows.penalty);
  penalty.fill(price / Math.max(countTailScenarios(goal), 1), rows.rows.count, rows.rows.count + scenarios.length);
  const linear = extendValues(rows.linear, width);
  linear[n] = price * unit;
  linear.fill(NEGLIGIBLE * price * unit, n + 1);
  return {
    rowsBefore: rows.rows.count,
    program: {
      ...rows,
      n: width,
      metric: rows.curvature === 0 ? null : widenMetric(rows.metric!, width), // a curved program has a metric
      centre: extendValues(rows.centre, width),
      linear,
      lower: addLevel(extendValues(rows.lower, width), n),
      upper: extendValues(rows.upper, width, Infinity),
      rows: {
        count,
        coefficients: createCoefficients(goal, rows, { scenarios, peaks }, unit),
        lower: extendValues(rows.rows.lower, count, -Infinity),
        upper: extendValues(rows.rows.upper, count),
        penalty,
      },
      kinks: rows.kinks.map((kink) => ({
        ...kink,
        at: extendValues(kink.at, width),
        left: extendValues(kink.left, width),
        right: extendValues(kink.right, width),
      })),
      norms: rows.norms.map((norm) => widenNorm(norm, rows, width)),
    },
  };
}

/** Returns the coefficients of the existing rows, of the scenario rows and of the peak rows. */
function createCoefficients(
  goal: TailGoal,
  { n, rows: { count: before, coefficients: ownCoefficients } }: Program,
  { scenarios, peaks }: TailSet,
  unit: number,
): Float64Array {
  const width = n + 1 + peaks.length;
  const coefficients = new Float64Array((before + scenarios.length + peaks.length) * width);
  for (let r = 0; r < before; r++) coefficients.set(ownCoefficients.subarray(r * n, r * n + n), r * width);
  let row = before * width;
  let last = -1;
  for (const t of scenarios) {
    while (last + 1 < peaks.length && peaks[last + 1]! <= t) last++;
    addReturns(row, t, -1);
    if (last >= 0) addReturns(row, peaks[last]!, 1);
    if (last >= 0) coefficients[row + n + 1 + last] = unit;
    coefficients[row + n] = -unit;
    row += width;
  }
  for (let j = 0; j < peaks.length; j++) {
    // The running maximum at a peak is at least that at the previous peak, and at least the start value of zero.
    if (j > 0) addReturns(row, peaks[j - 1]!, 1);
    if (j > 0) coefficients[row + n + j] = unit;
    addReturns(row, peaks[j]!, -1);
    coefficients[row + n + 1 + j] = -unit;
    row += width;
  }
  return coefficients;

  function addReturns(position: number, t: number, times: number): void {
    for (let i = 0; i < n; i++) coefficients[position + i]! += times * goal.returns[t * n + i]!;
  }
}

/**
 * Returns the multiplier of each scenario's returns, [T]. It is computed from the multipliers of the program's rows.
 * The forces on the weights are the returns times these multipliers, summed over scenarios.
 */
export function computeTailShares(
  goal: TailGoal,
  { scenarios, peaks }: TailSet,
  multipliers: Float64Array,
): Float64Array {
  const shares = new Float64Array(goal.scenarios);
  let before = -1;
  scenarios.forEach((t, k) => {
    while (before + 1 < peaks.length && peaks[before + 1]! <= t) before++;
    shares[t]! -= multipliers[k]!;
    if (before >= 0) shares[peaks[before]!]! += multipliers[k]!;
  });
  peaks.forEach((t, j) => {
    const force = multipliers[scenarios.length + j]!;
    shares[t]! -= force;
    if (j > 0) shares[peaks[j - 1]!]! += force;
  });
  return shares;
}

/**
 * Returns the forces on the weights from multipliers of the scenarios, [N].
 * @cost N for each scenario with a nonzero multiplier
 */
export function computeTailForces({ returns }: TailGoal, shares: Float64Array, n: number): Float64Array {
  const forces = new Float64Array(n);
  shares.forEach((share, t) => {
    if (share !== 0) for (let i = 0; i < n; i++) forces[i]! += share * returns[t * n + i]!;
  });
  return forces;
}

function addLevel(lower: Float64Array, position: number): Float64Array {
  lower[position] = -Infinity;
  return lower;
}

function extendValues(values: Float64Array, length: number, fill = 0): Float64Array {
  const wide = new Float64Array(length).fill(fill);
  wide.set(values);
  return wide;
}

/** Extends a norm of the weights to all variables of the program. */
function widenNorm(norm: Norm, { metric, n }: Program, width: number): Norm {
  const normMetric = norm.metric === 'metric' ? metric! : norm.metric; // a program with such a norm has a metric
  const wide =
    normMetric === 'identity'
      ? createFactorMetric(new Float64Array(0), extendValues(new Float64Array(n).fill(1), width))
      : widenMetric(normMetric, width);
  return { ...norm, metric: wide, centre: extendValues(norm.centre, width) };
}

function widenMetric(metric: Metric, width: number): Metric {
  const { n } = metric;
  if (metric.form === 'factor')
    return createFactorMetric(
      extendValues(metric.loadings, width * metric.factors),
      extendValues(metric.specific, width),
    );
  const metricMatrix = createMetricMatrix(metric);
  const matrix = new Float64Array(width * width);
  for (let i = 0; i < n; i++) matrix.set(metricMatrix.subarray(i * n, i * n + n), i * width);
  return createDenseMetric(matrix, width);
}
