import type { AccountProgram } from '#kernels/lots/account-program.js';
import { solveAccount, type AccountSolution } from '#kernels/lots/solve-account.js';
import { searchRegions, type SearchQuestion } from './search-regions.js';

/** Weights of the objective in a search for any permitted trades. */
const SEARCH_WEIGHTS = { taxWeight: 1e-3, aversion: 1 } as const;
/** Weights of the objective in a search for the lowest tracking error. */
const NEAREST_WEIGHTS = { taxWeight: 1e-3, aversion: 1000 } as const;

/** Weights of the objective in a search for the lowest tax. */
const UNTAXED_WEIGHTS = { taxWeight: 1000, aversion: 1 } as const;

/** Returns true if the trades of an account are rounded. */
export const isDiscrete = ({ unit, minimumTrade }: AccountProgram): boolean =>
  unit.some((step) => step > 0) || minimumTrade.some((least) => least > 0);

/**
 * Returns permitted trades. Returns undefined if none are found; unless trades are rounded, this proves infeasibility.
 * If rounding fails under the tracking error limit, tries the trades with the lowest tracking error.
 */
export function findTrades(program: AccountProgram): AccountSolution | undefined {
  const answer = solveAccount({ ...program, ...SEARCH_WEIGHTS }, { nodes: 0 });
  if (answer.status === 'optimal') return answer;
  const nearest = isDiscrete(program) ? findNearestTrades({ ...program, varianceLimit: Infinity }) : undefined;
  return nearest !== undefined && nearest.figures.variance <= program.varianceLimit ? nearest : undefined;
}

/** Returns permitted trades with the lowest tracking error. Returns undefined if none are found. */
function findNearestTrades(program: AccountProgram): AccountSolution | undefined {
  const answer = solveAccount({ ...program, ...NEAREST_WEIGHTS }, { nodes: 0 });
  return answer.status === 'optimal' ? answer : undefined;
}

export type FinderQuestion = Omit<SearchQuestion, 'solve'>;

/** Returns permitted trades of an account. Returns undefined if none are found. */
export function findAccountTrades(question: FinderQuestion): AccountSolution | undefined {
  const solve = (program: AccountProgram): AccountSolution =>
    findTrades(program) ?? solveAccount({ ...program, ...SEARCH_WEIGHTS }, { nodes: 0 });
  return keepPermitted(
    searchRegions({ ...question, adapt: (own) => ({ ...question.adapt(own), ...SEARCH_WEIGHTS }), solve }).answer,
  );
}

/** Returns permitted trades of an account with the lowest tracking error. */
export const findNearestAccountTrades = (question: FinderQuestion): AccountSolution | undefined =>
  findWeighted(question, NEAREST_WEIGHTS);

/** Returns permitted trades of an account with the lowest tax. */
export const findUntaxedAccountTrades = (
  question: FinderQuestion,
  sides: AccountProgram['sides'],
): AccountSolution | undefined => findWeighted(question, { ...UNTAXED_WEIGHTS, sides });

function findWeighted(question: FinderQuestion, weights: Partial<AccountProgram>): AccountSolution | undefined {
  const adapt = (own: AccountProgram): AccountProgram => ({ ...question.adapt(own), ...weights });
  return keepPermitted(
    searchRegions({ ...question, adapt, solve: (program) => solveAccount(program, { nodes: 0 }) }).answer,
  );
}

const keepPermitted = (answer: AccountSolution): AccountSolution | undefined =>
  answer.status === 'optimal' ? answer : undefined;
