import { removeFixedVariables } from '#kernels/optimisation/presolve.js';
import { FREE, LOWER, UPPER } from '#kernels/optimisation/program/active-state.js';
import {
  createDenseMetric,
  createFactorMetric,
  createMetricMatrix,
  type Metric,
} from '#kernels/optimisation/program/metric.js';
import {
  checkKkt,
  isOptimal,
  listPulledVariables,
  type ProgramResult,
} from '#kernels/optimisation/program/optimality.js';
import { type Norm, type Program, sumKinks } from '#kernels/optimisation/program/program.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import { computeDotProduct } from '../base/numbers.js';
import {
  computeOutcomes,
  computeTailAverage,
  computeTailSize,
  computeValues,
  countWorstScenarios,
  type TailGoal,
} from '../definition/tail-risk.js';
import { addLinearCost, type Problem, type RowWithOrigin, type TailCut, type TailCuts } from './problem.js';
import { createImpactTerm, type SeparableFunction, solveSeparable } from './separable-terms.js';
import { meterSolver } from './work-meter.js';
import type { TailRow } from '../definition/constraint-class.js';
import { addUpperRows, type AssembledProgram, type CurvedLimit } from './assembly.js';

/** Number of securities below which the program includes all of them from the start. */
const SECURITIES_MIN = 100;

/** Maximum fraction of the securities in a reduced program. With more, the reduction saves little. */
const REDUCED_FRACTION_MAX = 0.7;

/** Distance from a bound below which a weight counts as at the bound. */
const BOUND_TOLERANCE = 1e-9;

/**
 * Returns 1 for securities whose weights are at a bound. They can be fixed there while the other securities are
 * optimised. Returns null if there are too few, or fewer than `SECURITIES_MIN` securities in all.
 */
export function findSecuritiesAtBounds({ n, lower, upper }: Program, weights: Float64Array): Uint8Array | null {
  if (n < SECURITIES_MIN) return null;
  const restingFlags = new Uint8Array(n);
  let movingCount = 0;
  for (let i = 0; i < n; i++) {
    const isAtBound = weights[i]! - lower[i]! <= BOUND_TOLERANCE || upper[i]! - weights[i]! <= BOUND_TOLERANCE;
    if (isAtBound) restingFlags[i] = 1;
    else movingCount++;
  }
  return movingCount <= REDUCED_FRACTION_MAX * n ? restingFlags : null;
}

export function restoreSecuritiesAtBounds(rows: Program, resting: Uint8Array | null, weights: Float64Array): Program {
  if (resting === null) return rows;
  const [lower, upper] = [rows.lower.slice(), rows.upper.slice()];
  for (let i = 0; i < rows.n; i++) {
    if (resting[i] === 0) continue;
    if (weights[i]! - lower[i]! <= upper[i]! - weights[i]!) upper[i] = lower[i]!;
    else lower[i] = upper[i]!;
  }
  return { ...rows, lower, upper };
}

/** Solution over some securities, extended to all securities. */
export interface WholeSolution {
  readonly program: Program;
  readonly answer: ProgramResult;
  /** Fixed securities whose release would improve the objective; empty if the solution is optimal. */
  readonly pulled: Int32Array;
}

/**
 * Extends a solution with fixed securities to the program with all bounds. Returns undefined if it violates the
 * optimality conditions other than by the fixed securities.
 * @param solution solution, and its program with fixed securities
 * @param bounds program with all bounds
 */
export function expandSolution(
  { program, answer }: Pick<WholeSolution, 'program' | 'answer'>,
  { lower, upper }: Program,
): WholeSolution | undefined {
  const wholeProgram = { ...program, lower, upper };
  const { point, state } = answer;
  const kkt = checkKkt(wholeProgram, point);
  const pulledVariables = isOptimal(kkt) ? new Int32Array(0) : listPulledVariables(wholeProgram, point);
  if (!isOptimal(kkt) && pulledVariables.length === 0) return undefined;
  const names = state.names.map((held, i) =>
    program.lower[i] === program.upper[i] && lower[i]! < upper[i]! ? (point.x[i] === upper[i] ? UPPER : LOWER) : held,
  );
  return { program: wholeProgram, answer: { ...answer, state: { ...state, names }, kkt }, pulled: pulledVariables };
}

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
  const unitPrice = price / computeTailSize(goal);
  scenarios.forEach((t, k) => (penalty[rows.rows.count + k] = unitPrice * (goal.counts?.[t] ?? 1)));
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

/**
 * Number of scenarios that one portfolio adds to a set. It is a multiple of the tail size plus a multiple of the number
 * of securities, because that many scenarios can be exactly at the tail level.
 */
const TAIL_FACTOR = 1.3;
const SECURITIES_FACTOR = 0.6;

/**
 * Fraction of new scenarios in an enlarged set of losses. Above it, approximate optima over all securities add more
 * scenarios; below it, an exact program is solved.
 */
const GROWTH_MIN = 0.1;

export function findWorstScenarios(
  goal: TailGoal,
  weights: Float64Array,
  outcomes = computeOutcomes(goal, weights),
): TailSet {
  const size = countWorstScenarios(goal, outcomes, 1);
  const count =
    goal.counts === null
      ? Math.ceil(TAIL_FACTOR * computeTailSize(goal) + SECURITIES_FACTOR * weights.length)
      : countWorstScenarios(goal, outcomes, TAIL_FACTOR) + Math.ceil(SECURITIES_FACTOR * weights.length);
  return {
    scenarios: selectWorst(outcomes, count + 1, goal.counts),
    peaks: findPeaks(goal, weights, selectWorst(outcomes, size + 1)),
  };
}

