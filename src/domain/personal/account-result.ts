import { computeTax, type AccountProgram } from '#kernels/lots/account-program.js';
import type { BranchProof } from '#kernels/lots/branch-proof.js';
import { computePricesAt } from '#kernels/lots/candidate.js';
import type { Multipliers } from '#kernels/lots/relaxation.js';
import type { SideCertificate } from '#kernels/lots/side-certificate.js';
import { computeFigures, type AccountTrades, type TradeFigures } from '#kernels/lots/trade-figures.js';
import { formatDay } from '../time/days.js';
import type { Conflict } from './account-conflicts.js';
import { computeBasisPointSaving, computeExclusionPrices, computeMinimumTradeCost } from './account-prices.js';
import type { BatchCommon } from './batch-common.js';
import { buildAccount, type BuiltAccount } from './build-account.js';
import { WHOLE_REGION } from './sale-regions.js';
import type { RegionTree, SearchedAccount } from './search-regions.js';
import { listSoldShares, roundShares, TRADE_MIN } from './sold-shares.js';
import { computeTaxedSales, type TaxedSales } from './taxed-sales.js';
import { sortByPurchase, type Replacement } from './wash-sales.js';

/** Maximum number of deviations that a result explains. */
export const DEVIATIONS_SHOWN = 10;

/** Result of one account, as JSON. */
export type AccountResult = ReturnType<typeof createAccountResult>;

/**
 * Returns the result of an account. The figures of an infeasible account are those without trades.
 * @param conflicts  conflicting rules of an infeasible account
 */
export function createAccountResult(common: BatchCommon, solved: SearchedAccount, conflicts: readonly Conflict[]) {
  const { answer, tree, base: rulesBase } = solved;
  const isInfeasible = answer.status === 'infeasible';
  const { base, trades, figures } = isInfeasible
    ? createUntraded(common, rulesBase)
    : { base: rulesBase, trades: answer.trades, figures: answer.figures };
  const { program, value, names, account, rowIds, forcedCost, taxSides } = base;
  const certificate = answer.certificates[answer.certificateIndex]!;
  const { bound } = answer;
  const prices = computePricesAt(program, program.sides[certificate.side]!, certificate.multipliers);
  const trackingError = Math.sqrt(figures.variance);
  const sold = listSoldShares(common, base, trades);
  const sales = computeTaxedSales(base.rule, sold, base.priceOf);
  const tax = computeTax(taxSides, figures.short, figures.long);
  const closed = listClosed(common, rulesBase, { sold, weights: figures.weights });
  const saving = isInfeasible ? null : computeBasisPointSaving(program, answer);
  return {
    account_id: account.account_id,
    status: !isInfeasible && figures.objective - bound > GAP_OPTIMAL ? ('feasible' as const) : answer.status,
    value,
    cash: value * (1 - figures.weights.reduce((sum, w) => sum + w, 0) - figures.cost - forcedCost),
    trades: listTrades(common, base, { sales, trades }),
    weights: Object.fromEntries(
      names.flatMap((name, i) =>
        figures.weights[i]! > TRADE_MIN ? [[common.identifiers[name]!, figures.weights[i]!]] : [],
      ),
    ),
    tracking_error: trackingError,
    tracking_error_before: Math.sqrt(createHeldFigures(common, base).variance),
    short_gain: sales.short,
    long_gain: sales.long,
    disallowed_loss: sales.sales.reduce((sum, { disallowed }) => sum + disallowed, 0),
    disallowed_elsewhere: sumLosses(sales, ({ fresh }) => fresh.lot === null),
    tax: value * tax,
    tax_saved: value * (computeFifoTax(base, sold) - tax),
    costs: value * (figures.cost + forcedCost),
    avoided_wash_sales: listAvoidedTrades(common, rulesBase, closed),
    shadow_prices: {
      short_gain: prices.short,
      long_gain: prices.long,
      tracking_error_bp: value * 2 * certificate.multipliers.variance * trackingError * 1e-4,
      rows: Object.fromEntries([
        ...rowIds.map((id, j) => [id, value * certificate.multipliers.rows[j]!] as const),
        ...(account.tax.limit === null ? [] : [['tax.limit', value * sumLimitPrices(program, certificate)] as const]),
      ]),
      exclusions: Object.fromEntries(
        Object.entries(computeExclusionPrices(common, rulesBase, { weights: figures.weights, own: certificate })).map(
          ([id, price]) => [id, value * price],
        ),
      ),
      minimum_trade: isInfeasible ? 0 : value * computeMinimumTradeCost(tree.regions, figures),
    },
    one_more_bp_saves: saving === null ? null : value * saving,
    deviations: listDeviations(common, rulesBase, { figures, closed }),
    conflicts: conflicts.map(({ rule }) => rule),
    conflict_amounts: Object.fromEntries(conflicts.map(({ rule, amount }) => [rule, amount])),
    conflict_exclusions: conflicts.find(({ weights }) => weights !== undefined)?.weights ?? {},
    certificate: {
      objective: figures.objective + forcedCost,
      bound: Math.min(BOUND_MAX, bound) + rulesBase.forcedCost,
      // Without permitted trades, there is no objective that the bound could miss.
      gap: isInfeasible ? 0 : figures.objective - bound,
      primal_residual: figures.worst,
      ...writeProof(tree, rulesBase.forcedCost),
    },
    steps: answer.steps,
    nodes: answer.nodes,
    findings: [],
  };
}

