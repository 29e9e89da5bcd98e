import {
  type AccountProgram,
  type AccountRow,
  computeFactorExposures,
  computeTax,
} from '#kernels/lots/account-program.js';
import type { BranchProof, SideCertificate } from '#kernels/lots/branch-proof.js';
import { computeDualBound, computeLotPrices } from '#kernels/lots/dual-bound.js';
import { listRelaxedRows, type Multipliers } from '#kernels/lots/relaxation.js';
import type { AccountSolution } from '#kernels/lots/solve-account.js';
import {
  type AccountTrades,
  computeTradeFigures,
  computePricesAt,
  type TradeFigures,
} from '#kernels/lots/trade-figures.js';
import type { Finding } from '../base/findings.js';
import { formatDay } from '../base/time.js';
import {
  buildAccount,
  type BuiltAccount,
  findAccountTrades,
  type FinderQuestion,
  findNearestAccountTrades,
  findUntaxedAccountTrades,
  listSoldShares,
  type ProvedRegion,
  type RegionTree,
  roundAccountShares,
  type SearchedAccount,
  solveOne,
  TRADE_MIN,
} from './account-solve.js';
import type { Account, AccountLot } from './account.js';
import type { BatchCommon } from './batch.js';
import {
  addDisallowedLosses,
  computeTaxedSales,
  matchReplacements,
  type LotReplacement,
  sortByPurchase,
  type TaxedSales,
  type WashWindow,
  WHOLE_REGION,
} from './lots.js';
import { readAccount } from './read-account.js';
import { type Disposal, matchTransactions, namePot, readWashDays } from './tax-regime.js';

/** Rule of an account that contradicts other rules. */
interface Conflict {
  /** Id of a row, or the name of a field of the account or of the terms. */
  readonly rule: string;
  /**
   * Amount by which the rule must be relaxed if all other rules of the account are kept. It is a tracking error, a
   * weight, or money for the tax budget. For exclusions it is the excluded weight that must be kept. Null for a rule
   * without an amount, and if no amount suffices.
   */
  readonly amount: number | null;
  /** Weight that must be kept, by excluded security. */
  readonly weights?: Readonly<Record<string, number>>;
}

/** Price per unit of violation of the relaxed rule, higher than all other prices. */
const RELAXED_PENALTY = 10;
/** Largest amount that is a rounding error. */
const AMOUNT_MIN = 1e-7;
/** Maximum weight that counts as zero. */
const SMALLEST_WEIGHT = 1e-7;

/**
 * Returns a set of contradictory rules. If any rule of the set is dropped, there are trades that satisfy the others.
 */
function listConflicts(common: BatchCommon, base: BuiltAccount): Conflict[] {
  const { account, rowIds } = base;
  // The first rules are dropped first if the remaining rules still contradict each other.
  const rules = [
    ...(common.terms.whole_shares ? ['whole_shares'] : []),
    ...(account.minimum_trade > 0 ? ['minimum_trade'] : []),
    ...(hasWashRules(account) ? ['tax.wash_sales'] : []),
    ...rowIds.filter((id) => id !== 'tax.budget').toReversed(),
    ...(account.exclusions.length > 0 ? ['exclusions'] : []),
    ...(account.tax.budget === null ? [] : ['tax.budget']),
    ...(account.tax.limit === null ? [] : ['tax.limit']),
    ...(account.tracking_error_limit === null ? [] : ['tracking_error_limit']),
  ];
  const remainingRules = new Set(rules);
  for (const rule of rules) {
    remainingRules.delete(rule);
    if (findAccountTrades(createQuestion(common, base, remainingRules)) === undefined) continue;
    remainingRules.add(rule);
  }
  return [...remainingRules].map((rule) => {
    const { amount, ...more } = computeRelaxation(common, base, { rule, rules });
    // Without a violation, the search found trades for the relaxed rules only: the amount is not known.
    return amount !== null && amount > AMOUNT_MIN ? { rule, amount, ...more } : { rule, amount: null };
  });
}

const hasWashRules = ({ recent, substitutes, tax }: Account): boolean =>
  recent.length > 0 || substitutes.length > 0 || tax.wash_sales === 'forbid';