/** Returns the union of two sets. */
export function joinSets(a: TailSet, b: TailSet): TailSet {
  return { scenarios: joinIndices(a.scenarios, b.scenarios), peaks: joinIndices(a.peaks, b.peaks) };
}

/** Returns true if two sets are equal; one must contain the other. */
export function isSameTailSet(a: TailSet, b: TailSet): boolean {
  return a.scenarios.length === b.scenarios.length && a.peaks.length === b.peaks.length;
}

/** Returns true if many scenarios of an enlarged set are new. */
function isMuchLarger(joinedSet: TailSet, set: TailSet): boolean {
  return joinedSet.scenarios.length > (1 + GROWTH_MIN) * set.scenarios.length;
}

/** Number of equally likely scenarios below which a scenario is too improbable for a program. */
const COUNT_MIN = 1e-9;

/** Returns the indices of the largest values, ascending, without improbable scenarios. */
function selectWorst(values: Float64Array, count: number, counts: Float64Array | null = null): Int32Array {
  const order = Int32Array.from(values.keys()).sort((a, b) => values[b]! - values[a]! || a - b);
  const worst = order.subarray(0, Math.min(count, order.length)).toSorted((a, b) => a - b);
  return counts === null ? worst : worst.filter((t) => counts[t]! >= COUNT_MIN);
}

/** Returns the peaks before the given scenarios, ascending, without the start; empty for losses. */
function findPeaks(goal: TailGoal, weights: Float64Array, scenarios: Int32Array): Int32Array {
  if (goal.measure === 'loss') return new Int32Array(0);
  const scenarioSet = new Set(scenarios);
  const positions = new Set<number>();
  let peak = 0;
  let position = -1;
  for (const [t, value] of computeValues(goal, weights).entries()) {
    if (value > peak) [peak, position] = [value, t];
    if (position >= 0 && scenarioSet.has(t)) positions.add(position);
  }
  return Int32Array.from(positions).toSorted((x, y) => x - y);
}

function joinIndices(a: Int32Array, b: Int32Array): Int32Array {
  return Int32Array.from(new Set([...a, ...b])).toSorted((x, y) => x - y);
}

/**
 * Optimum of a tail goal, with the program whose optimality conditions it satisfies. In this program the worst
 * scenarios are fixed forces on the weights.
 */
export interface TailSolution {
  readonly program: Program;
  readonly answer: ProgramResult;
  /** Tail average over all scenarios, without costs. */
  readonly value: number;
  /** Lower bound of the tail average within the rows, without costs. The forces prove it. */
  readonly bound: number;
  /** Multiplier of each scenario's returns in the proof, [T]. */
  readonly shares: Float64Array;
  /** Start for a search from similar weights. */
  readonly start: TailStart;
}

/** Weights with their worst scenarios. */
export interface TailStart {
  readonly weights: Float64Array;
  readonly set: TailSet;
}

type ScenarioSetSolution = Omit<TailSolution, 'value' | 'start'>;

interface TailTerms {
  readonly goal: TailGoal;
  /** Rows, bounds and linear costs of the program, without an objective. */
  readonly rows: Program;
  /** Curved costs in the forms to try; a single null without curved costs. */
  readonly curved: readonly (SeparableFunction | null)[];
  /** Start weights, whose worst scenarios form the first set. */
  readonly near: Float64Array;
  /** First set of scenarios. Present if a solution at similar weights provides one. */
  readonly first?: TailSet | undefined;
  /** Number of multiplications after which the search for a better proof ends. Default: the limit of the measure. */
  readonly workMax?: number;
}

/** Maximum number of scenario sets; two to five are usual. */
const ROUNDS_MAX = 60;

/** Minimum size of the first set: up to this number, all scenarios are used. */
const ALL_SCENARIOS_MAX = 400;

/** Number of scenarios in the first set, as a multiple of the tail size. */
const FIRST_TAIL_SIZES = 2;

/** Relative difference of average and bound below which both count as equal. */
const GAP_TOLERANCE = 1e-9;

/**
 * Relative difference that counts as equal if no scenario is left to add. Rows are satisfied to 1e-10, and curved costs
 * are not more accurate.
 */
const GAP_TOLERANCE_COMPLETE = 1e-6;

/**
 * Maximum optimality gap, as a fraction of the value, that is accepted if the solver fails within the work limit. The
 * gap is reported.
 */
const GAP_MAX = 0.01;

/**
 * Number of multiplications after which the search for a better proof ends, one to two minutes. The remaining gap is
 * reported. Work is counted instead of time, so that equal requests have equal results.
 */
const WORK_MAX = { loss: 1e11, drawdown: 2e10 } as const;

/** Fraction of new scenarios in the first set of losses. If it is larger, the optimum is far from the known weights. */
const NEW_SCENARIOS_MAX = 0.5;

/** Maximum number of approximate optima that add scenarios before an exact solve; ten are usual. */
const ROUGH_ROUNDS_MAX = 20;

/** Units of the additional variables to try, relative to the size of a loss. Rounding depends on the unit. */
export const VARIABLE_UNITS = [1, 8, 0.125, 2, 0.5];

