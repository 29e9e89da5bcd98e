import { computeTax, type AccountProgram } from '#kernels/lots/account-program.js';
import { computeProofBound } from '#kernels/lots/branch-proof.js';
import { computeDualBound } from '#kernels/lots/dual-bound.js';
import type { Multipliers } from '#kernels/lots/relaxation.js';
import { computeFigures, type AccountTrades, type TradeFigures } from '#kernels/lots/trade-figures.js';
import { parseValidDay } from '../time/days.js';
import type { Account } from './account-request.js';
import { GAP_OPTIMAL, type AccountResult } from './account-result.js';
import type { BatchCommon } from './batch-common.js';
import { buildAccount, type BuiltAccount } from './build-account.js';
import { computeTaxedSales } from './taxed-sales.js';

/** Tolerance of recomputed figures, as a fraction of the account value. */
const TOLERANCE = 1e-9;
/** Maximum violation of a row without a penalty that counts as a rounding error. */
const VIOLATION_MAX = 1e-7;
/** Maximum difference from a whole number of shares that counts as a rounding error, relative to the number. */
const SHARES_TOLERANCE = 1e-6;

/** Adds a sentence if a stated number differs from the computed one by more than a rounding error. */
type ReportDifference = (what: string, computed: number, stated: number) => void;

/**
 * Verifies a result without the solver. Trades must use lots of the account and obey its rules. Figures must follow
 * from the trades. No permitted trades may have an objective below the bound from the multipliers.
 * @returns errors as sentences; empty if the result is verified
 */
export function verifyResult(common: BatchCommon, account: Account, result: AccountResult): string[] {
  const builtAccount = buildAccount(common, account);
  const { program, value, forcedCost, taxSides } = builtAccount;
  const wrong: string[] = [];
  const reportDifference: ReportDifference = (what, computed, stated) => {
    // A result is a text of others: a number may be null or absent.
    if (Number.isFinite(stated) && Math.abs(computed - stated) <= TOLERANCE) return;
    wrong.push(`${what}: ${stated} is stated, ${computed} is computed`);
  };
  if (result.status === 'infeasible') {
    if (result.trades.length > 0) wrong.push('an infeasible account has trades');
    reportDifference('bound', computeProvedBound(builtAccount, result, wrong), result.certificate.bound);
    return wrong;
  }
  const { trades, sold } = readTrades(common, builtAccount, { result, wrong });
  wrong.push(...reportBrokenRules(common, builtAccount, trades));
  const figures = computeFigures(program, trades);
  const { certificate } = result;
  if (!(figures.worst <= VIOLATION_MAX)) wrong.push(`a hard row is violated by ${figures.worst}`);
  const objective = figures.objective + forcedCost;
  reportDifference('objective', objective, certificate.objective);
  reportDifference('tracking error', figures.variance, result.tracking_error ** 2);
  reportDifference('tax', computeTax(taxSides, figures.short, figures.long), result.tax / value);
  reportDifference('costs', figures.cost + forcedCost, result.costs / value);
  verifyGains(builtAccount, { result, sold, figures, reportDifference });
  const bound = computeProvedBound(builtAccount, result, wrong);
  reportDifference('bound', bound, certificate.bound);
  reportDifference('gap', objective - bound, certificate.gap);
  if (!(objective - bound >= -TOLERANCE)) wrong.push(`the bound ${bound} is above the objective ${objective}`);
  if (result.status === 'optimal' && !(objective - bound <= GAP_OPTIMAL + TOLERANCE))
    wrong.push(`the status is optimal, and the gap is ${objective - bound}`);
  return wrong;
}

interface ResultRead {
  readonly result: AccountResult;
  /** Errors, to which others are added. */
  readonly wrong: string[];
}

