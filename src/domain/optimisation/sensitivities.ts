import { computeLagrangianSlopes } from '#kernels/optimisation/program/optimality.js';
import { computeNormForce, type Program, sumKinks } from '#kernels/optimisation/program/program.js';
import type { Solver } from '#kernels/optimisation/solve-program.js';
import { compareText } from '../base/findings.js';
import { computeDotProduct } from '../base/numbers.js';
import { isFraction, type Limit, type ProgramRow } from '../definition/constraint-class.js';
import { findConstraintClass } from '../definition/constraints.js';
import { computeWorstVariance, type Measure } from '../definition/objectives.js';
import { computeAverageCoefficients, type Restriction } from './assembly.js';
import { type ConvexSolution, solveConvex } from './convex-solve.js';
import { listNonConvexRows, type Origin, type Problem, type RowWithOrigin, type Solvers } from './problem.js';
import type { RowSide } from './report.js';
import { createRestriction, HELD_MIN, markHoldings, markShort } from './restriction.js';
import { solveProblem } from './search.js';
import { hasTails, meterSolver } from './work-meter.js';

/** Number of significant digits of a change in a sentence. */
const DIGITS = 3;

/** Describes a change of the objective, for the end of a sentence: `lowers the tracking error by 3.1 basis points`. */
function describeChange({ objective: { entry } }: Problem, before: number, after: number): string {
  const { name, unit, of } = entry.measure;
  const change = of(after) - of(before);
  if (Math.abs(change) < NO_CHANGE[unit]) return `leaves ${name} unchanged`;
  const amount = Number(Math.abs(change).toPrecision(DIGITS));
  return `${change < 0 ? 'lowers' : 'raises'} ${name} by ${amount}${unit === 'number' ? '' : ` ${unit}`}`;
}

/** Changes below which a value counts as unchanged, by unit. */
const NO_CHANGE: Readonly<Record<Measure['unit'], number>> = { 'basis points': 1e-6, number: 1e-10 };

function convertToObjectiveTerms({ objective: { entry } }: Problem, value: number): number {
  return entry.sense === 'maximise' ? -value : value;
}

/** Distance below which a bound counts as active, as for `RowSide`. */
const ACTIVE_TOLERANCE = 1e-7;

/** Rounding tolerance of a row's remainder, relative to the row's largest coefficient. */
const ROUNDING = 1e-9;

interface ActiveBound {
  readonly placed: RowWithOrigin | undefined;
  /** [n] */
  readonly gradient: Float64Array;
}

/**
 * Finds active bounds that follow from other active bounds. Several sets of multipliers then satisfy the optimality
 * conditions, so a multiplier is not the price of such a bound. Equalities and default rows are excluded.
 * @cost m^2 n for m active rows
 * @source Nocedal & Wright (2006), Numerical Optimization, section 12.3: linear independence of the active constraints.
 */
function findDependentSides({ assembled, answer }: ConvexSolution, sides: readonly RowSide[]): Set<RowSide> {
  const { program } = assembled;
  const { x } = answer.point;
  const activeBounds = listActiveBounds({ assembled, answer });
  const isFree = markFreeSecurities(program, x);
  const rows = new Set<RowWithOrigin>();
  const names = new Set<number>();
  for (const shares of findDependencies(activeBounds, isFree)) {
    const sum = new Float64Array(program.n);
    shares.forEach((share, r) => {
      const { placed, gradient } = activeBounds[r]!;
      if (Math.abs(share) <= ROUNDING) return;
      if (placed !== undefined) rows.add(placed);
      for (let i = 0; i < sum.length; i++) sum[i]! += share * gradient[i]!;
    });
    for (let i = 0; i < sum.length; i++) if (Math.abs(sum[i]!) > ROUNDING) names.add(i);
  }
  const sharedBounds = listSharedBounds(sides);
  const isDependent = ({ placed, side, isBinding }: RowSide): boolean => {
    const { row, origin } = placed;
    if (!isBinding || side === 'eq' || origin.index === null) return false;
    return row.form === 'name' ? names.has(row.name) || sharedBounds.has(`${side} ${row.name}`) : rows.has(placed);
  };
  return new Set(sides.filter(isDependent));
}