/**
 * Minimises the average of the worst scenarios within rows. Few scenarios determine the solution. A set grows by the
 * worst scenarios of the latest weights, until the average over all scenarios equals the bound that the set proves. Of
 * many securities only few are held. Securities at a bound in the start weights join once they would improve the tail.
 * @returns undefined if no solution was found.
 * @cost for each set of S scenarios about 20 factorisations of N^3 / 6 + S N^2 / 2, half as many for the first set of
 * losses.
 * @source Rockafellar & Uryasev (2000), Journal of Risk 2(3), for the program; Kuenzi-Bay & Mayer (2006), Computational
 * aspects of minimizing conditional value-at-risk, Computational Management Science 3(1), for growing sets; Dantzig &
 * Wolfe (1960), Operations Research 8(1), for priced securities.
 */
export function solveTail(solver: Solver, terms: TailTerms): TailSolution | undefined {
  const restingFlags = terms.curved.every((curved) => curved === null)
    ? findSecuritiesAtBounds(terms.rows, terms.near)
    : null;
  const result = restingFlags === null ? undefined : solveGrowing(solver, terms, restingFlags);
  return result ?? solveGrowing(solver, terms, null);
}

/**
 * Solves with a growing set of scenarios.
 * @param resting securities that stay at their start weights until they would improve the tail; null if there are none.
 */
function solveGrowing(inner: Solver, terms: TailTerms, resting: Uint8Array | null): TailSolution | undefined {
  const { goal, near, rows, workMax = WORK_MAX[terms.goal.measure] } = terms;
  const solver = meterSolver(inner);
  const isWithin = () => solver.spent() < workMax;
  const unit = computeTailAverage(goal, computeOutcomes(goal, near).map(Math.abs)) || 1;
  let restrictedTerms = { ...terms, rows: restoreSecuritiesAtBounds(rows, resting, near) };
  let { set, isFar: isGrowing } =
    terms.first === undefined
      ? createFirstSet(solver, restrictedTerms, unit)
      : { set: terms.first, isFar: isExpensive(terms) };
  if (isGrowing && !isExpensive(terms))
    restrictedTerms = { ...terms, rows: restoreSecuritiesAtBounds(rows, resting?.fill(0) ?? null, near) };
  let best: ProvenSolution | undefined;
  for (let round = 0; round < ROUNDS_MAX && isWithin(); round++) {
    if (isGrowing) set = addNearScenarios(solver, { ...restrictedTerms, unit, isWithin }, set);
    const result = solveInUnits(solver, restrictedTerms, set, unit);
    const wholeSolution = result === undefined || resting === null ? result : expandSolution(result, rows);
    if (result === undefined || wholeSolution === undefined) break;
    const { x } = result.answer.point;
    const outcomes = computeOutcomes(goal, x);
    const value = computeTailAverage(goal, outcomes);
    const worstSet = findWorstScenarios(goal, x, outcomes);
    const pulledVariables = 'pulled' in wholeSolution ? wholeSolution.pulled : new Int32Array(0);
    const joinedSet = joinSets(set, worstSet);
    const isWhole = isSameTailSet(joinedSet, set);
    isGrowing = isExpensive(terms) || isMuchLarger(joinedSet, set);
    if (pulledVariables.length === 0) {
      const { program, answer } = wholeSolution;
      const { bound, shares } = result;
      const least = goal.measure === 'drawdown' ? Math.max(bound, 0) : bound; // no drawdown is below zero
      best = selectBetter(
        best,
        { program, answer, shares, value, bound: least, start: { weights: x, set: worstSet } },
        unit,
      );
      if (best.open <= GAP_TOLERANCE || (isWhole && best.open <= GAP_TOLERANCE_COMPLETE)) return best.answer;
      if (isWhole) break;
    }
    set = joinedSet;
    if (resting === null) continue;
    for (const i of pulledVariables) resting[i] = 0;
    if (isGrowing && !isExpensive(terms)) resting.fill(0);
    restrictedTerms = { ...terms, rows: restoreSecuritiesAtBounds(rows, resting, near) };
  }
  return best !== undefined && (best.open <= GAP_MAX || !isWithin()) ? best.answer : undefined;
}

interface ProvenSolution {
  readonly answer: TailSolution;
  readonly open: number;
}

/** Returns the solution with the lower value, combined with the higher of both bounds. */
function selectBetter(best: ProvenSolution | undefined, tailSolution: TailSolution, unit: number): ProvenSolution {
  const bound = Math.max(best?.answer.bound ?? -Infinity, tailSolution.bound);
  const least = best === undefined || tailSolution.value <= best.answer.value ? tailSolution : best.answer;
  return { answer: { ...least, bound }, open: (least.value - bound) / Math.max(Math.abs(least.value), unit) };
}

interface InitialScenarioSet {
  readonly set: TailSet;
  /** True if approximate optima add scenarios before an exact solve. */
  readonly isFar: boolean;
}

/**
 * Returns the first set of scenarios. For losses, it consists of the worst scenarios of weights near the optimum. These
 * weights minimise the average over the worst scenarios at the start weights, without curved costs. The peaks of
 * drawdowns depend too much on the weights for this.
 */
