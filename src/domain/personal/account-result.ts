import { computeTax, type AccountProgram } from '#kernels/lots/account-program.js';
import type { BranchProof } from '#kernels/lots/branch-proof.js';
import { computePricesAt } from '#kernels/lots/candidate.js';
import type { Multipliers } from '#kernels/lots/relaxation.js';
import type { SideCertificate } from '#kernels/lots/side-certificate.js';
import { formatDay } from '../time/days.js';
import { listConflicts } from './account-conflicts.js';
import { computeBasisPointSaving, computeExclusionPrices, computeMinimumTradeCost } from './account-prices.js';
import type { BatchCommon } from './batch-common.js';
import type { BuiltAccount } from './build-account.js';
import type { SolvedAccount } from './solve-one.js';
import { listSoldShares, roundShares, TRADE_MIN } from './sold-shares.js';
import { computeTaxedSales, type TaxedSales } from './taxed-sales.js';
import { sortByPurchase, type Replacement } from './wash-sales.js';

/** Maximum number of deviations that a result explains. */
const DEVIATIONS_SHOWN = 10;

/** Result of one account, as JSON. */
export type AccountResult = ReturnType<typeof createAccountResult>;

export function createAccountResult(common: BatchCommon, base: BuiltAccount, solved: SolvedAccount) {
  const { program, value, names, account, rowIds, forcedCost, taxSides } = base;
  const { answer } = solved;
  const { figures, certificates, bound } = answer;
  const certificate = certificates[answer.certificateIndex]!;
  const prices = computePricesAt(program, program.sides[certificate.side]!, certificate.multipliers);
  const objective = figures.objective + forcedCost;
  const before = createHeldFigures(program);
  const trackingError = Math.sqrt(figures.variance);
  const sales = computeTaxedSales(base.rule, listSoldShares(common, base, answer.trades), base.priceOf);
  const tax = computeTax(taxSides, figures.short, figures.long);
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
    trades: listTrades(common, base, { sales, answer }),
    weights: Object.fromEntries(
      names.flatMap((name, i) =>
        figures.weights[i]! > TRADE_MIN ? [[common.identifiers[name]!, figures.weights[i]!]] : [],
      ),
    ),
    tracking_error: trackingError,
    tracking_error_before: Math.sqrt(before.variance),
    short_gain: sales.short,
    long_gain: sales.long,
    disallowed_loss: sales.sales.reduce((sum, { disallowed }) => sum + disallowed, 0),
    disallowed_elsewhere: sumLosses(sales, ({ fresh }) => fresh.lot === null),
    tax: value * tax,
    tax_saved: value * (computeFifoTax(common, base, solved) - tax),
    costs: value * (figures.cost + forcedCost),
    avoided_wash_sales: listAvoidedTrades(common, base, solved),
    shadow_prices: {
      short_gain: prices.short,
      long_gain: prices.long,
      tracking_error_bp: value * 2 * certificate.multipliers.variance * trackingError * 1e-4,
      rows: Object.fromEntries([
        ...rowIds.map((id, j) => [id, value * certificate.multipliers.rows[j]!] as const),
        ...(account.tax.limit === null ? [] : [['tax.limit', value * sumLimitPrices(program, certificate)] as const]),
      ]),
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
    certificate: createCertificate(answer, objective, forcedCost),
    steps: answer.steps,
    nodes: answer.nodes,
    findings: [],
  };
}

const createCertificate = (
  { figures, certificates, bound }: SolvedAccount['answer'],
  objective: number,
  forcedCost: number,
) => ({
  objective,
  bound: bound + forcedCost,
  gap: figures.objective - bound,
  primal_residual: figures.worst,
  sides: certificates.map(({ side, multipliers, bound: proved, proof }) => ({
    side,
    bound: (proof?.bound ?? proved) + forcedCost,
    ...writeMultipliers(multipliers),
    branches: proof === undefined ? null : writeBranches(proof),
  })),
});

const writeMultipliers = ({ exposures, variance, rows }: Multipliers) => ({
  exposures: Array.from(exposures),
  variance,
  rows: Array.from(rows),
});