/** Returns the weight bounds that several of the client's rows set. */
function listSharedBounds(sides: readonly RowSide[]): Set<string> {
  const seenKeys = new Set<string>();
  const sharedBounds = new Set<string>();
  for (const { placed, side, isBinding } of sides) {
    const { row, origin } = placed;
    if (row.form !== 'name' || !isBinding || origin.index === null || origin.soft !== null) continue;
    for (const bound of side === 'eq' ? ['lower', 'upper'] : [side]) {
      const key = `${bound} ${row.name}`;
      if (seenKeys.has(key)) sharedBounds.add(key);
      seenKeys.add(key);
    }
  }
  return sharedBounds;
}

/** Returns the active linear rows, kink limits and norm limits, with their gradients. */
function listActiveBounds({ assembled, answer }: Pick<ConvexSolution, 'assembled' | 'answer'>): ActiveBound[] {
  const { program, linear, kinks, norms } = assembled;
  const { n, rows } = program;
  const { x } = answer.point;
  const activeBounds: ActiveBound[] = [];
  for (let r = 0; r < rows.count; r++) {
    const gradient = rows.coefficients.subarray(r * n, (r + 1) * n);
    const value = computeDotProduct(gradient, x);
    if (Math.min(Math.abs(value - rows.lower[r]!), Math.abs(value - rows.upper[r]!)) <= ACTIVE_TOLERANCE)
      activeBounds.push({ placed: linear[r], gradient });
  }
  program.kinks.forEach((kink, k) => {
    if (kink.limit === null || Math.abs(sumKinks(kink, x) - kink.limit) > ACTIVE_TOLERANCE) return;
    const { at, left, right } = kink;
    activeBounds.push({ placed: kinks[k], gradient: x.map((value, i) => (value > at[i]! ? right[i]! : left[i]!)) });
  });
  program.norms.forEach((norm, q) => {
    const offset = x.map((value, i) => value - norm.centre[i]!);
    const force = computeNormForce(program, norm, offset, new Float64Array(n));
    const length = Math.sqrt(Math.max(0, computeDotProduct(force, offset)));
    if (length > ACTIVE_TOLERANCE && Math.abs(length - norm.radius) <= ACTIVE_TOLERANCE)
      activeBounds.push({ placed: norms[q], gradient: force });
  });
  return activeBounds;
}

/** Returns 1 for securities that neither a bound nor a kink holds, [n]. */
function markFreeSecurities({ lower, upper, kinks }: Program, x: Float64Array): Uint8Array {
  const freeFlags = Uint8Array.from(x, (value, i) =>
    Number(value - lower[i]! > ACTIVE_TOLERANCE && upper[i]! - value > ACTIVE_TOLERANCE),
  );
  for (const kink of kinks) {
    const { at, left, right, limit } = kink;
    const isMet = limit === null || sumKinks(kink, x) >= limit - ACTIVE_TOLERANCE;
    for (let i = 0; i < x.length; i++)
      if (isMet && left[i] !== right[i] && Math.abs(x[i]! - at[i]!) <= ACTIVE_TOLERANCE) freeFlags[i] = 0;
  }
  return freeFlags;
}

/**
 * Returns the linear combinations of rows that are zero on all free securities, as coefficients by row. They are
 * computed by Gaussian elimination with the largest coefficient as pivot.
 */
