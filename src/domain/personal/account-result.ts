import { computeTax, type AccountProgram } from '#kernels/lots/account-program.js';
import { computePricesAt } from '#kernels/lots/candidate.js';
import { sortSales } from '#kernels/lots/relaxed-trades.js';
import { formatDay } from '../time/days.js';
import { listConflicts } from './account-conflicts.js';
import { computeBasisPointSaving, computeExclusionPrices, computeMinimumTradeCost } from './account-prices.js';
import type { BatchCommon } from './batch-common.js';
import type { BuiltAccount } from './build-account.js';
import type { SolvedAccount } from './solve-one.js';

/** Minimum size of a trade as a fraction of the account value; smaller trades are rounding errors. */
const TRADE_MIN = 1e-10;
/** Maximum number of deviations that a result explains. */
const DEVIATIONS_SHOWN = 10;

/** Result of one account, as JSON. */
export type AccountResult = ReturnType<typeof createAccountResult>;

export function createAccountResult(common: BatchCommon, base: BuiltAccount, solved: SolvedAccount) {
  const { program, value, names, account, rowIds, forcedCost } = base;
  const { answer } = solved;
  const { figures, certificates, bound } = answer;
  const certificate = certificates[answer.certificateIndex]!;
  const prices = computePricesAt(program, program.sides[certificate.side]!, certificate.multipliers);
  const objective = figures.objective + forcedCost;
  const before = createHeldFigures(program);
  const trackingError = Math.sqrt(figures.variance);
  const conflicts = answer.status === 'infeasible' ? listConflicts(common, base) : [];
  const saving = answer.status === 'infeasible' ? null : computeBasisPointSaving(program, answer);
  return {
    account_id: account.account_id,
    status:
      answer.status === 'optimal' && objective - bound - forcedCost > GAP_OPTIMAL
        ? ('feasible' as const)
        : answer.status,
    value,
    cash: value * (1 - figures.weights.reduce((sum, w) => sum + w, 0) - figures.cost - forcedCost),
    trades: listTrades(common, base, solved),
    weights: Object.fromEntries(
      names.flatMap((name, i) =>
        figures.weights[i]! > TRADE_MIN ? [[common.identifiers[name]!, figures.weights[i]!]] : [],
      ),
    ),
    tracking_error: trackingError,
    tracking_error_before: Math.sqrt(before.variance),
    short_gain: value * (figures.short - program.fixedShort) + computeForcedGain(base, false),
    long_gain: value * (figures.long - program.fixedLong) + computeForcedGain(base, true),
    tax: value * figures.tax,
    tax_saved: value * (computeFifoTax(common, base, solved) - figures.tax),
    costs: value * (figures.cost + forcedCost),
    avoided_wash_sales: listAvoidedTrades(common, base, solved),
    shadow_prices: {
      short_gain: prices.short,
      long_gain: prices.long,
      tracking_error_bp: value * 2 * certificate.multipliers.variance * trackingError * 1e-4,
      rows: Object.fromEntries(rowIds.map((id, j) => [id, value * certificate.multipliers.rows[j]!])),
      exclusions: Object.fromEntries(
        Object.entries(computeExclusionPrices(common, base, { figures, own: certificate })).map(([id, price]) => [
          id,
          value * price,
        ]),
      ),
      minimum_trade: value * computeMinimumTradeCost(program, answer),
    },
    one_more_bp_saves: saving === null ? null : value * saving,
    deviations: listDeviations(common, base, solved),
    conflicts: conflicts.map(({ rule }) => rule),
    conflict_amounts: Object.fromEntries(conflicts.map(({ rule, amount }) => [rule, amount])),
    conflict_exclusions: conflicts.find(({ weights }) => weights !== undefined)?.weights ?? {},
    certificate: {
      objective,
      bound: bound + forcedCost,
      gap: figures.objective - bound,
      primal_residual: figures.worst,
      sides: certificates.map(({ side, multipliers, bound: proved }) => ({
        side,
        bound: proved + forcedCost,
        exposures: Array.from(multipliers.exposures),
        variance: multipliers.variance,
        rows: Array.from(multipliers.rows),
      })),
    },
    steps: answer.steps,
    nodes: answer.nodes,
    findings: [],
  };
}

