import { findConstraintClass } from '../../constraints/catalogue.js';
import type { Origin, Problem } from '../problem.js';
import { solveProblem } from '../search.js';
import { solveConvex } from '../solve-convex.js';
import type { Solvers } from '../name-search.js';
import { changeSentence, ownTerms } from './change-sentence.js';
import type { ExplainedInput } from './explained-input.js';
import { heldChoice } from './held-choice.js';
import { createWeighing, SPENT } from './weighing.js';

/** What the objective would be without a row. */
export interface RowCost {
  /** The client's id of the row, empty when there is none, and its position. */
  readonly id: string;
  readonly index: number;
  readonly type: string;
  /** The objective without the row, in its own terms; null for the reason. */
  readonly without: number | null;
  /** How much worse the objective is with the row, at least 0 but for rows that replace a default. */
  readonly cost: number | null;
  /** Why neither is known: nothing else bounds the objective, or the work is spent; null where both are. */
  readonly reason: 'no_answer' | 'work_spent' | null;
  readonly sentence: string;
}

/** Rows that are left out by turns, in their order: each is a solve, or a search where it chooses names. */
export const COSTED_ROWS_MAX = 20;

/** Rows without which a default holds: leaving one out is not only a relaxation. */
const REPLACES_DEFAULT: ReadonlySet<string> = new Set(['FullInvestment', 'WeightSum', 'LongOnly', 'PositionBounds']);

/**
 * What each of the client's rows costs: the objective of the problem that is stated without it. A row that does not
 * bind costs nothing. Where rows choose names, a convex row is left out with the same names held.
 * @param workMax Multiplications of all solves together; only those of tails have a limit unless given.
 * @cost of a solve for each row that binds, of a search for one that chooses names
 */
export function rowCostsOf(
  solvers: Solvers,
  { problem, solution, sides }: ExplainedInput,
  workMax?: number,
): RowCost[] {
  const weighing = createWeighing(solvers, problem, workMax);
  const priced = new Set(
    sides.filter(({ isBinding, shadowPrice }) => isBinding && shadowPrice !== 0).map(({ placed }) => placed.origin),
  );
  const own = problem.origins.filter(({ index }) => index !== null).slice(0, COSTED_ROWS_MAX);
  const before = ownTerms(problem, solution.objective);
  return own.map((origin): RowCost => {
    const isConvex = findConstraintClass(origin.type)!.convex; // of a valid row
    const mayMatter = !isConvex || priced.has(origin) || REPLACES_DEFAULT.has(origin.type);
    const value = mayMatter
      ? weighing.find((again) => objectiveWithout(again, problem, { origin, isConvex, solution }))
      : solution.objective;
    const about = { id: origin.id, index: origin.index!, type: origin.type };
    const sentence = (change: string) => `Leaving out ${origin.name} ${change}.`;
    if (value === null || value === SPENT)
      return {
        ...about,
        without: null,
        cost: null,
        reason: value === null ? 'no_answer' : 'work_spent',
        sentence: sentence(
          value === null ? 'leaves the objective unbounded' : 'was not solved: the work for explanations is spent',
        ),
      };
    const without = ownTerms(problem, value);
    return {
      ...about,
      without,
      cost: solution.objective - value,
      reason: null,
      sentence: sentence(changeSentence(problem, before, without)),
    };
  });
}

interface LeftOut extends Pick<ExplainedInput, 'solution'> {
  readonly origin: Origin;
  readonly isConvex: boolean;
}

/** The objective, as it is made small, without a row; null without an answer. */
function objectiveWithout(solvers: Solvers, problem: Problem, { origin, isConvex, solution }: LeftOut): number | null {
  const rest = problem.without(origin);
  if (isConvex) {
    const restriction = heldChoice(problem, solution.weights);
    return solveConvex(solvers.solver, rest, { restriction, warm: solution.answer.state })?.objective ?? null;
  }
  const outcome = solveProblem(solvers, rest);
  return outcome.kind === 'solved' ? outcome.solution.objective : null;
}