function findDependencies(activeBounds: readonly ActiveBound[], isFree: Uint8Array): Float64Array[] {
  const results: Float64Array[] = [];
  const pivots: { readonly at: number; readonly row: Float64Array; readonly shares: Float64Array }[] = [];
  activeBounds.forEach(({ gradient }, r) => {
    const row = gradient.map((value, i) => (isFree[i] === 1 ? value : 0));
    const shares = new Float64Array(activeBounds.length);
    shares[r] = 1;
    for (const pivot of pivots) {
      const factor = row[pivot.at]! / pivot.row[pivot.at]!;
      if (factor === 0) continue;
      for (let i = 0; i < row.length; i++) row[i]! -= factor * pivot.row[i]!;
      for (let k = 0; k <= r; k++) shares[k]! -= factor * pivot.shares[k]!;
      row[pivot.at] = 0;
    }
    const largest = row.reduce((best, value, i) => (Math.abs(value) > Math.abs(row[best]!) ? i : best), 0);
    const size = gradient.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    if (Math.abs(row[largest]!) > ROUNDING * size) pivots.push({ at: largest, row, shares });
    else if (size > 0) results.push(shares);
  });
  return results;
}

/** Problem with the solution to be explained. */
interface ExplainedInput {
  readonly problem: Problem;
  readonly solution: ConvexSolution;
  readonly sides: readonly RowSide[];
}

/**
 * Returns the restriction to the present choice of securities. With it, the convex rows can be solved again. Returns
 * undefined if no row chooses securities.
 */
function fixHeldSecurities(problem: Problem, weights: Float64Array): Restriction | undefined {
  const rows = listNonConvexRows(problem).map(({ row }) => row);
  if (rows.length === 0) return undefined;
  const large = rows.flatMap((row) =>
    row.form === 'concentration' ? [Uint8Array.from(weights, (weight) => Number(weight > row.trigger + HELD_MIN))] : [],
  );
  return createRestriction(rows, { held: markHoldings(weights), short: markShort(weights), large, isFinal: true });
}

/** Security without a weight, and the change that would give it a weight. */
export interface NextSecurity {
  readonly identifier: string;
  /** Change of the objective, in reported units, per unit of weight in the security. */
  readonly marginal: number;
  /**
   * Expected return of the security, and the expected return above which it is held. Null if neither the objective nor
   * a binding constraint measures expected returns.
   */
  readonly expectedReturn: number | null;
  readonly entryReturn: number | null;
}

export const NEXT_SECURITIES_MAX = 10;

/**
 * Returns the securities that would be held next: only their lower bound of zero excludes them. They are ordered by how
 * near they are to a positive weight. A security enters once its expected return exceeds `entryReturn`, with all else
 * unchanged.
 * @cost of a product with the covariance
 * @source Boyd & Vandenberghe (2004), Convex Optimization, section 5.5.3: the gradient at a bound.
 */
export function listNextSecurities(problem: Problem, solution: ConvexSolution): NextSecurity[] {
  const { assembled, answer, weights, priceScale } = solution;
  const { lower, upper } = assembled.program;
  const { right } = computeLagrangianSlopes(assembled.program, answer.point);
  const returnScale = computeReturnScale(problem, solution);
  const { expectedReturns } = problem;
  return Array.from(weights.keys())
    .filter((i) => weights[i] === 0 && lower[i] === 0 && upper[i]! > 0)
    .map((i) => ({ i, distance: priceScale * Math.max(right[i]!, 0) }))
    .toSorted((a, b) => a.distance - b.distance || compareText(problem.identifiers[a.i]!, problem.identifiers[b.i]!))
    .slice(0, NEXT_SECURITIES_MAX)
    .map(({ i, distance }) => ({
      identifier: problem.identifiers[i]!,
      marginal: convertToObjectiveTerms(problem, distance),
      expectedReturn: returnScale === null ? null : expectedReturns![i]!,
      entryReturn: returnScale === null ? null : expectedReturns![i]! + distance * returnScale,
    }));
}

/**
 * Returns the expected return per unit of weight that offsets one unit of the objective per unit of weight, through the
 * objective and through limits on the expected return. Returns null if neither measures expected returns.
 */