/** Maximum gap of an optimal result, as a fraction of the account value. */
export const GAP_OPTIMAL = 1e-8;

function createHeldFigures({ n, k, heldWeights, target, specific, loadings }: AccountProgram): {
  readonly variance: number;
} {
  let variance = 0;
  const exposures = new Float64Array(k);
  for (let i = 0; i < n; i++) {
    const activeWeight = heldWeights[i]! - target[i]!;
    variance += specific[i]! * activeWeight * activeWeight;
    for (let f = 0; f < k; f++) exposures[f]! += loadings[i * k + f]! * activeWeight;
  }
  for (let f = 0; f < k; f++) variance += exposures[f]! * exposures[f]!;
  return { variance };
}

const computeForcedGain = ({ forced }: BuiltAccount, isLong: boolean): number =>
  forced.reduce((sum, { lot }) => (lot.isLong === isLong ? sum + lot.shares * lot.gain : sum), 0);

function listTrades(common: BatchCommon, base: BuiltAccount, { answer }: SolvedAccount) {
  const { account, names, lots, program, value, forced } = base;
  const { bought, sold } = answer.trades;
  const trades: AccountTrade[] = [];
  const createSale = (name: number, soldLot: BuiltAccount['lots'][number], shares: number): void => {
    const price = common.prices[name]!;
    const { acquired, cost } = account.lots[soldLot.lot]!;
    trades.push({
      identifier: common.identifiers[name]!,
      side: 'sell',
      shares,
      price,
      value: shares * price,
      lot: soldLot.lot,
      acquired,
      cost,
      gain: shares * soldLot.gain,
      disallowed_loss: shares * soldLot.disallowed,
      term: soldLot.isLong ? 'long' : 'short',
    });
  };
  const isWhole = (l: number): boolean => sold[l] === program.lotSize[l];
  for (const { name, lot } of forced) createSale(name, lot, lot.shares);
  names.forEach((name, i) => {
    const price = common.prices[name]!;
    for (let l = program.lotStart[i]!; l < program.lotStart[i + 1]!; l++)
      if (sold[l]! > TRADE_MIN)
        createSale(name, lots[l]!, roundShares(isWhole(l) ? lots[l]!.shares : (sold[l]! * value) / price, common));
    if (bought[i]! > TRADE_MIN) {
      const shares = roundShares((bought[i]! * value) / price, common);
      trades.push({ identifier: common.identifiers[name]!, side: 'buy', shares, price, value: shares * price });
    }
  });
  return trades;
}

export interface AccountTrade {
  readonly identifier: string;
  readonly side: 'buy' | 'sell';
  readonly shares: number;
  readonly price: number;
  readonly value: number;
  /** Index of the lot in the account. */
  readonly lot?: number;
  readonly acquired?: string;
  readonly cost?: number;
  readonly gain?: number;
  readonly disallowed_loss?: number;
  readonly term?: 'short' | 'long';
}

/** Rounds shares to whole numbers if only whole shares are traded. This removes rounding errors of weights. */
function roundShares(shares: number, { terms }: BatchCommon): number {
  const roundedShares = Math.round(shares);
  return terms.whole_shares && Math.abs(shares - roundedShares) < 1e-6 * Math.max(1, roundedShares)
    ? roundedShares
    : shares;
}

/** Computes the tax if every security sold its oldest lots first. The trades are the same. */
function computeFifoTax(
  { asOf }: BatchCommon,
  { program, lots, account }: BuiltAccount,
  { answer }: SolvedAccount,
): number {
  let [short, long] = [program.fixedShort, program.fixedLong];
  const firstFirst = { ...program, isOrdered: new Uint8Array(program.n).fill(1) };
  for (let i = 0; i < program.n; i++) {
    let left = 0;
    for (let l = program.lotStart[i]!; l < program.lotStart[i + 1]!; l++) left += answer.trades.sold[l]!;
    const order = Array.from(sortSales(firstFirst, i, { short: 0, long: 0 })).sort((a, b) => {
      const [first, second] = [account.lots[lots[a]!.lot]!.acquired, account.lots[lots[b]!.lot]!.acquired];
      return first < second ? -1 : first > second ? 1 : a - b;
    });
    for (const l of order) {
      if (!(left > 0)) break;
      const amount = Math.min(left, program.lotSize[l]!);
      short += amount * program.lotShort[l]!;
      long += amount * program.lotLong[l]!;
      left -= amount;
    }
  }
  return Number.isFinite(asOf) ? computeTax(program.sides, short, long) : NaN;
}

