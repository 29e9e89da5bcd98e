import type { AccountProgram } from '#kernels/lots/account-program.js';
import { solveAccount, type AccountSolution, type SearchLimits } from '#kernels/lots/solve-account.js';
import { computeFigures } from '#kernels/lots/trade-figures.js';
import type { BatchCommon } from './batch-common.js';
import type { BuiltAccount } from './build-account.js';
import { findTrades, isDiscrete } from './find-trades.js';
import { searchRegions, type SearchedAccount } from './search-regions.js';

/** Solves an account. */
export function solveOne(common: BatchCommon, { account, window }: BuiltAccount): SearchedAccount {
  const limits = { nodes: common.terms.search_nodes };
  const adapt = (program: AccountProgram): AccountProgram => program;
  return searchRegions({ common, account, window, adapt, solve: (program) => solveWithin(program, limits) });
}

/**
 * Solves an account. If the rounded trades violate a limit, any permitted trades are accepted. The bound is that of the
 * original solution.
 */
function solveWithin(program: AccountProgram, limits: SearchLimits): AccountSolution {
  const answer = solveAccount(program, limits);
  const accountSolution = answer.status === 'infeasible' && isDiscrete(program) ? findTrades(program) : undefined;
  if (accountSolution === undefined) return answer;
  const { trades, certificates, certificateIndex, steps } = accountSolution;
  const side = answer.certificates.findIndex(
    (certificate) => certificate.side === certificates[certificateIndex]!.side,
  );
  return {
    ...answer,
    status: 'optimal',
    trades,
    figures: computeFigures(program, trades),
    certificateIndex: Math.max(0, side),
    steps: answer.steps + steps,
  };
}