function computeReturnScale(
  { objective, expectedReturns, goal, metric, robustness }: Problem,
  { assembled, answer, weights, priceScale }: ConvexSolution,
): number | null {
  if (expectedReturns === null) return null;
  const own = goal.form === 'ratio' ? Math.sqrt(computeWorstVariance(metric, robustness, weights)) : 1;
  const worthOfLimits = assembled.linear.reduce(
    (sum, placed, r) =>
      findConstraintClass(placed?.origin.type ?? '')?.needsReturns === true
        ? sum - priceScale * answer.point.rowMultipliers[r]!
        : sum,
    0,
  );
  if (!objective.entry.needsReturns) return worthOfLimits === 0 ? null : 1 / worthOfLimits;
  return worthOfLimits === 0 ? own : 1 / (1 / own + worthOfLimits);
}

/**
 * Maximum number of multiplications for repeated solves. They take about ten seconds if tails make a solve a hundred
 * times as expensive as a variance. Work is counted instead of time, so that equal requests have equal explanations.
 */
const WEIGHING_WORK_MAX = 1e10;

const WORK_LIMIT_REACHED = Symbol('the work limit was reached');

/** Repeated solves of one explanation within a shared work limit. */
interface Weighing {
  /** Runs a function with solvers that count work. Returns `WORK_LIMIT_REACHED` if the work limit is reached. */
  find<T>(solveAgain: (solvers: Solvers) => T): T | typeof WORK_LIMIT_REACHED;
}

/** Error that ends a solve at the work limit. A tail with curved costs may need many programs. */
class WorkSpentError extends Error {}

/**
 * Creates repeated solves with a work limit.
 * @param workMax maximum number of multiplications of all solves together. Default: a limit only for tails.
 */
function createWeighing(
  { solver: inner, algebra }: Solvers,
  problem: Problem,
  workMax = hasTails(problem) ? WEIGHING_WORK_MAX : Infinity,
): Weighing {
  const meter = meterSolver(inner);
  const assertWorkLeft = () => {
    if (meter.spent() >= workMax) throw new WorkSpentError();
  };
  const solver: Solver = {
    solve(program, options) {
      assertWorkLeft();
      return meter.solve(program, options);
    },
    nearly(program) {
      assertWorkLeft();
      return meter.nearly(program);
    },
  };
  return {
    find(solveAgain) {
      try {
        assertWorkLeft();
        return solveAgain({ solver, algebra });
      } catch (error) {
        if (error instanceof WorkSpentError) return WORK_LIMIT_REACHED;
        throw error;
      }
    },
  };
}

/** Small change as a fraction of the step of a sensitivity. */
const SMALL_FRACTION = 0.01;

/** Small change of a bound in the bound's unit, relative to the larger of 1 and the bound. */
const SMALL_STEP = 1e-4;

/** Maximum number of bounds that are loosened one by one, largest multipliers first. Each needs a solve. */
const LOOSENED_ROWS_MAX = 40;

/** Maximum number of multiplications for loosened bounds, about two seconds. */
const WORK_MAX = 2e9;

/** Change of the objective below which it counts as zero, relative to the larger of 1 and the objective. */
const ZERO_CHANGE = 1e-12;

export interface OneSidedPrices {
  /**
   * All row sides. The shadow price of a dependent side comes from loosening the side slightly: the change of the
   * objective per unit.
   */
  readonly sides: readonly RowSide[];
  /** Row sides that follow from other bounds. Their multipliers are not prices. */
  readonly dependent: ReadonlySet<RowSide>;
}

/**
 * Computes the prices of bounds that follow from other bounds. Several sets of multipliers then satisfy the optimality
 * conditions, so the problem is solved again with the bound slightly loosened. All other prices are the multipliers. If
 * the work limit is reached, the multiplier is returned as an upper bound of the price.
 * @cost of at most `LOOSENED_ROWS_MAX` solves
 */