/** Returns the trades that the wash sale rule prevents: sales at a loss, and purchases after such sales. */
function listAvoidedTrades(
  common: BatchCommon,
  { wash, blocked, account, names }: BuiltAccount,
  { substitutes }: SolvedAccount,
) {
  const sales = [...blocked].map(([identifier, shares]) => ({
    identifier,
    prevented: 'sale' as const,
    shares,
    until: null,
  }));
  const purchases = [...wash].flatMap(([identifier, { noPurchaseUntil }]) =>
    noPurchaseUntil === null
      ? []
      : [{ identifier, prevented: 'purchase' as const, shares: null, until: formatDay(noPurchaseUntil) }],
  );
  const endDate = formatDay(common.asOf + account.tax.wash_sale_days);
  const substituteTrades = [...substitutes].map((at) => ({
    identifier: common.identifiers[names[at]!]!,
    prevented: 'purchase' as const,
    shares: null,
    until: endDate,
  }));
  return [...sales, ...purchases, ...substituteTrades];
}

/** Returns the largest contributions to the tracking variance, each with its reason. */
function listDeviations(common: BatchCommon, base: BuiltAccount, { answer, substitutes }: SolvedAccount) {
  const { program, names, excluded, wash, blocked, account } = base;
  const { n, k, loadings, specific, target, heldWeights } = program;
  const { weights, variance } = answer.figures;
  const exposures = new Float64Array(k);
  for (let i = 0; i < n; i++)
    for (let f = 0; f < k; f++) exposures[f]! += loadings[i * k + f]! * (weights[i]! - target[i]!);
  const shares = names.map((name, i) => {
    const activeWeight = weights[i]! - target[i]!;
    let slope = specific[i]! * activeWeight;
    for (let f = 0; f < k; f++) slope += loadings[i * k + f]! * exposures[f]!;
    const identifier = common.identifiers[name]!;
    const isBlocked = blocked.has(identifier) || (wash.get(identifier)?.noPurchaseUntil ?? null) !== null;
    const reason = excluded.has(identifier)
      ? 'exclusion'
      : isBlocked || substitutes.has(i)
        ? 'wash_sale'
        : Math.abs(heldWeights[i]! - target[i]!) < program.minimumTrade[i]! && weights[i] === heldWeights[i]
          ? 'minimum_trade'
          : activeWeight > 0 && hasGainsLeft(base, i)
            ? 'tax'
            : 'balance';
    return {
      identifier,
      active_weight: activeWeight,
      variance_share: variance > 0 ? (activeWeight * slope) / variance : 0,
      reason,
    };
  });
  const tilt = Object.keys(account.tilts).length;
  const byReason: Record<string, number> = {};
  for (const { reason, variance_share } of shares) byReason[reason] = (byReason[reason] ?? 0) + variance_share;
  const largest = shares
    .toSorted(
      (a, b) => Math.abs(b.variance_share) - Math.abs(a.variance_share) || (a.identifier < b.identifier ? -1 : 1),
    )
    .slice(0, DEVIATIONS_SHOWN);
  return { tilts: tilt, variance_by_reason: byReason, largest };
}

/** Returns true if a security still has lots that would be sold at a gain. */
function hasGainsLeft({ program: { lotStart, lotShort, lotLong } }: BuiltAccount, i: number): boolean {
  for (let l = lotStart[i]!; l < lotStart[i + 1]!; l++) if (lotShort[l]! > 0 || lotLong[l]! > 0) return true;
  return false;
}