/** Reads the trades of a result as amounts of its lots. */
function readTrades(common: BatchCommon, base: BuiltAccount, { result, wrong }: ResultRead) {
  const { program, value, names, lots, forced, account, priceOf } = base;
  const bought = new Float64Array(program.n);
  const sold = new Map<number, number>();
  const positionByIdentifier = new Map(names.map((name, i) => [common.identifiers[name]!, i]));
  for (const { identifier, side, shares, price, lot = -1 } of result.trades) {
    const i = positionByIdentifier.get(identifier);
    if (i === undefined || !(shares > 0)) {
      wrong.push(`${identifier} is not a security of the account`);
      continue;
    }
    if (price !== common.prices[names[i]!]) wrong.push(`${identifier} does not trade at its price`);
    if (side === 'buy') bought[i]! += (shares * common.prices[names[i]!]!) / value;
    else if (account.lots[lot]?.identifier === identifier) sold.set(lot, (sold.get(lot) ?? 0) + shares);
    else wrong.push(`lot ${lot} is not a lot of ${identifier}`);
  }
  const left = new Map<number, number>();
  for (const [lot, shares] of sold) {
    const held = account.lots[lot]!;
    if (shares > held.shares * (1 + TOLERANCE)) wrong.push(`more than lot ${lot} is sold`);
    left.set(lot, (shares * priceOf(held.identifier)) / value);
  }
  for (const { lot } of forced.sales) {
    const { identifier, shares } = account.lots[lot]!;
    if (!(Math.abs((sold.get(lot) ?? 0) - shares) <= TOLERANCE * shares))
      wrong.push(`lot ${lot} of ${identifier} is excluded and not sold whole`);
    left.delete(lot);
  }
  const soldWeights = Float64Array.from(program.lotSize, (size, l) => {
    const weight = left.get(lots[l]!.lot) ?? 0;
    const taken = weight > size * (1 - TOLERANCE) ? size : weight;
    left.set(lots[l]!.lot, Math.max(0, weight - taken));
    return taken;
  });
  for (const [lot, weight] of left) if (weight > TOLERANCE) wrong.push(`lot ${lot} may not be sold`);
  return { trades: { bought, sold: soldWeights }, sold };
}

interface GainsRead {
  readonly result: AccountResult;
  readonly sold: ReadonlyMap<number, number>;
  readonly figures: TradeFigures;
  readonly reportDifference: ReportDifference;
}

/** Verifies the gains and disallowed losses of each sale, and their sums, under the wash sale rule. */
function verifyGains(
  { program, value, forced, account, rule, priceOf }: BuiltAccount,
  { result, sold, figures, reportDifference }: GainsRead,
): void {
  const { sales, short, long } = computeTaxedSales(rule, sold, priceOf);
  reportDifference('short-term gains', short / value, result.short_gain / value);
  reportDifference('long-term gains', long / value, result.long_gain / value);
  reportDifference(
    'short-term gains of the program',
    figures.short - program.fixedShort,
    (short - forced.short) / value,
  );
  reportDifference('long-term gains of the program', figures.long - program.fixedLong, (long - forced.long) / value);
  const stated = result.trades.filter(({ side }) => side === 'sell');
  for (const lot of sold.keys()) {
    const { identifier } = account.lots[lot]!;
    const own = sales.filter((sale) => sale.lot === lot);
    const statedSales = stated.filter((trade) => trade.lot === lot);
    const term = own[0]?.isLong === true ? 'long' : 'short';
    const isTerm = statedSales.every((trade) => trade.term === term);
    reportDifference(
      `term of lot ${lot} of ${identifier} (${term}): sales`,
      statedSales.length,
      isTerm ? statedSales.length : 0,
    );
    const sum = (amounts: readonly number[]): number => amounts.reduce((all, amount) => all + amount, 0) / value;
    reportDifference(
      `gain of lot ${lot} of ${identifier}`,
      sum(own.map(({ gain }) => gain)),
      sum(statedSales.map(({ gain = Number.NaN }) => gain)),
    );
    reportDifference(
      `disallowed loss of lot ${lot} of ${identifier}`,
      sum(own.map(({ disallowed }) => disallowed)),
      sum(statedSales.map(({ disallowed_loss = Number.NaN }) => disallowed_loss)),
    );
  }
}

