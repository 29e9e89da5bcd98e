import type { Limit, ProgramRow } from '../../constraints/program-row.js';
import { computeAverageCoefficients } from '../averages.js';
import type { Solvers } from '../solvers.js';
import type { Problem } from '../problem.js';
import type { RowSide } from '../report.js';
import { solveConvex, type ConvexSolution } from '../solve-convex.js';
import { convertToObjectiveTerms } from './change-sentence.js';
import { findDependentSides } from './dependent-bounds.js';
import type { ExplainedInput } from './explained-input.js';
import { fixHeldSecurities } from './fixed-securities.js';
import { createWeighing, WORK_LIMIT_REACHED, type Weighing } from './weighing.js';

/** Small change as a fraction of the step of a sensitivity. */
export const SMALL_FRACTION = 0.01;

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
export function computeSlopeToSide(
  weighing: Weighing,
  { problem, solution }: SolvedProblem,
  by: number,
): number | undefined {
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