export function computeOneSidedPrices(
  solvers: Solvers,
  { problem, solution, sides }: ExplainedInput,
  workMax = WORK_MAX,
): OneSidedPrices {
  const dependentSides = findDependentSides(solution, sides);
  if (dependentSides.size === 0) return { sides, dependent: dependentSides };
  const weighing = createWeighing(solvers, problem, workMax);
  const sidesByPrice = [...dependentSides]
    .filter(({ shadowPrice }) => shadowPrice !== 0)
    .toSorted((a, b) => Math.abs(b.shadowPrice) - Math.abs(a.shadowPrice))
    .slice(0, LOOSENED_ROWS_MAX);
  const prices = new Map(sidesByPrice.map((side) => [side, computeSinglePrice(weighing, { problem, solution }, side)]));
  return {
    sides: sides.map((side) => ({ ...side, shadowPrice: prices.get(side) ?? side.shadowPrice })),
    dependent: dependentSides,
  };
}

type SolvedProblem = Pick<ExplainedInput, 'problem' | 'solution'>;

/** Returns the price of one side of a row. Returns undefined without a solution, or if the work limit is reached. */
function computeSinglePrice(
  weighing: Weighing,
  { problem, solution }: SolvedProblem,
  side: RowSide,
): number | undefined {
  const { placed, limit } = side;
  const stepSize = (side.side === 'upper' ? 1 : -1) * SMALL_STEP * Math.max(1, Math.abs(limit));
  const loosenedRow = { ...placed, row: loosenRow(placed.row, side, stepSize) };
  const rows = problem.rows.map((rowWithOrigin) => (rowWithOrigin === placed ? loosenedRow : rowWithOrigin));
  return computeSlopeToSide(weighing, { problem: { ...problem, rows }, solution }, stepSize);
}

/**
 * Returns the change of the objective per unit between two solutions: the given one, and that of a problem in which a
 * bound differs by `by`. Returns undefined without the second solution.
 */
function computeSlopeToSide(weighing: Weighing, { problem, solution }: SolvedProblem, by: number): number | undefined {
  const options = { restriction: fixHeldSecurities(problem, solution.weights), warm: solution.answer.state };
  const repeatedSolution = weighing.find(({ solver }) => solveConvex(solver, problem, options));
  return repeatedSolution === undefined || repeatedSolution === WORK_LIMIT_REACHED
    ? undefined
    : computeDifference(problem, solution, repeatedSolution) / by;
}

function computeDifference(problem: Problem, before: ConvexSolution, after: ConvexSolution): number {
  const change = after.objective - before.objective;
  return Math.abs(change) <= ZERO_CHANGE * Math.max(1, Math.abs(before.objective))
    ? 0
    : convertToObjectiveTerms(problem, change);
}

/** Moves one side of a row by an amount in the unit of its shadow price. */
function loosenRow(row: ProgramRow, { side }: Pick<RowSide, 'side'>, by: number): ProgramRow {
  const moveLimit = (limit: Limit): Limit => ({ ...limit, value: limit.value + by });
  switch (row.form) {
    case 'linear': {
      const { average } = row;
      if (average !== undefined) {
        const position = by / average.scale;
        const shift = computeAverageCoefficients(average, position).map((value, i) => value - average.numerator[i]!);
        return { ...row, coefficients: row.coefficients.map((value, i) => value + shift[i]!) };
      }
      return moveSide(row);
    }
    case 'name':
      return moveSide(row);
    case 'distance':
    case 'tail':
      return { ...row, limit: moveLimit(row.limit) };
    case 'norm':
      return { ...row, limit: { ...row.limit, value: row.radiusOf(row.parameterOf(row.limit.value) + by) } };
    default:
      return row;
  }

  function moveSide<T extends { readonly lower: Limit | null; readonly upper: Limit | null }>(bounded: T): T {
    return side === 'upper'
      ? { ...bounded, upper: bounded.upper && moveLimit(bounded.upper) }
      : { ...bounded, lower: bounded.lower && moveLimit(bounded.lower) };
  }
}

