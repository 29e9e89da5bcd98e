import { findConstraintClass } from '../../constraints/catalogue.js';
import type { Origin, Problem } from '../problem.js';
import { solveProblem } from '../search.js';
import { solveConvex } from '../solve-convex.js';
import type { Solvers } from '../solvers.js';
import { describeChange, convertToObjectiveTerms } from './change-sentence.js';
import type { ExplainedInput } from './explained-input.js';
import { fixHeldSecurities } from './fixed-securities.js';
import { createWeighing, WORK_LIMIT_REACHED } from './weighing.js';

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

/** Row types that replace a default row. If such a row is removed, the default row takes its place. */
const REPLACES_DEFAULT: ReadonlySet<string> = new Set(['FullInvestment', 'WeightSum', 'LongOnly', 'PositionBounds']);

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
    const isConvex = findConstraintClass(origin.type)!.convex; // rows have been validated
    const mayMatter = !isConvex || pricedOrigins.has(origin) || REPLACES_DEFAULT.has(origin.type);
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