function createFirstSet(solver: Solver, { goal, rows, near }: TailTerms, unit: number): InitialScenarioSet {
  const outcomes = computeOutcomes(goal, near);
  const firstCount = countWorstScenarios(goal, outcomes, FIRST_TAIL_SIZES);
  const tailSet: TailSet = {
    scenarios: selectWorst(outcomes, Math.max(firstCount, ALL_SCENARIOS_MAX), goal.counts),
    peaks: findPeaks(goal, near, selectWorst(outcomes, 2 * countWorstScenarios(goal, outcomes, 1))),
  };
  if (goal.measure === 'drawdown' || tailSet.scenarios.length === goal.scenarios)
    return { set: tailSet, isFar: isExpensive({ goal, rows }) };
  const worstSet = findWorstScenarios(
    goal,
    solver.nearly(createTailProgram(goal, rows, tailSet, unit).program).slice(0, rows.n),
  );
  const isNew = joinSets(tailSet, worstSet).scenarios.length - tailSet.scenarios.length;
  return { set: worstSet, isFar: isNew > NEW_SCENARIOS_MAX * worstSet.scenarios.length };
}

function solveInUnits(solver: Solver, terms: TailTerms, set: TailSet, unit: number): ScenarioSetSolution | undefined {
  // The bound that no drawdown is below zero helps only if some weights have no drawdown. It slows down all other
  // cases, so it is tried once, as the last attempt.
  for (const leastLevel of terms.goal.measure === 'drawdown' ? [-Infinity, 0] : [-Infinity]) {
    for (const effort of isExpensive(terms) ? (['quick', 'thorough'] as const) : (['thorough'] as const)) {
      for (const times of leastLevel === 0 ? VARIABLE_UNITS.slice(0, 1) : VARIABLE_UNITS) {
        for (const curvedTerm of terms.curved) {
          const result = solveSet(solver, { ...terms, curved: curvedTerm, effort, leastLevel }, set, times * unit);
          if (result !== undefined) return result;
        }
      }
    }
  }
  return undefined;
}

/**
 * Returns true for drawdowns of many securities. A solve then takes seconds, and an approximate solve a fraction of
 * that. Another unit is therefore tried before more iterations.
 */
function isExpensive({ goal, rows }: Pick<TailTerms, 'goal' | 'rows'>): boolean {
  return goal.measure === 'drawdown' && rows.n >= SECURITIES_MIN;
}

/** Terms with one form of the curved costs. */
interface ModelledTerms extends Omit<TailTerms, 'curved'> {
  readonly curved: SeparableFunction | null;
  readonly effort: 'quick' | 'thorough';
  readonly leastLevel: number;
}

function solveSet(solver: Solver, terms: ModelledTerms, set: TailSet, unit: number): ScenarioSetSolution | undefined {
  const { goal, rows, curved, leastLevel } = terms;
  const { program: open, rowsBefore } = createTailProgram(goal, rows, set, unit);
  const program = { ...open, lower: open.lower.with(rows.n, leastLevel) };
  const answer = solveWith(solver, program, terms);
  if (answer === undefined || answer.status !== 'solved') return undefined;
  const { n } = rows;
  const shares = computeTailShares(goal, set, answer.point.rowMultipliers.subarray(rowsBefore));
  const forces = computeTailForces(goal, shares, n);
  const { point, state } = selectFirstVariables(program, answer, n, rowsBefore);
  const weights = point.x;
  const slope = rows.linear.slice();
  curved?.addModel(weights, { slope, curvature: new Float64Array(n) });
  const tangent = { ...rows, curvature: 0, linear: slope.map((value, i) => value + forces[i]!) };
  const kkt = checkKkt(tangent, point);
  if (!isOptimal(kkt)) return undefined;
  return {
    program: tangent,
    answer: { ...answer, point, state, kkt },
    bound: computeDotProduct(forces, weights),
    shares,
  };
}

/** Removes the additional variables and rows of a tail program from a solution. */
export function selectFirstVariables(
  program: Program,
  answer: ProgramResult,
  n: number,
  rowCount: number,
): ProgramResult {
  const { x, rowMultipliers } = answer.point;
  const { names, sides, rows: rowSides } = answer.state;
  return {
    ...answer,
    point: { ...answer.point, x: x.slice(0, n), rowMultipliers: rowMultipliers.slice(0, rowCount) },
    state: {
      ...answer.state,
      names: names.slice(0, n),
      sides: Int8Array.from(
        { length: program.kinks.length * n },
        (_, e) => sides[Math.floor(e / n) * program.n + (e % n)]!,
      ),
      rows: rowSides.slice(0, rowCount),
    },
  };
}

/** Solves the program of a scenario set, with the curved costs of the weights in its objective. */
function solveWith(
  solver: Solver,
  program: Program,
  { curved, rows, near, effort }: ModelledTerms,
): ProgramResult | undefined {
  if (curved === null) return solver.solve(program, { effort });
  const start = new Float64Array(program.n);
  start.set(near);
  return solveSeparable(solver, program, extendToAllVariables(curved, rows.n), { start, effort })?.answer;
}

function extendToAllVariables(curved: SeparableFunction, n: number): SeparableFunction {
  const selectOwnVariables = (values: Float64Array) => values.subarray(0, n);
  return {
    valueAt: (x) => curved.valueAt(selectOwnVariables(x)),
    addModel: (x, { slope, curvature }) =>
      curved.addModel(selectOwnVariables(x), {
        slope: selectOwnVariables(slope),
        curvature: selectOwnVariables(curvature),
      }),
    settle(x, { left, right, stiffness }) {
      const settledPoint = x.slice();
      if (curved.settle !== undefined)
        settledPoint.set(
          curved.settle(selectOwnVariables(x), {
            left: selectOwnVariables(left),
            right: selectOwnVariables(right),
            stiffness: selectOwnVariables(stiffness),
          }),
        );
      return settledPoint;
    },
  };
}