/** Cost of a row: the objective with and without it. */
export interface RowCost {
  /** Client's id of the row, empty without an id, and its position. */
  readonly id: string;
  readonly index: number;
  readonly type: string;
  /** Objective without the row; null if it is unknown. */
  readonly without: number | null;
  /**
   * Cost of the row in the objective. It is at least 0, except for rows that replace a default. Null if it is unknown.
   */
  readonly cost: number | null;
  /**
   * Reason why both figures are unknown: nothing else bounds the objective, or the work limit was reached. Null if both
   * are known.
   */
  readonly reason: 'no_answer' | 'work_spent' | null;
  readonly sentence: string;
}

/**
 * Maximum number of rows that are removed one by one. Each needs a solve, or a search if the row chooses securities.
 */
export const COSTED_ROWS_MAX = 20;

/**
 * Computes the cost of each row in the request: how much the objective changes without the row. A row that does not
 * bind costs nothing. If any row chooses securities, the held securities stay fixed while a convex row is removed.
 * @param workMax maximum number of multiplications of all solves together. Default: a limit only for tails.
 * @cost of a solve for each row that binds, of a search for one that chooses securities
 */
export function computeRowCosts(
  solvers: Solvers,
  { problem, solution, sides }: ExplainedInput,
  workMax?: number,
): RowCost[] {
  const weighing = createWeighing(solvers, problem, workMax);
  const pricedOrigins = new Set(
    sides.filter(({ isBinding, shadowPrice }) => isBinding && shadowPrice !== 0).map(({ placed }) => placed.origin),
  );
  const costedOrigins = problem.origins.filter(({ index }) => index !== null).slice(0, COSTED_ROWS_MAX);
  const before = convertToObjectiveTerms(problem, solution.objective);
  return costedOrigins.map((origin): RowCost => {
    const { convex: isConvex, replacesInvestment, replacesLongOnly } = findConstraintClass(origin.type)!; // rows have been validated
    // If a row that replaces a default row is removed, the default row takes its place.
    const replacesDefault = replacesInvestment !== undefined || replacesLongOnly !== undefined;
    const mayMatter = !isConvex || pricedOrigins.has(origin) || replacesDefault;
    const value = mayMatter
      ? weighing.find((again) => computeObjectiveWithout(again, problem, { origin, isConvex, solution }))
      : solution.objective;
    const about = { id: origin.id, index: origin.index!, type: origin.type };
    const createSentence = (change: string) => `Removing ${origin.name} ${change}.`;
    if (value === null || value === WORK_LIMIT_REACHED)
      return {
        ...about,
        without: null,
        cost: null,
        reason: value === null ? 'no_answer' : 'work_spent',
        sentence: createSentence(
          value === null
            ? 'leaves the objective unbounded'
            : 'was not solved: the work limit for explanations was reached',
        ),
      };
    const valueWithout = convertToObjectiveTerms(problem, value);
    return {
      ...about,
      without: valueWithout,
      cost: solution.objective - value,
      reason: null,
      sentence: createSentence(describeChange(problem, before, valueWithout)),
    };
  });
}

interface RemovedRow extends Pick<ExplainedInput, 'solution'> {
  readonly origin: Origin;
  readonly isConvex: boolean;
}

/** Returns the minimised objective without a row. Returns null without a solution. */
function computeObjectiveWithout(
  solvers: Solvers,
  problem: Problem,
  { origin, isConvex, solution }: RemovedRow,
): number | null {
  const remainingProblem = problem.without(origin);
  if (isConvex) {
    const restriction = fixHeldSecurities(problem, solution.weights);
    return (
      solveConvex(solvers.solver, remainingProblem, { restriction, warm: solution.answer.state })?.objective ?? null
    );
  }
  const outcome = solveProblem(solvers, remainingProblem);
  return outcome.kind === 'solved' ? outcome.solution.objective : null;
}

