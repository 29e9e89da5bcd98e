import type { AccountProgram } from '#kernels/lots/account-program.js';
import { solveAccount, type AccountSolution } from '#kernels/lots/solve-account.js';

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

/** Returns permitted trades with the lowest tax. Returns undefined if none are found. */
export function findUntaxedTrades(
  program: AccountProgram,
  sides: AccountProgram['sides'],
): AccountSolution | undefined {
  const answer = solveAccount({ ...program, ...UNTAXED_WEIGHTS, sides }, { nodes: 0 });
  return answer.status === 'optimal' ? answer : undefined;
}

/** Returns permitted trades with the lowest tracking error. Returns undefined if none are found. */
export function findNearestTrades(program: AccountProgram): AccountSolution | undefined {
  const answer = solveAccount({ ...program, ...NEAREST_WEIGHTS }, { nodes: 0 });
  return answer.status === 'optimal' ? answer : undefined;
}