function createQuestion(
  common: BatchCommon,
  { account, window, rowIds }: Pick<BuiltAccount, 'account' | 'window' | 'rowIds'>,
  remainingRules: ReadonlySet<string>,
  addedRow: AccountRow | null = null,
): FinderQuestion {
  const { terms } = common;
  const hasWashRule = remainingRules.has('tax.wash_sales') || !hasWashRules(account);
  return {
    common: { ...common, terms: { ...terms, whole_shares: terms.whole_shares && remainingRules.has('whole_shares') } },
    account: {
      ...account,
      minimum_trade: remainingRules.has('minimum_trade') ? account.minimum_trade : 0,
      exclusions: remainingRules.has('exclusions') ? account.exclusions : [],
      tracking_error_limit: remainingRules.has('tracking_error_limit') ? account.tracking_error_limit : null,
      substitutes: hasWashRule ? account.substitutes : [],
      tax: {
        ...account.tax,
        ...(!hasWashRule && { wash_sales: 'disallow' }),
        ...(!remainingRules.has('tax.limit') && { limit: null }),
      },
    },
    window: hasWashRule ? window : NO_TRADES,
    adapt: (program): AccountProgram => {
      const rows = program.rows.filter((_, j) => remainingRules.has(rowIds[j]!));
      return { ...program, rows: addedRow === null ? rows : [...rows, addedRow] };
    },
  };
}

const NO_TRADES: WashWindow = { trades: [], used: new Map() };

/** Returns the least amount by which a rule must be relaxed if all other rules are kept. */
function computeRelaxation(
  common: BatchCommon,
  base: BuiltAccount,
  { rule, rules }: { readonly rule: string; readonly rules: readonly string[] },
): Omit<Conflict, 'rule'> {
  const { account } = base;
  const otherRules = new Set(rules);
  otherRules.delete(rule);
  const question = createQuestion(common, base, otherRules);
  if (rule === 'tracking_error_limit') {
    const nearest = findNearestAccountTrades(question)?.figures;
    return { amount: nearest === undefined ? null : Math.sqrt(nearest.variance) - account.tracking_error_limit! };
  }
  const built = buildAccount(question.common, question.account, question.window);
  if (rule === 'tax.limit') {
    const nearest = findUntaxedAccountTrades(question, built.taxSides)?.figures;
    if (nearest === undefined) return { amount: null };
    return { amount: built.value * computeTax(built.taxSides, nearest.short, nearest.long) - account.tax.limit! };
  }
  const relaxedRow = rule === 'exclusions' ? createExcludedRow(common, built, account) : findRow(built, rule);
  if (relaxedRow === undefined) return { amount: null };
  const addedRow = { ...relaxedRow, penalty: RELAXED_PENALTY };
  const figures = findAccountTrades(createQuestion(common, base, otherRules, addedRow))?.figures;
  if (figures === undefined) return { amount: null };
  const amount = figures.violations.at(-1)! * (rule === 'tax.budget' ? built.value : 1);
  return rule === 'exclusions' ? { amount, weights: listRemainingWeights(common, built, figures.weights) } : { amount };

  function listRemainingWeights({ identifiers }: BatchCommon, { names }: BuiltAccount, weights: Float64Array) {
    const excludedIdentifiers = new Set(account.exclusions);
    const remainingWeights = names.flatMap((name, i) =>
      excludedIdentifiers.has(identifiers[name]!) && weights[i]! > SMALLEST_WEIGHT
        ? [[identifiers[name]!, weights[i]!] as const]
        : [],
    );
    return Object.fromEntries(remainingWeights);
  }
}

const findRow = ({ program, rowIds }: BuiltAccount, rule: string): AccountRow | undefined =>
  program.rows[rowIds.indexOf(rule)];

/** Returns a row that limits the weight of excluded securities to zero. */
function createExcludedRow(common: BatchCommon, { names }: BuiltAccount, { exclusions }: Account): AccountRow {
  const excludedIdentifiers = new Set(exclusions);
  const weights = Float64Array.from(names, (name) => Number(excludedIdentifiers.has(common.identifiers[name]!)));
  return { weights, short: 0, long: 0, cost: 0, constant: 0, penalty: RELAXED_PENALTY };
}

const BASIS_POINT = 1e-4;
/**
 * Maximum gap between the solution and its proven bound, as a fraction of a saving. If the gap is larger, the saving is
 * not stated.
 */
const GAP_SHARE = 0.5;

/**
 * Returns an upper bound of the savings in taxes and costs per additional basis point of tracking error, as a fraction
 * of the account value. Null if the bound consists mostly of the gap of the certificate.
 *
 * Trades with variance v have taxes and costs of at least bound - aversion v - multiplier (v - limit), on each side of
 * the tax.
 */