/** Effect of a change of one parameter on the objective, from solving the problem again. */
export interface Sensitivity {
  /** Client's id of the row, empty without an id, and its position. */
  readonly id: string;
  readonly index: number;
  readonly type: string;
  readonly parameter: string;
  readonly from: number;
  readonly to: number;
  /** Difference `to - from`. */
  readonly change: number;
  /** Change of the objective; null if the work limit was reached before the problem was solved again. */
  readonly effect: number | null;
  /** Effect per unit of the parameter for an infinitely small change. */
  readonly shadowPrice: number;
  readonly sentence: string;
}

/** Maximum number of parameters that are changed, largest effect first. Each needs a solve. */
export const SENSITIVITIES_MAX = 20;

/** Step of a parameter by unit: a percentage point, one security, or one hundredth of the value. */
const STEP_BY_UNIT = { fraction: 0.01, count: 1, value: 0.01 } as const;

interface BindingParameter {
  readonly origin: Origin;
  readonly parameter: string;
  readonly from: number;
  readonly to: number;
  readonly shadowPrice: number;
  /** True if one of the bounds that the parameter sets follows from other bounds. */
  readonly isDependent: boolean;
}

export interface SensitivityOptions {
  /** Maximum number of multiplications of all solves together. Default: a limit only for tails. */
  readonly workMax?: number | undefined;
  /** Row sides whose multipliers are not prices. */
  readonly dependent?: ReadonlySet<RowSide>;
}

/**
 * Computes how the objective changes when each binding bound is loosened by a percentage point, one security, or a
 * hundredth of another value. The held securities stay fixed if any row chooses securities.
 * @cost of at most `SENSITIVITIES_MAX` solves, and as many with a small change of parameters of dependent sides
 */
export function computeSensitivities(
  solvers: Solvers,
  { problem, solution, sides }: ExplainedInput,
  { workMax, dependent = new Set() }: SensitivityOptions = {},
): Sensitivity[] {
  const weighing = createWeighing(solvers, problem, workMax);
  const restriction = fixHeldSecurities(problem, solution.weights);
  const warm = solution.answer.state;
  return listBounds(sides, dependent).flatMap((bound): Sensitivity[] => {
    const { origin, parameter, from, to } = bound;
    const repeatedSolution = weighing.find(({ solver }) =>
      solveConvex(solver, problem.withParameters([{ origin, parameter, to }]), { restriction, warm }),
    );
    if (repeatedSolution === undefined) return [];
    const effect =
      repeatedSolution === WORK_LIMIT_REACHED
        ? null
        : convertToObjectiveTerms(problem, repeatedSolution.objective - solution.objective);
    const changeText =
      repeatedSolution === WORK_LIMIT_REACHED
        ? 'was not solved: the work limit for explanations was reached'
        : describeChange(
            problem,
            convertToObjectiveTerms(problem, solution.objective),
            convertToObjectiveTerms(problem, repeatedSolution.objective),
          );
    const heldPhrase =
      restriction === undefined || repeatedSolution === WORK_LIMIT_REACHED ? '' : ', with the same securities held';
    const stepText = `${to > from ? 'Raising' : 'Lowering'} ${describeParameter(parameter)} of ${origin.name} from ${formatValue(origin, parameter, from)} to ${formatValue(origin, parameter, to)}`;
    return [
      {
        id: origin.id,
        index: origin.index!, // rows of the request have an index
        type: origin.type,
        parameter,
        from,
        to,
        change: to - from,
        effect,
        shadowPrice: bound.isDependent ? (computeSmallestSlope(bound) ?? bound.shadowPrice) : bound.shadowPrice,
        sentence: `${stepText} ${changeText}${heldPhrase}.`,
      },
    ];
  });

  function computeSmallestSlope({ origin, parameter, from, to }: BindingParameter): number | undefined {
    const stepSize = SMALL_FRACTION * (to - from);
    const nearChange = { origin, parameter, to: from + stepSize };
    return computeSlopeToSide(weighing, { problem: problem.withParameters([nearChange]), solution }, stepSize);
  }
}