interface ApproximateSolveTerms extends TailTerms {
  readonly unit: number;
  /** Returns true while the work limit is not reached. */
  readonly isWithin: () => boolean;
}

/**
 * Adds the worst scenarios at approximate optima of a growing set. Peaks are added until no more appear, losses until
 * few are new. Each approximate optimum costs a fraction of an exact one.
 */
function addNearScenarios(
  solver: Solver,
  { goal, rows, unit, isWithin }: ApproximateSolveTerms,
  first: TailSet,
): TailSet {
  let tailSet = first;
  for (let round = 0; round < ROUGH_ROUNDS_MAX && isWithin(); round++) {
    const nearWeights = solver.nearly(createTailProgram(goal, rows, tailSet, unit).program).slice(0, rows.n);
    const joinedSet = joinSets(tailSet, findWorstScenarios(goal, nearWeights));
    const isMore = goal.measure === 'drawdown' ? !isSameTailSet(joinedSet, tailSet) : isMuchLarger(joinedSet, tailSet);
    tailSet = joinedSet;
    if (!isMore) break;
  }
  return tailSet;
}

/**
 * Trade sizes in the order of trial. Below such a size, the curvature of costs in a tail problem is limited. Trading
 * costs are the only curvature, and that of tiny trades would be millions of times as large as that of others.
 */
const MODELLED_TRADES = [1e-6, 1e-8, 1e-5, 1e-14];

/** Minimises a tail average, starting from the weights of least variance or from similar weights. */
export function solveTailGoal(
  solver: Solver,
  problem: Problem,
  goal: TailGoal,
  rows: Program,
  tail: TailStart | undefined,
): TailSolution | undefined {
  const { costs } = problem;
  const centre = new Float64Array(rows.n);
  const pricedProgram = { ...addLinearCost(rows, costs), curvature: 0, centre, linear: new Float64Array(rows.n) };
  const hasImpact = costs !== null && costs.impact > 0;
  const impactTerms = hasImpact ? MODELLED_TRADES.map((least) => createImpactTerm(costs, 1, least)) : [null];
  return (
    (hasImpact ? undefined : solveAmongFew(solver, problem, goal, pricedProgram, tail)) ??
    solveTail(solver, {
      goal,
      rows: pricedProgram,
      curved: impactTerms,
      ...createStart(solver, problem.index, pricedProgram, tail),
    })
  );
}

/** Returns the initial weights of a tail search: similar weights, or those of least variance. */
function createStart(
  solver: Solver,
  index: Float64Array,
  rows: Program,
  tail: TailStart | undefined,
): Pick<TailTerms, 'near' | 'first'> {
  if (tail !== undefined) return { near: tail.weights, first: tail.set };
  const quadraticResult = solver.solve({ ...rows, curvature: 2 }, { effort: 'quick' });
  return { near: quadraticResult.status === 'solved' ? quadraticResult.point.x : index };
}

/**
 * Solves without the securities whose bounds fix their weight at zero, then checks the solution with all securities.
 * @returns undefined if few securities are removed, or if the solution is not optimal with all securities
 */
function solveAmongFew(
  solver: Solver,
  { index }: Problem,
  goal: TailGoal,
  rows: Program,
  tail: TailStart | undefined,
): TailSolution | undefined {
  const { n, lower, upper } = rows;
  const reducedProgram = lower.some((bound, i) => bound === upper[i] && bound !== 0)
    ? null
    : removeFixedVariables(rows);
  if (reducedProgram === null) return undefined;
  const openPositions = Int32Array.from(lower.keys()).filter((i) => lower[i]! < upper[i]!);
  const pickValues = (values: Float64Array) => Float64Array.from(openPositions, (i) => values[i]!);
  const reducedGoal: TailGoal = { ...goal, returns: selectColumns(goal, n, openPositions) };
  const nearTail = tail === undefined ? undefined : { ...tail, weights: pickValues(tail.weights) };
  const terms = { goal: reducedGoal, rows: reducedProgram.program, curved: [null] };
  const result = solveTail(solver, {
    ...terms,
    ...createStart(solver, pickValues(index), reducedProgram.program, nearTail),
  });
  if (result === undefined) return undefined;
  const { answer, shares } = result;
  const point = reducedProgram.toFull(answer.point);
  const program = { ...rows, linear: computeTailForces(goal, shares, n) };
  const kkt = checkKkt(program, point);
  if (!isOptimal(kkt)) return undefined;
  return {
    ...result,
    program,
    answer: { ...answer, point, state: reducedProgram.stateToFull(answer.state), kkt },
    start: { ...result.start, weights: point.x },
  };
}

/** Returns the scenario returns of some securities, [T x K]. */
function selectColumns({ scenarios, returns }: TailGoal, n: number, names: Int32Array): Float64Array {
  const width = names.length;
  const selectedReturns = new Float64Array(scenarios * width);
  for (let t = 0; t < scenarios; t++)
    for (let k = 0; k < width; k++) selectedReturns[t * width + k] = returns[t * n + names[k]!]!;
  return selectedReturns;
}

/** Weights that minimise a linear objective plus a price times a tail average. */
export interface PricedCorner {
  readonly weights: Float64Array;
  /** Objective without the tail term. */
  readonly cost: number;
  readonly tail: number;
}

