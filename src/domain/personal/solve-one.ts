import type { AccountProgram } from '#kernels/lots/account-program.js';
import { solveAccount, type AccountSolution, type SearchLimits } from '#kernels/lots/solve-account.js';
import { computeFigures } from '#kernels/lots/trade-figures.js';
import type { BatchCommon } from './batch-common.js';
import type { BuiltAccount } from './build-account.js';
import { findTrades, isDiscrete } from './find-trades.js';
import { listSoldShares } from './sold-shares.js';
import { computeTaxedSales } from './taxed-sales.js';

/**
 * Maximum number of rounds that exclude purchases of single substitutes because of a wash sale. After them, all
 * substitutes are excluded.
 */
const ROUNDS_MAX = 3;
/** Maximum difference of gains that counts as a rounding error, as a fraction of the account value. */
const GAINS_TOLERANCE = 1e-9;

export interface SolvedAccount {
  readonly answer: AccountSolution;
  /** Securities of the program that may not be bought because a substitute is sold at a loss. */
  readonly substitutes: ReadonlySet<number>;
}

/**
 * Solves an account. A security must not be bought if a substitute of it is sold at a loss, and must not be sold if its
 * shares replace shares of a substitute that are sold in the same trades. Trades that violate this are excluded, and
 * the account is solved again. The proofs of the bound are those of the account without the exclusions; they are valid
 * for both.
 */
export function solveOne(common: BatchCommon, builtAccount: BuiltAccount): SolvedAccount {
  const { program, account, names, forced, priceOf } = builtAccount;
  const limits = { nodes: common.terms.search_nodes };
  const first = solveWithin(program, limits);
  const groups = account.substitutes.map((group) =>
    group
      .map((name) => names.findIndex((position) => common.identifiers[position] === name))
      .filter((position) => position >= 0),
  );
  const isLoss = (lot: number): boolean => account.lots[lot]!.cost > priceOf(account.lots[lot]!.identifier);
  const positionOf = new Map(names.map((name, i) => [common.identifiers[name]!, i]));
  const lostBefore = new Set(
    forced.sales.flatMap(({ lot }) => (isLoss(lot) ? [positionOf.get(account.lots[lot]!.identifier)!] : [])),
  );
  const provedSides = new Set<number>();
  let answer = first;
  let restrictedProgram: AccountProgram = program;
  for (let round = 0; round <= ROUNDS_MAX; round++) {
    const brokenPurchases = groups.flatMap((group) =>
      listBrokenPurchases(builtAccount, answer, { group, lostBefore, isLoss }),
    );
    const isMixed = haveSalesInCommon(common, builtAccount, answer);
    if (brokenPurchases.length === 0 && !isMixed) break;
    if (round === ROUNDS_MAX) brokenPurchases.push(...groups.flat());
    const [buyLimit, lower] = [restrictedProgram.buyLimit.slice(), restrictedProgram.lower.slice()];
    for (const position of brokenPurchases) {
      provedSides.add(position);
      buyLimit[position] = 0;
    }
    if (isMixed)
      for (const position of listKept(builtAccount, answer, { groups, round }))
        lower[position] = program.heldWeights[position]!;
    restrictedProgram = { ...restrictedProgram, buyLimit, lower };
    answer = solveWithin(restrictedProgram, limits);
  }
  const { certificates, bound, certificateIndex } = first;
  return {
    answer: answer === first ? first : { ...answer, certificates, bound, certificateIndex },
    substitutes: provedSides,
  };
}

/**
 * Returns true if the sale of a security changes the disallowed losses of its substitutes. The program does not contain
 * this effect.
 */
function haveSalesInCommon(common: BatchCommon, base: BuiltAccount, { trades, figures }: AccountSolution): boolean {
  const { account, program, value, forced, rule, priceOf } = base;
  if (account.substitutes.length === 0) return false;
  const { short, long } = computeTaxedSales(rule, listSoldShares(common, base, trades), priceOf);
  const differences = [
    (short - forced.short) / value - (figures.short - program.fixedShort),
    (long - forced.long) / value - (figures.long - program.fixedLong),
  ];
  return differences.some((difference) => Math.abs(difference) > GAINS_TOLERANCE);
}

/**
 * Returns the substitutes that are kept so that their sale does not change the disallowed losses of others: those with
 * shares that can replace others, after the first round all of them.
 */
function listKept(
  { account, rule, lots, program }: BuiltAccount,
  { trades }: AccountSolution,
  { groups, round }: { readonly groups: readonly (readonly number[])[]; readonly round: number },
): readonly number[] {
  const positions = [...new Set(groups.flat())].filter((i) => sellsShares(program, trades, i));
  const keptPositions = positions.filter((i) => {
    for (let l = program.lotStart[i]!; l < program.lotStart[i + 1]!; l++) {
      const { lot } = lots[l]!;
      if (rule.listFresh(account.lots[lot]!.identifier).some((fresh) => fresh.lot === lot)) return true;
    }
    return false;
  });
  return round === 0 && keptPositions.length > 0 ? keptPositions : positions;
}

function sellsShares({ lotStart }: AccountProgram, { sold }: AccountSolution['trades'], i: number): boolean {
  for (let l = lotStart[i]!; l < lotStart[i + 1]!; l++) if (sold[l]! > 0) return true;
  return false;
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

interface GroupOfSubstitutes {
  readonly group: readonly number[];
  /** Excluded securities that are sold at a loss. */
  readonly lostBefore: ReadonlySet<number>;
  isLoss(lot: number): boolean;
}

/** Returns the securities of a group that are bought while another member is sold at a loss. */
function listBrokenPurchases(
  { lots, program: { lotStart } }: BuiltAccount,
  { trades }: AccountSolution,
  { group, lostBefore, isLoss }: GroupOfSubstitutes,
) {
  const losingSecurities = group.filter((i) => {
    if (lostBefore.has(i)) return true;
    for (let l = lotStart[i]!; l < lotStart[i + 1]!; l++) if (trades.sold[l]! > 0 && isLoss(lots[l]!.lot)) return true;
    return false;
  });
  if (losingSecurities.length === 0) return [];
  return group.filter((i) => trades.bought[i]! > 0 && !(losingSecurities.length === 1 && losingSecurities[0] === i));
}