/** Returns the parameters that set bounds with a nonzero price, largest effect of a step first. */
function listBounds(sides: readonly RowSide[], dependent: ReadonlySet<RowSide>): BindingParameter[] {
  const bounds = new Map<string, BindingParameter>();
  for (const rowSide of sides) {
    const { placed, side, isBinding, shadowPrice } = rowSide;
    const { origin, row } = placed;
    const limit = side === 'eq' ? null : findLimit(row, side);
    const parameter = limit?.parameter ?? null;
    if (!isBinding || shadowPrice === 0 || origin.index === null || limit === null || parameter === null) continue;
    const from = origin.params[parameter];
    // Securities that only a lower bound of zero excludes are reported by `listNextSecurities`.
    if (typeof from !== 'number' || (row.form === 'name' && side === 'lower' && from === 0)) continue;
    const key = `${origin.index} ${parameter}`;
    const price = shadowPrice * computeSlope(row, limit);
    const bindingParameter = bounds.get(key);
    const outward = (side === 'upper' ? 1 : -1) * (limit.slope < 0 ? -1 : 1);
    const to = solveAtStep(origin, { parameter, from, outward });
    if (to === undefined) continue;
    const isDependent = bindingParameter?.isDependent === true || dependent.has(rowSide);
    bounds.set(key, {
      origin,
      parameter,
      from,
      to,
      shadowPrice: price + (bindingParameter?.shadowPrice ?? 0),
      isDependent,
    });
  }
  const computeEffect = ({ from, to, shadowPrice }: BindingParameter) => Math.abs((to - from) * shadowPrice);
  return [...bounds.values()].toSorted((a, b) => computeEffect(b) - computeEffect(a)).slice(0, SENSITIVITIES_MAX);
}

function findLimit(row: ProgramRow, side: 'lower' | 'upper'): Limit | null {
  switch (row.form) {
    case 'name':
    case 'linear':
      return row[side];
    case 'distance':
    case 'norm':
    case 'tail':
      return row.limit;
    default:
      return null;
  }
}

/**
 * Returns the change of the priced bound per unit of the parameter. It is 1 for a norm, because its price is already
 * per unit of the parameter.
 */
function computeSlope(row: ProgramRow, limit: Limit): number {
  if (row.form === 'norm') return 1;
  return row.form === 'linear' && row.average !== undefined ? row.average.scale : limit.slope;
}

/**
 * Returns the value of a parameter after one loosening step. Returns undefined if the class does not accept the value.
 */
function solveAtStep(
  { type, unit, params }: Origin,
  { parameter, from, outward }: { readonly parameter: string; readonly from: number; readonly outward: number },
): number | undefined {
  const size = unit === 'value' && from !== 0 ? STEP_BY_UNIT.value * Math.abs(from) : STEP_BY_UNIT[unit];
  const to = Number((from + outward * size).toPrecision(12));
  const isAccepted = findConstraintClass(type)!.params.safeParse({ ...params, [parameter]: to }).success; // rows have been validated
  return isAccepted ? to : undefined;
}

function formatValue({ type }: Origin, parameter: string, value: number): string {
  const formatRounded = (number: number) => String(Number(number.toPrecision(6)));
  return isFraction(findConstraintClass(type)!, parameter) ? `${formatRounded(100 * value)}%` : formatRounded(value);
}

/** Describes a parameter, for example `the lower bound`. */
const describeParameter = (parameter: string): string =>
  `the ${parameter.replaceAll('_', ' ')}${parameter === 'lower' || parameter === 'upper' ? ' bound' : ''}`;