/** Weights whose tail equals the limit, with the corner at the price at which they are optimal. */
interface CornerInterpolation<C> {
  readonly weights: Float64Array;
  readonly corner: C;
}

/** Maximum number of prices that are tried; five to fifteen are usual. */
const CORNER_PRICES_MAX = 40;

/** Growth factor of the price while all tails are on one side of the limit. */
const GROWTH = 4;

/** Relative difference below which two values of objective plus priced tail count as equal. */
const VALUE_TOLERANCE = 1e-8;

/**
 * Finds the optimum of a linear objective within a limit on a tail. At each price the optimum is a corner. Its tail
 * jumps across the limit at the price at which two corners are equally good. All weights between these corners are
 * equally good, and the tail of one of them equals the limit. The next price is the one at which the two corners around
 * the limit are equally good.
 * @param first a price near the right one
 * @param most the limit
 * @returns undefined if no price has corners on both sides of the limit, or a corner was not found
 * @source Everett (1963), Generalized Lagrange multiplier method, Operations Research 11(3); Dantzig & Wolfe (1960),
 * Operations Research 8(1), for the mean of corners.
 */
export function interpolateCorners<C extends PricedCorner>(
  first: number,
  most: number,
  cornerAt: (price: number) => C | undefined,
): CornerInterpolation<C> | undefined {
  let [over, under]: [C | undefined, C | undefined] = [undefined, undefined];
  let price = first;
  for (let step = 0; step < CORNER_PRICES_MAX; step++) {
    const corner = cornerAt(price);
    if (corner === undefined) return undefined;
    if (over !== undefined && under !== undefined) {
      const computeValue = ({ cost, tail }: PricedCorner) => cost + price * tail;
      const scale = Math.abs(over.cost) + price * Math.abs(over.tail);
      if (computeValue(over) - computeValue(corner) <= VALUE_TOLERANCE * scale)
        return { weights: interpolateAtLimit(over, under, most), corner };
    }
    if (corner.tail > most) over = corner;
    else under = corner;
    if (under === undefined) price *= GROWTH;
    else if (over === undefined) price /= GROWTH;
    else price = (under.cost - over.cost) / (over.tail - under.tail);
    if (!(price > 0)) return undefined;
  }
  return undefined;
}

/** Returns the mixture of two weight vectors whose tail equals the limit, if the tail is linear between them. */
function interpolateAtLimit(over: PricedCorner, under: PricedCorner, most: number): Float64Array {
  const share = (most - under.tail) / (over.tail - under.tail);
  return over.weights.map((weight, i) => {
    const underWeight = under.weights[i]!;
    return weight === underWeight ? weight : share * weight + (1 - share) * underWeight;
  });
}

export interface ExceededTail {
  readonly placed: CurvedLimit & { readonly row: TailRow };
  /** Limit: largest allowed average. */
  readonly most: number;
}

/** Result of a search for the price at which a tail equals its limit. */
interface PricedTail {
  /** New cutting planes that enforce the limit. */
  readonly planes: readonly TailCut[];
  /** Tail average at the right price. It equals the limit up to rounding. Null if no price attains the limit. */
  readonly attained: number | null;
  /** Optimum at that price, as a solution whose tail row is the last plane. Null if there is none. */
  readonly optimum: AssembledSolution | null;
}

/** Solution of the program of some rows. */
interface AssembledSolution {
  readonly assembled: AssembledProgram;
  readonly answer: ProgramResult;
}

/** Maximum number of prices that are tried for one tail; five to fifteen are usual. */
const PRICES_MAX = 30;

/** Maximum number of scenario sets at one price for a linear objective. */
const SETS_MAX = 12;

/** Number of tangent planes before planes from a price search are added too. Usual limits need no more. */
const TANGENT_PLANES_MIN = 30;

/** Number of tangent planes between two price searches for a linear objective. */
const TANGENT_PLANES_LINEAR = 6;

/** Number of successive prices without effect, after which the search ends. */
const IDLE_MAX = 2;

/** Difference between an average and its limit that counts as zero, relative to 1 + the limit. */
const LIMIT_TOLERANCE = 1e-9;

/** Maximum ratio of the least sufficient price to an insufficient price at which the search ends. */
const PRICE_RATIO_MAX = 1.2;

/**
 * Finds cutting planes that keep a tail at its limit if the limit is near the minimum. Hundreds of tangent planes would
 * be needed there. Weights that minimise the objective plus a price times the tail are optimal for some limit. The
 * forces of their scenarios form a single plane with the same solution.
 * @param solution program with the known planes, and its solution, whose multipliers give the first price.
 * @cost for each price about 20 factorisations of N^3 / 6 + S N^2 / 2 for the S worst scenarios of the weights
 * @source Lemaréchal, Nemirovskii & Nesterov (1995), New variants of bundle methods, Mathematical Programming 69, for
 * aggregated planes.
 */
