import type { AccountProgram } from '#kernels/lots/account-program.js';
import { solveAccount, type AccountSolution, type SearchLimits } from '#kernels/lots/solve-account.js';
import { computeFigures } from '#kernels/lots/trade-figures.js';
import type { BatchCommon } from './batch-common.js';
import type { BuiltAccount } from './build-account.js';
import { findTrades, isDiscrete } from './find-trades.js';

/**
 * Maximum number of rounds that exclude purchases of single substitutes because of a wash sale. After them, all
 * substitutes are excluded.
 */
const ROUNDS_MAX = 3;

export interface SolvedAccount {
  readonly answer: AccountSolution;
  /** Securities of the program that may not be bought because a substitute is sold at a loss. */
  readonly substitutes: ReadonlySet<number>;
}

/**
 * Solves an account. A security must not be bought if a substitute of it is sold at a loss. Purchases that violate this
 * are excluded, and the account is solved again. The proofs of the bound are those of the account without the
 * exclusions; they are valid for both.
 */
export function solveOne(common: BatchCommon, builtAccount: BuiltAccount): SolvedAccount {
  const { program, account, names, forced } = builtAccount;
  const limits = { nodes: common.terms.search_nodes };
  const first = solveWithin(program, limits);
  const groups = account.substitutes.map((group) =>
    group
      .map((name) => names.findIndex((position) => common.identifiers[position] === name))
      .filter((position) => position >= 0),
  );
  const lostBefore = new Set(forced.flatMap(({ name, lot }) => (lot.gain < 0 ? [names.indexOf(name)] : [])));
  const provedSides = new Set<number>();
  let answer = first;
  let restrictedProgram: AccountProgram = program;
  for (let round = 0; round <= ROUNDS_MAX; round++) {
    const brokenPurchases = groups.flatMap((group) =>
      listBrokenPurchases(restrictedProgram, answer, { group, lostBefore }),
    );
    if (brokenPurchases.length === 0) break;
    if (round === ROUNDS_MAX) brokenPurchases.push(...groups.flat());
    const buyLimit = restrictedProgram.buyLimit.slice();
    for (const position of brokenPurchases) {
      provedSides.add(position);
      buyLimit[position] = 0;
    }
    restrictedProgram = { ...restrictedProgram, buyLimit };
    answer = solveWithin(restrictedProgram, limits);
  }
  const { certificates, bound, certificateIndex } = first;
  return {
    answer: answer === first ? first : { ...answer, certificates, bound, certificateIndex },
    substitutes: provedSides,
  };
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

/**
 * Returns the securities of a group that are bought while another member is sold at a loss. @param lostBefore excluded
 * securities sold at a loss
 */
function listBrokenPurchases(
  { lotStart, lotShort, lotLong }: AccountProgram,
  { trades }: AccountSolution,
  { group, lostBefore }: { readonly group: readonly number[]; readonly lostBefore: ReadonlySet<number> },
) {
  const losingLots = group.filter((i) => {
    if (lostBefore.has(i)) return true;
    for (let l = lotStart[i]!; l < lotStart[i + 1]!; l++)
      if (trades.sold[l]! > 0 && (lotShort[l]! < 0 || lotLong[l]! < 0)) return true;
    return false;
  });
  if (losingLots.length === 0) return [];
  return group.filter((i) => trades.bought[i]! > 0 && !(losingLots.length === 1 && losingLots[0] === i));
}