function computeBasisPointSaving(
  program: AccountProgram,
  { figures, certificates, bound }: SolutionParts,
): number | null {
  const { aversion, varianceLimit } = program;
  const { variance, objective } = figures;
  const widerVariance = (Math.sqrt(variance) + BASIS_POINT) ** 2;
  const costAndTax = objective - aversion * variance;
  const least = Math.min(
    ...certificates.map(({ multipliers, bound: proved }) => {
      const price = Number.isFinite(varianceLimit) ? multipliers.variance : 0;
      return proved - aversion * widerVariance - (price === 0 ? 0 : price * (widerVariance - varianceLimit));
    }),
  );
  const largestGain = costAndTax - least;
  return objective - bound > GAP_SHARE * largestGain ? null : largestGain;
}

type SolutionParts = Pick<AccountSolution, 'figures' | 'certificates' | 'bound'>;

/**
 * Returns an upper bound of the savings from trades below the minimum, as a fraction of the account value. Returns 0
 * without a minimum.
 */
function computeMinimumTradeCost(
  regions: readonly ProvedRegion[],
  { objective }: Pick<AccountSolution['figures'], 'objective'>,
): number {
  if (!regions[0]!.program.minimumTrade.some((least) => least > 0)) return 0;
  const bounds = regions.flatMap(({ program, certificates }) => {
    const programWithoutMinimum = { ...program, minimumTrade: new Float64Array(program.n) };
    return certificates.map(
      ({ side, multipliers }) => computeDualBound(programWithoutMinimum, program.sides[side]!, multipliers).bound,
    );
  });
  return Math.max(0, objective - Math.min(...bounds));
}

/**
 * Returns the price of each exclusion. It is the decrease of the objective per unit of weight of the excluded security
 * that is kept instead of sold. If the security is not held, it is the decrease per unit bought. Exclusions without a
 * price are omitted.
 */
function computeExclusionPrices(
  common: BatchCommon,
  { program, account, names, forced }: BuiltAccount,
  { weights, own }: { readonly weights: Float64Array; readonly own: SideCertificate },
): Record<string, number> {
  if (account.exclusions.length === 0) return {};
  const { n, k, loadings, specific, target, costRate } = program;
  const rows = listRelaxedRows(program, program.sides[own.side]!);
  const prices = computeLotPrices(rows, own.multipliers, program.taxWeight);
  const averseness = program.aversion + own.multipliers.variance;
  const activeWeights = weights.map((weight, i) => weight - target[i]!);
  const exposures = computeFactorExposures(program, activeWeights, new Float64Array(k));
  const excludedIdentifiers = new Set(account.exclusions);
  const priceByIdentifier: Record<string, number> = {};
  for (let i = 0; i < n; i++) {
    const identifier = common.identifiers[names[i]!]!;
    if (!excludedIdentifiers.has(identifier)) continue;
    let slope = specific[i]! * activeWeights[i]!;
    for (let f = 0; f < k; f++) slope += loadings[i * k + f]! * exposures[f]!;
    slope *= 2 * averseness;
    rows.forEach(({ weights: own }, j) => void (own !== null && (slope += prices.rows[j]! * own[i]!)));
    const price = common.prices[names[i]!]!;
    const sales = forced.sales.flatMap(({ lot, shares, gain, isLong }) =>
      account.lots[lot]!.identifier === identifier
        ? [((isLong ? prices.long : prices.short) * gain) / (shares * price)]
        : [],
    );
    const keepingPrice =
      sales.length > 0 ? Math.max(...sales) + prices.cost * costRate[i]! : -prices.cost * costRate[i]!;
    if (keepingPrice - slope > 0) priceByIdentifier[identifier] = keepingPrice - slope;
  }
  return priceByIdentifier;
}

/** Maximum number of deviations that a result explains. */
export const DEVIATIONS_SHOWN = 10;

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
  return { base, trades, figures: computeTradeFigures(program, trades) };
}

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
const sumLosses = ({ replacements }: TaxedSales, isCounted: (replacement: LotReplacement) => boolean): number =>
  replacements.reduce((sum, own) => (isCounted(own) ? sum + own.shares * own.loss : sum), 0);