export function solvePricedTail(
  solver: Solver,
  tails: TailCuts,
  { placed, most }: ExceededTail,
  { assembled, answer }: AssembledSolution,
): PricedTail {
  const { goal } = placed.row;
  const { x, rowMultipliers } = answer.point;
  const { bare, price: first } = removeTailPlanes(assembled, goal, rowMultipliers);
  if (!(first > 0)) return { planes: [], attained: null, optimum: null };
  const unit = computeTailAverage(goal, computeOutcomes(goal, x).map(Math.abs)) || 1;
  const planes: TailCut[] = [];
  let worstSet = findWorstScenarios(goal, x);
  let last: PricedOptimum | undefined;
  const restingFlags = findSecuritiesAtBounds(bare.program, x);
  // If two corners are equally good, rounding decides if a solve converges. Other units are then tried.
  const units = bare.program.curvature === 0 ? VARIABLE_UNITS : VARIABLE_UNITS.slice(0, 1);
  const findOptimum = (price: number): PricedOptimum | undefined => {
    const terms = units.map((times) => ({ goal, bare, set: worstSet, unit: times * unit, price }));
    return (
      findFirst(terms, (own) => solveWithFixedSecurities(solver, own, x, restingFlags)) ??
      findFirst(terms, (own) => solveAtPrice(solver, own, bare.program))
    );
  };
  if (bare.program.curvature === 0) {
    const findCorner = (price: number) => {
      for (let round = 0; round < SETS_MAX; round++) {
        const result = findOptimum(price);
        if (result === undefined) return undefined;
        planes.push(result.plane);
        const { weights, plane } = result;
        const outcomes = computeOutcomes(goal, weights);
        const tail = computeTailAverage(goal, outcomes);
        const joinedSet = joinSets(worstSet, findWorstScenarios(goal, weights, outcomes));
        const isWhole =
          isSameTailSet(joinedSet, worstSet) ||
          tail - computeDotProduct(plane.slopes, weights) <= LIMIT_TOLERANCE * (1 + most);
        worstSet = joinedSet;
        if (isWhole) return { ...result, tail, cost: computeGoalCost(bare.program, weights) };
      }
      return undefined;
    };
    const interpolation = interpolateCorners<PricedOptimum & PricedCorner>(first, most, findCorner);
    for (const plane of planes) tails.hold(plane);
    return { planes, ...createLimitSolution(bare, placed, interpolation) };
  }
  const attainedPrice = searchPrice({ first, most }, (price) => {
    const tailSet = worstSet;
    const result = findOptimum(price);
    if (result === undefined) return undefined;
    const tail = computeTailAverage(goal, computeOutcomes(goal, result.weights));
    if (Math.abs(tail - most) <= LIMIT_TOLERANCE * (1 + most)) last = result;
    planes.push(result.plane);
    worstSet = joinSets(tailSet, findWorstScenarios(goal, result.weights));
    return { tail, isWhole: isSameTailSet(worstSet, tailSet) };
  });
  for (const plane of planes) tails.hold(plane);
  return { planes, attained: attainedPrice, optimum: last === undefined ? null : addPlane(bare, placed, last) };
}

function findFirst<T, R>(values: readonly T[], toResult: (value: T) => R | undefined): R | undefined {
  for (const value of values) {
    const result = toResult(value);
    if (result !== undefined) return result;
  }
  return undefined;
}

/** Returns a linear objective at some weights, including the kinks in the objective. */
function computeGoalCost({ linear, kinks }: Program, weights: Float64Array): number {
  return kinks.reduce(
    (sum, kink) => sum + (kink.limit === null ? sumKinks(kink, weights) : 0),
    computeDotProduct(linear, weights),
  );
}

function createLimitSolution(
  bare: AssembledProgram,
  rowWithOrigin: ExceededTail['placed'],
  between: CornerInterpolation<PricedOptimum> | undefined,
): Pick<PricedTail, 'attained' | 'optimum'> {
  if (between === undefined) return { attained: null, optimum: null };
  const { weights, corner } = between;
  const { point, state } = corner.answer;
  const { lower, upper } = bare.program;
  const differsFromLimit = (side: number, i: number) =>
    (side === LOWER && weights[i] !== lower[i]) || (side === UPPER && weights[i] !== upper[i]);
  const names = state.names.map((held, i) => (differsFromLimit(held, i) ? FREE : held));
  const answer = { ...corner.answer, point: { ...point, x: weights }, state: { ...state, names } };
  const optimum = addPlane(bare, rowWithOrigin, { ...corner, weights, answer });
  const { goal } = rowWithOrigin.row;
  return {
    attained: optimum === null ? null : computeTailAverage(goal, computeOutcomes(goal, weights)),
    optimum,
  };
}

/** Returns true if the round of cutting planes includes a price search. */
export function hasPriceSearch(isLinear: boolean, round: number): boolean {
  return isLinear ? round % TANGENT_PLANES_LINEAR === TANGENT_PLANES_LINEAR - 1 : round >= TANGENT_PLANES_MIN;
}

interface PricedTerms {
  readonly goal: TailGoal;
  readonly bare: AssembledProgram;
  readonly set: TailSet;
  readonly unit: number;
  readonly price: number;
}

/** Weights that minimise the objective plus a priced tail. */
interface PricedOptimum {
  readonly weights: Float64Array;
  readonly plane: TailCut;
  /** Multiplier of the plane. */
  readonly price: number;
  readonly answer: ProgramResult;
}

/**
 * Returns the optimum at a price. Returns undefined without a solution.
 * @param rows program of `bare`, possibly with narrower bounds
 */
function solveAtPrice(
  solver: Solver,
  { goal, set, unit, price }: PricedTerms,
  rows: Program,
): PricedOptimum | undefined {
  const { n } = rows;
  const { program, rowsBefore } = createTailProgram(goal, rows, set, unit, price);
  const answer = solver.solve(program, { effort: 'quick' });
  if (answer.status !== 'solved') return undefined;
  const multipliers = answer.point.rowMultipliers.subarray(rowsBefore);
  // The forces sum to the price up to rounding. Divided by the sum, they form an average.
  const total = multipliers.subarray(0, set.scenarios.length).reduce((sum, value) => sum + value, 0);
  const slopes = computeTailForces(goal, computeTailShares(goal, set, multipliers), n).map((force) => force / total);
  const programResult = selectFirstVariables(program, answer, n, rowsBefore);
  return { weights: programResult.point.x, plane: { goal, slopes }, price: total, answer: programResult };
}