/** Returns an account without trades, which sells no excluded securities. */
function createUntraded(common: BatchCommon, { account, window }: BuiltAccount) {
  const untradedAccount = { ...account, exclusions: [] };
  const region = { ...WHOLE_REGION, sales: new Map<number, number>() };
  const base = buildAccount(common, untradedAccount, window, region);
  const { program } = base;
  const trades = { bought: new Float64Array(program.n), sold: new Float64Array(program.lotSize.length) };
  return { base, trades, figures: computeFigures(program, trades) };
}

/** Writes the regions of a proof, and the certificates of the sides of each. */
const writeProof = ({ cuts, regions }: RegionTree, forcedCost: number) => ({
  regions: cuts.length > 1 ? cuts.map((cut) => cut ?? { undivided: true }) : null,
  sides: regions.flatMap(({ certificates }, region) =>
    certificates.map(({ side, multipliers, bound: proved, proof }) => ({
      region,
      side,
      bound: Math.min(BOUND_MAX, proof?.bound ?? proved) + forcedCost,
      ...writeMultipliers(multipliers),
      branches: proof === undefined ? null : writeBranches(proof),
    })),
  ),
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

/** Largest bound that is stated. A region without permitted trades has any bound. */
const BOUND_MAX = 1e9;

/** Maximum gap of an optimal result, as a fraction of the account value. */
export const GAP_OPTIMAL = 1e-8;

/** Computes the variance of the active return without trades. */
function createHeldFigures(common: BatchCommon, { account, program, names, value, priceOf }: BuiltAccount) {
  const { n, k, target, specific, loadings } = program;
  const held = new Map<string, number>();
  for (const { identifier, shares } of account.lots)
    held.set(identifier, (held.get(identifier) ?? 0) + (shares * priceOf(identifier)) / value);
  let variance = 0;
  const exposures = new Float64Array(k);
  for (let i = 0; i < n; i++) {
    const activeWeight = (held.get(common.identifiers[names[i]!]!) ?? 0) - target[i]!;
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
  { sales, trades: { bought } }: { readonly sales: TaxedSales; readonly trades: AccountTrades },
) {
  const trades = sales.sales.map(({ lot, shares, gain, disallowed, isLong }): AccountTrade => {
    const { identifier, acquired, cost } = account.lots[lot]!;
    const price = priceOf(identifier);
    const term = isLong ? 'long' : 'short';
    const traded = { identifier, side: 'sell', shares, price, value: shares * price } as const;
    return { ...traded, lot, acquired, cost, gain, disallowed_loss: disallowed, term };
  });
  const purchases = names.flatMap((name, i): AccountTrade[] => {
    if (!(bought[i]! > TRADE_MIN)) return [];
    const price = common.prices[name]!;
    const shares = roundShares((bought[i]! * value) / price, common);
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
function computeFifoTax(
  { account, program, value, forced, rule, priceOf, taxSides }: BuiltAccount,
  sold: ReadonlyMap<number, number>,
): number {
  const soldOf = new Map<string, number>();
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

/** Returns the securities below their target that are not bought because a substitute is sold at a loss. */
function listClosed(
  common: BatchCommon,
  { account, names, program, priceOf }: BuiltAccount,
  { sold, weights }: { readonly sold: ReadonlyMap<number, number>; readonly weights: Float64Array },
): ReadonlySet<number> {
  if (account.substitutes.length === 0) return new Set();
  const losing = new Set(
    [...sold.keys()].flatMap((lot) => {
      const { identifier, cost } = account.lots[lot]!;
      return cost > priceOf(identifier) ? [identifier] : [];
    }),
  );
  const closedNames = new Set(
    account.substitutes.flatMap((group) =>
      group.filter((name) => group.some((other) => losing.has(other)) && !losing.has(name)),
    ),
  );
  return new Set(
    names.flatMap((name, i) =>
      closedNames.has(common.identifiers[name]!) &&
      program.buyLimit[i]! > 0 &&
      weights[i]! < program.target[i]! - TRADE_MIN
        ? [i]
        : [],
    ),
  );
}

/** Returns the trades that the wash sale rule prevents: sales at a loss, and purchases after such sales. */
function listAvoidedTrades(
  common: BatchCommon,
  { rule, blocked, account, names }: BuiltAccount,
  closed: ReadonlySet<number>,
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
  const substituteTrades = [...closed].map((at) => ({
    identifier: common.identifiers[names[at]!]!,
    prevented: 'purchase' as const,
    shares: null,
    until: endDate,
  }));
  return [...sales, ...purchases, ...substituteTrades];
}

/** Returns the largest contributions to the tracking variance, each with its reason. */
function listDeviations(
  common: BatchCommon,
  base: BuiltAccount,
  { figures, closed }: { readonly figures: TradeFigures; readonly closed: ReadonlySet<number> },
) {
  const { program, names, excluded, rule, blocked, account } = base;
  const { n, k, loadings, specific, target, heldWeights } = program;
  const { weights, variance } = figures;
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
      : isBlocked || closed.has(i)
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
