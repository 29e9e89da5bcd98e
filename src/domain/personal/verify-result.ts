import type { AccountProgram } from '#kernels/lots/account-program.js';
import { computeDualBound } from '#kernels/lots/dual-bound.js';
import { computeFigures, type AccountTrades } from '#kernels/lots/trade-figures.js';
import { parseValidDay } from '../time/days.js';
import type { Account } from './account-request.js';
import type { SaleLot } from './account-lots.js';
import { GAP_OPTIMAL, type AccountResult } from './account-result.js';
import type { BatchCommon } from './batch-common.js';
import { buildAccount, type BuiltAccount } from './build-account.js';

/** Tolerance of recomputed figures, as a fraction of the account value. */
const TOLERANCE = 1e-9;
/** Maximum violation of a row without a penalty that counts as a rounding error. */
const VIOLATION_MAX = 1e-7;

/**
 * Verifies a result without the solver. Trades must use lots of the account and obey its rules. Figures must follow
 * from the trades. No permitted trades may have an objective below the bound from the multipliers.
 * @returns errors as sentences; empty if the result is verified
 */
export function verifyResult(common: BatchCommon, account: Account, result: AccountResult): string[] {
  const builtAccount = buildAccount(common, account);
  const { program, value, forcedCost } = builtAccount;
  if (result.status === 'infeasible') {
    const violations = result.trades.length > 0 ? ['an infeasible account has trades'] : [];
    computeProvedBound(builtAccount, result, violations);
    return violations;
  }
  const { trades, wrong } = readTrades(common, builtAccount, result);
  wrong.push(...reportBrokenRules(common, builtAccount, trades));
  const figures = computeFigures(program, trades);
  const { certificate } = result;
  const reportDifference = (what: string, computed: number, stated: number): void => {
    if (Math.abs(computed - stated) <= TOLERANCE) return;
    wrong.push(`${what}: ${stated} is stated, ${computed} follows from the trades`);
  };
  if (figures.worst > VIOLATION_MAX) wrong.push(`a hard row is violated by ${figures.worst}`);
  reportDifference('objective', figures.objective + forcedCost, certificate.objective);
  reportDifference('tracking error', figures.variance, result.tracking_error ** 2);
  reportDifference('tax', figures.tax, result.tax / value);
  const least = computeProvedBound(builtAccount, result, wrong);
  if (
    result.status === 'optimal' &&
    result.nodes === 0 &&
    figures.objective + forcedCost - least > GAP_OPTIMAL + TOLERANCE
  )
    wrong.push(`the gap is ${figures.objective + forcedCost - least}`);
  return wrong;
}

/** Reads the trades of a result as amounts of its lots. */
function readTrades(common: BatchCommon, { program, value, names, lots, forced }: BuiltAccount, result: AccountResult) {
  const violations: string[] = [];
  const boughtShares = new Float64Array(program.n);
  const soldShares = new Float64Array(program.lotSize.length);
  const positionByIdentifier = new Map(names.map((name, i) => [common.identifiers[name]!, i]));
  const unsoldLots = forced.map(({ lot }) => lot);
  for (const trade of result.trades) {
    const i = positionByIdentifier.get(trade.identifier);
    if (i === undefined || !(trade.shares > 0)) {
      violations.push(`${trade.identifier} is not a security of the account`);
      continue;
    }
    const weight = (trade.shares * common.prices[names[i]!]!) / value;
    if (trade.side === 'buy') {
      boughtShares[i]! += weight;
      continue;
    }
    const isSame = ({ lot, disallowed }: SaleLot): boolean =>
      lot === trade.lot && disallowed > 0 === (trade.disallowed_loss ?? 0) > 0;
    const forcedPosition = unsoldLots.findIndex(isSame);
    if (forcedPosition >= 0) {
      const [lot] = unsoldLots.splice(forcedPosition, 1);
      if (!(Math.abs(trade.shares - lot!.shares) <= 1e-9 * lot!.shares))
        violations.push(`lot ${String(trade.lot)} of ${trade.identifier} is excluded and not sold whole`);
      continue;
    }
    const position = lots.findIndex((lot, l) => isSame(lot) && soldShares[l] === 0);
    if (position < 0) violations.push(`lot ${String(trade.lot)} of ${trade.identifier} cannot be sold`);
    else if (weight > program.lotSize[position]! * (1 + 1e-9))
      violations.push(`more than lot ${String(trade.lot)} is sold`);
    else soldShares[position] = Math.min(weight, program.lotSize[position]!);
  }
  if (unsoldLots.length > 0) violations.push(`${unsoldLots.length} lots of excluded securities are not sold`);
  return { trades: { bought: boughtShares, sold: soldShares }, wrong: violations };
}