/** Maximum number of rounds in which fixed securities are released. */
const RELEASES_MAX = 12;

/** Finds the optimum with securities fixed at bounds, and releases those that would improve it. */
function solveWithFixedSecurities(
  solver: Solver,
  terms: PricedTerms,
  near: Float64Array,
  resting: Uint8Array | null,
): PricedOptimum | undefined {
  if (resting === null) return undefined;
  const { program } = terms.bare;
  for (let round = 0; round < RELEASES_MAX; round++) {
    const rows = restoreSecuritiesAtBounds(program, resting, near);
    const result = solveAtPrice(solver, terms, rows);
    if (result === undefined) return undefined;
    const { plane, price, answer } = result;
    const linear = rows.linear.map((value, i) => value + price * plane.slopes[i]!);
    const wholeSolution = expandSolution({ program: { ...rows, linear }, answer }, program);
    if (wholeSolution === undefined) return undefined;
    if (wholeSolution.pulled.length === 0) return { ...result, answer: wholeSolution.answer };
    for (const i of wholeSolution.pulled) resting[i] = 0;
  }
  return undefined;
}

/**
 * Converts an optimum to a solution whose tail row is its plane. Returns null if it violates the optimality conditions.
 */
function addPlane(
  bare: AssembledProgram,
  rowWithOrigin: RowWithOrigin,
  { weights, plane, price, answer }: PricedOptimum,
): AssembledSolution | null {
  const { slopes } = plane;
  const program = addUpperRows(bare.program, [{ coefficients: slopes, upper: computeDotProduct(slopes, weights) }]);
  const { point, state } = answer;
  const extendedPoint = { ...point, rowMultipliers: Float64Array.of(...point.rowMultipliers, price) };
  const kkt = checkKkt(program, extendedPoint);
  if (!isOptimal(kkt)) return null;
  return {
    assembled: { ...bare, program, linear: [...bare.linear, rowWithOrigin], planes: bare.planes + 1 },
    answer: { ...answer, point: extendedPoint, state: { ...state, rows: Int8Array.of(...state.rows, UPPER) }, kkt },
  };
}

interface PricedPoint {
  readonly tail: number;
  /**
   * True if the program contained the worst scenarios of these weights. Otherwise other weights may have a smaller
   * tail.
   */
  readonly isWhole: boolean;
}

/** Tries prices, alternating between secant steps and geometric means, until the tail equals its limit. */
function searchPrice(
  { first, most }: { readonly first: number; readonly most: number },
  tailAt: (price: number) => PricedPoint | undefined,
): number | null {
  const acceptedLimit = LIMIT_TOLERANCE * (1 + most);
  let [low, above] = [0, 0];
  let [high, below] = [Infinity, 0];
  let price = first;
  let idle = 0;
  let attainedPrice: number | null = null;
  for (let step = 0; step < PRICES_MAX && idle < IDLE_MAX; step++) {
    const point = tailAt(price);
    if (point === undefined) break;
    const excess = point.tail - most;
    if (Math.abs(excess) <= acceptedLimit) {
      attainedPrice = point.tail;
      if (excess > 0) break;
    }
    if (excess > 0 && !point.isWhole) continue;
    idle = high === Infinity && excess === above ? idle + 1 : 0;
    if (excess > 0) [low, above] = [price, excess];
    else [high, below] = [price, excess];
    if (attainedPrice !== null && high <= PRICE_RATIO_MAX * low) break;
    if (high === Infinity) price = GROWTH * low;
    else if (low === 0) price = high / GROWTH;
    else if (attainedPrice !== null || step % 2 === 0) price = Math.sqrt(low * high);
    else price = low + ((high - low) * above) / (above - below);
  }
  return attainedPrice;
}

function removeTailPlanes(
  assembled: AssembledProgram,
  goal: TailGoal,
  multipliers: Float64Array,
): { readonly bare: AssembledProgram; readonly price: number } {
  const { program, linear, planes } = assembled;
  const { n, rows } = program;
  const remainingRows: number[] = [];
  let price = 0;
  for (let r = 0; r < rows.count; r++) {
    const row = linear[r]?.row;
    if (row?.form === 'tail' && row.goal === goal) price += multipliers[r]!;
    else remainingRows.push(r);
  }
  const coefficients = new Float64Array(remainingRows.length * n);
  remainingRows.forEach((r, k) => coefficients.set(rows.coefficients.subarray(r * n, r * n + n), k * n));
  const pickRows = (values: Float64Array) => Float64Array.from(remainingRows, (r) => values[r]!);
  const { lower, upper, penalty } = rows;
  const remainingLimits = {
    count: remainingRows.length,
    coefficients,
    lower: pickRows(lower),
    upper: pickRows(upper),
    penalty: pickRows(penalty),
  };
  const programWithoutPlanes = {
    ...assembled,
    program: { ...program, rows: remainingLimits },
    linear: remainingRows.map((r) => linear[r]),
    planes: planes - (rows.count - remainingRows.length),
  };
  return { bare: programWithoutPlanes, price };
}