const writeBranches = ({ steps, multipliers }: BranchProof) => ({
  steps: steps.map((step) => (step === 'evaluated' ? { evaluated: true } : step)),
  multipliers: multipliers.map(writeMultipliers),
});

/** Returns the price of a unit of tax above its limit, of which the functions are the last rows. */
function sumLimitPrices(program: AccountProgram, { side, multipliers }: SideCertificate): number {
  const count = program.sides[side]!.limits?.length ?? 0;
  return multipliers.rows.slice(multipliers.rows.length - count).reduce((sum, price) => sum + price, 0);
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

/** Sums the disallowed losses of some replacements, in money. */
const sumLosses = ({ replacements }: TaxedSales, isCounted: (replacement: Replacement) => boolean): number =>
  replacements.reduce((sum, own) => (isCounted(own) ? sum + own.shares * own.loss : sum), 0);

function listTrades(
  common: BatchCommon,
  { account, names, value, priceOf }: BuiltAccount,
  { sales, answer }: { readonly sales: TaxedSales; readonly answer: SolvedAccount['answer'] },
) {
  const trades = sales.sales.map(({ lot, shares, gain, disallowed, isLong }): AccountTrade => {
    const { identifier, acquired, cost } = account.lots[lot]!;
    const price = priceOf(identifier);
    const term = isLong ? 'long' : 'short';
    const traded = { identifier, side: 'sell', shares, price, value: shares * price } as const;
    return { ...traded, lot, acquired, cost, gain, disallowed_loss: disallowed, term };
  });
  const purchases = names.flatMap((name, i): AccountTrade[] => {
    if (!(answer.trades.bought[i]! > TRADE_MIN)) return [];
    const price = common.prices[name]!;
    const shares = roundShares((answer.trades.bought[i]! * value) / price, common);
    return [{ identifier: common.identifiers[name]!, side: 'buy', shares, price, value: shares * price }];
  });
  return [...trades, ...purchases];
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

/** Computes the tax if every security sold its oldest lots first. The amounts sold are the same. */
function computeFifoTax(common: BatchCommon, base: BuiltAccount, { answer }: SolvedAccount): number {
  const { account, program, value, forced, rule, priceOf, taxSides } = base;
  const soldOf = new Map<string, number>();
  const sold = listSoldShares(common, base, answer.trades);
  for (const [lot, shares] of sold) {
    const { identifier } = account.lots[lot]!;
    soldOf.set(identifier, (soldOf.get(identifier) ?? 0) + shares);
  }
  const firstSold = new Map<number, number>();
  for (const lot of sortByPurchase(account.lots, [...account.lots.keys()])) {
    const { identifier, shares } = account.lots[lot]!;
    const left = soldOf.get(identifier) ?? 0;
    if (!(left > 0)) continue;
    firstSold.set(lot, Math.min(left, shares));
    soldOf.set(identifier, left - Math.min(left, shares));
  }
  const { short, long } = computeTaxedSales(rule, firstSold, priceOf);
  const [fixedShort, fixedLong] = [program.fixedShort - forced.short / value, program.fixedLong - forced.long / value];
  return computeTax(taxSides, fixedShort + short / value, fixedLong + long / value);
}

/** Returns the trades that the wash sale rule prevents: sales at a loss, and purchases after such sales. */
function listAvoidedTrades(
  common: BatchCommon,
  { rule, blocked, account, names }: BuiltAccount,
  { substitutes }: SolvedAccount,
) {
  const sales = [...blocked].map(([identifier, shares]) => ({
    identifier,
    prevented: 'sale' as const,
    shares,
    until: null,
  }));
  const purchases = [...rule.noPurchaseUntil].map(([identifier, day]) => ({
    identifier,
    prevented: 'purchase' as const,
    shares: null,
    until: formatDay(day),
  }));
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
  const { program, names, excluded, rule, blocked, account } = base;
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
    const isBlocked = blocked.has(identifier) || rule.noPurchaseUntil.has(identifier);
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