/**
 * Reports purchases beyond their limit, purchases of securities that are also sold, lots sold out of order, fractions of
 * shares, and trades below the minimum.
 */
function reportBrokenRules(
  common: BatchCommon,
  { program, names }: BuiltAccount,
  { bought, sold }: AccountTrades,
): string[] {
  const violations: string[] = [];
  for (let i = 0; i < program.n; i++) {
    const name = common.identifiers[names[i]!]!;
    let [amount, position, isComplete, isInOrder] = [0, 0, true, true];
    for (let l = program.lotStart[i]!; l < program.lotStart[i + 1]!; l++) {
      amount += sold[l]!;
      position += program.lotSize[l]!;
      if (sold[l]! > TOLERANCE && !isComplete) isInOrder = false;
      isComplete &&= sold[l]! >= program.lotSize[l]! * (1 - 1e-9);
    }
    if (program.isOrdered[i] === 1 && !isInOrder) violations.push(`lots of ${name} are not sold in their order`);
    if (bought[i]! > 0 && amount > 0) violations.push(`${name} is bought and sold`);
    if (bought[i]! > program.buyLimit[i]! + TOLERANCE) violations.push(`${name} may not be bought so much`);
    if (amount > 0 && Math.abs(amount - position) <= TOLERANCE * position) continue; // A whole position may be sold.
    const trade = Math.max(amount, bought[i]!);
    const count = program.unit[i]! > 0 ? trade / program.unit[i]! : 0;
    if (!(Math.abs(count - Math.round(count)) <= SHARES_TOLERANCE * Math.max(1, count)))
      violations.push(`${name} is not traded in whole shares`);
    if (trade > 0 && trade < program.minimumTrade[i]! - TOLERANCE)
      violations.push(`${name} trades less than the minimum`);
  }
  return violations;
}

/** Returns the bound proved by the certificate, and reports sides that are wrong or missing. */
function computeProvedBound(
  { program, forcedCost }: BuiltAccount,
  { certificate }: AccountResult,
  wrong: string[],
): number {
  let least = Infinity;
  const certifiedSides = new Set<number>();
  for (const stated of certificate.sides) {
    const side = program.sides[stated.side];
    if (side === undefined || certifiedSides.has(stated.side)) {
      wrong.push(`the tax has no side ${stated.side}, or it has two certificates`);
      continue;
    }
    certifiedSides.add(stated.side);
    const { branches } = stated;
    const proved =
      branches === null || branches === undefined
        ? computeDualBound(program, side, readMultipliers(stated)).bound
        : computeProofBound(program, side, {
            steps: branches.steps.map((step) => ('evaluated' in step ? 'evaluated' : step)),
            multipliers: branches.multipliers.map(readMultipliers),
          });
    if (proved === undefined) wrong.push(`side ${stated.side}: the branches do not contain all permitted trades`);
    const bound = (proved ?? -Infinity) + forcedCost;
    least = Math.min(least, bound);
    if (!(Number.isFinite(stated.bound) && Math.abs(stated.bound - bound) <= TOLERANCE))
      wrong.push(`side ${stated.side}: the multipliers prove ${bound}, not ${stated.bound}`);
  }
  program.sides.forEach(({ longSign }, position) => {
    if (!certifiedSides.has(position) && !isImpossible(program, longSign))
      wrong.push(`side ${position} of the tax has no certificate`);
  });
  return least;
}

interface StatedMultipliers {
  readonly exposures: readonly number[];
  readonly variance: number;
  readonly rows: readonly number[];
}

const readMultipliers = ({ exposures, variance, rows }: StatedMultipliers): Multipliers => ({
  exposures: Float64Array.from(exposures),
  variance,
  rows: Float64Array.from(rows),
});

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