function listTrades(
  common: BatchCommon,
  { account, names, value, rule, priceOf }: BuiltAccount,
  { sales, trades: { bought } }: { readonly sales: TaxedSales; readonly trades: AccountTrades },
) {
  const trades = sales.sales.map(({ lot, shares, gain, disallowed, isLong }): AccountTrade => {
    const { identifier, acquired, cost } = account.lots[lot]!;
    const price = priceOf(identifier);
    const term = namePot(rule.regime, isLong);
    const traded = { identifier, side: 'sell', shares, price, value: shares * price } as const;
    return { ...traded, lot, acquired, cost, gain, disallowed_loss: disallowed, term };
  });
  const purchases = names.flatMap((name, i): AccountTrade[] => {
    if (!(bought[i]! > TRADE_MIN)) return [];
    const price = common.prices[name]!;
    const shares = roundAccountShares((bought[i]! * value) / price, common);
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
  readonly lot?: number;
  readonly acquired?: string;
  readonly cost?: number;
  readonly gain?: number;
  readonly disallowed_loss?: number;
  /** Name of the pot of the gain. */
  readonly term?: string;
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
function listAvoidedTrades(common: BatchCommon, { rule, blocked, names }: BuiltAccount, closed: ReadonlySet<number>) {
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
  const endDate = formatDay(common.asOf + Math.max(0, readWashDays(rule.regime)));
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

/** Maximum number of lots of an account for which a result lists the lots after the trades: 90 bytes each. */
const LOTS_MAX = 500;
/** Smallest number of shares of a lot that is not a rounding error. */
const LOT_SHARES_MIN = 1e-9;

/** Lot after the trades. */
interface RemainingLot extends AccountLot {
  /** Index of the lot in the account; null for a purchase. */
  readonly lot: number | null;
  /** Market value less cost. */
  readonly unrealised_gain: number;
}

/**
 * Returns the lots of an account after its trades, purchases last. Disallowed losses are added to the cost of the lots
 * that replace the sold shares. Returns null if the account has more than 500 lots or is infeasible.
 */
export function listLotsAfter(
  common: BatchCommon,
  { account, rule, priceOf }: BuiltAccount,
  { status, trades }: AccountResult,
): RemainingLot[] | null {
  if (account.lots.length > LOTS_MAX || status === 'infeasible') return null;
  const soldShares = new Map<number, number>();
  for (const { lot, shares } of trades) if (lot !== undefined) soldShares.set(lot, (soldShares.get(lot) ?? 0) + shares);
  const remainingLots = account.lots.flatMap((heldLot, lot) => {
    const shares = heldLot.shares - (soldShares.get(lot) ?? 0);
    return shares > LOT_SHARES_MIN * heldLot.shares ? [{ ...heldLot, lot, shares }] : [];
  });
  const boughtLots = trades.flatMap(({ side, identifier, shares, price }) =>
    side === 'buy' ? [{ lot: null, identifier, shares, cost: price, acquired: formatDay(common.asOf) }] : [],
  );
  const keptLots = addDisallowedLosses(remainingLots, matchReplacements(rule, soldShares, priceOf));
  return [...keptLots, ...boughtLots].map((lot) => ({
    ...lot,
    unrealised_gain: lot.shares * (priceOf(lot.identifier) - lot.cost),
  }));
}

/** Account that was not solved, with the reasons. */
export interface RefusedAccount {
  /** Id of the account; null if it has no readable id. */
  readonly account_id: string | null;
  readonly status: 'refused';
  readonly findings: readonly Finding[];
}

/** Result with the lots after the trades; results of earlier versions lack these lots. */
export type SolvedResult = AccountResult & {
  readonly lots_after?: readonly RemainingLot[] | null;
  /** Sales of an account that states its transactions. */
  readonly disposals?: readonly Disposal[];
};
export type AccountOutcome = SolvedResult | RefusedAccount;

/**
 * Solves an account, or reports why it cannot be solved. Invalid accounts never stop the batch.
 * @param path  path in the body
 * @param line  line of the body; null if accounts are not sent as lines
 */
export function solveOutcome(
  common: BatchCommon,
  value: unknown,
  path: string,
  line: number | null = null,
): AccountOutcome {
  const { account, findings } = readAccount(common, value, { path, line });
  if (account === undefined) return { account_id: readId(value), status: 'refused', findings };
  const builtAccount = buildAccount(common, account);
  const solved = solveOne(common, builtAccount);
  const conflicts = solved.answer.status === 'infeasible' ? listConflicts(common, builtAccount) : [];
  const result = createAccountResult(common, solved, conflicts);
  return completeResult(common, builtAccount, result);
}

/** Adds the lots after the trades, and the matched sales of an account that states its transactions. */
export function completeResult(common: BatchCommon, base: BuiltAccount, result: AccountResult): SolvedResult {
  const lots_after = listLotsAfter(common, base, result);
  if (base.account.transactions.length === 0) return { ...result, lots_after };
  return { ...result, lots_after, disposals: matchTransactions(base.account, common.asOf).disposals };
}

function readId(value: unknown): string | null {
  const id = (value as { account_id?: unknown } | null)?.account_id;
  return typeof id === 'string' ? id.slice(0, 64) : null;
}