/** Reports purchases beyond their limit, purchases of securities that are also sold, and lots sold out of order. */
function reportBrokenRules(
  common: BatchCommon,
  { program, names }: BuiltAccount,
  { bought, sold }: AccountTrades,
): string[] {
  const violations: string[] = [];
  for (let i = 0; i < program.n; i++) {
    const name = common.identifiers[names[i]!]!;
    let [amount, isComplete, isInOrder] = [0, true, true];
    for (let l = program.lotStart[i]!; l < program.lotStart[i + 1]!; l++) {
      amount += sold[l]!;
      if (sold[l]! > TOLERANCE && !isComplete) isInOrder = false;
      isComplete &&= sold[l]! >= program.lotSize[l]! * (1 - 1e-9);
    }
    if (program.isOrdered[i] === 1 && !isInOrder) violations.push(`lots of ${name} are not sold in their order`);
    if (bought[i]! > 0 && amount > 0) violations.push(`${name} is bought and sold`);
    if (bought[i]! > program.buyLimit[i]! + TOLERANCE) violations.push(`${name} may not be bought so much`);
  }
  return violations;
}

/** Returns the bound proved by the certificate, and reports sides that are wrong or missing. */
function computeProvedBound(
  { program, forcedCost }: BuiltAccount,
  { certificate, nodes }: AccountResult,
  wrong: string[],
): number {
  let least = Infinity;
  const certifiedSides = new Set<number>();
  for (const side of certificate.sides) {
    certifiedSides.add(side.side);
    const multipliers = {
      exposures: Float64Array.from(side.exposures),
      variance: side.variance,
      rows: Float64Array.from(side.rows),
    };
    const bound = computeDualBound(program, program.sides[side.side]!, multipliers).bound + forcedCost;
    least = Math.min(least, bound);
    // Branches may prove a higher bound than a single set of multipliers.
    if (side.bound > bound + TOLERANCE && nodes === 0)
      wrong.push(`side ${side.side}: the multipliers prove ${bound}, not ${side.bound}`);
  }
  program.sides.forEach(({ longSign }, position) => {
    if (!certifiedSides.has(position) && !isImpossible(program, longSign))
      wrong.push(`side ${position} of the tax has no certificate`);
  });
  return least;
}

/** Returns true if no permitted trades have nonzero long-term gains of this sign. */
function isImpossible({ fixedLong, lotSize, lotLong }: AccountProgram, longSign: number): boolean {
  let [lowest, highest] = [fixedLong, fixedLong];
  lotSize.forEach((size, l) => {
    const gain = size * lotLong[l]!;
    if (gain < 0) lowest += gain;
    else highest += gain;
  });
  return longSign > 0 ? highest <= 0 : lowest >= 0;
}

/** Common data of a batch as served. */
export interface CommonJson {
  readonly terms: BatchCommon['terms'];
  readonly as_of: string;
  readonly identifiers: readonly string[];
  readonly prices: readonly number[];
  readonly weights: readonly number[];
  readonly factors: number;
  readonly loadings: readonly number[];
  readonly specific: readonly number[];
  readonly groups: BatchCommon['groups'];
}

export function readCommon(json: CommonJson): BatchCommon {
  return {
    ...json,
    asOf: parseValidDay(json.as_of),
    prices: Float64Array.from(json.prices),
    weights: Float64Array.from(json.weights),
    loadings: Float64Array.from(json.loadings),
    specific: Float64Array.from(json.specific),
  };
}
