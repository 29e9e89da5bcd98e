import type { AccountProgram, AccountRow, TaxSide } from '#kernels/lots/account-program.js';
import { findLeastBound, type SideCertificate } from '#kernels/lots/branch-proof.js';
import { computeDualBound } from '#kernels/lots/dual-bound.js';
import { type AccountSolution, type SearchLimits, solveAccount } from '#kernels/lots/solve-account.js';
import {
  type AccountTrades,
  computeTradeFigures,
  computeMerit,
  type TradeFigures,
  VIOLATION_MAX,
} from '#kernels/lots/trade-figures.js';
import { type Day, formatDay } from '../base/time.js';
import type { Account } from './account.js';
import { type BatchCommon, indexSecurities } from './batch.js';
import {
  completeKeys,
  computeTaxedSales,
  createTaxTerms,
  createWashRule,
  divideRegion,
  findSaleLinks,
  type FreshReader,
  type FreshShares,
  type KeyStates,
  listManagedLots,
  listNeeded,
  listSecurityLots,
  readWashWindow,
  type RegionCut,
  type LotReplacement,
  type SaleLinks,
  type SaleLot,
  type SaleRegion,
  type SecurityLots,
  SHARES_MIN as LOTS_SHARES_MIN,
  sortByPurchase,
  sortForSale,
  type TaxedSales,
  type WashRule,
  type WashWindow,
  WHOLE_REGION,
} from './lots.js';
import { createTaxSides, poolLots, readBalances, readRegime } from './tax-regime.js';

/** Maximum weight above its target up to which a purchase may raise a security. */
const ABOVE_TARGET_MAX = 0.05;

/** Optimisation program of an account, with the meaning of its entries. */
export interface BuiltAccount {
  readonly account: Account;
  readonly program: AccountProgram;
  readonly value: number;
  /** Index in the common securities of each security of the program, [n]. */
  readonly names: readonly number[];
  readonly lots: readonly SaleLot[];
  /** Sales of excluded securities, which are always executed. */
  readonly forced: TaxedSales;
  /** Cost of the forced sales, as a fraction of the account value. */
  readonly forcedCost: number;
  readonly rowIds: readonly string[];
  /** Tax as a function of gains, whatever its weight in the objective. */
  readonly taxSides: readonly TaxSide[];
  readonly window: WashWindow;
  readonly rule: WashRule;
  readonly excluded: ReadonlySet<string>;
  /** Number of shares at a loss that the wash sale rule keeps from sale, by security. */
  readonly blocked: ReadonlyMap<string, number>;
  readonly links: SaleLinks;
  /** True if the region contains no permitted trades. */
  readonly isEmpty: boolean;
  priceOf(identifier: string): number;
}

/**
 * Builds the program of an account.
 * @param window  earlier trades; default: those that the account states
 * @param region  part of the permitted trades; default: all
 */
export function buildAccount(
  common: BatchCommon,
  stated: Account,
  window: WashWindow = readWashWindow(stated, common.asOf),
  region: SaleRegion = WHOLE_REGION,
): BuiltAccount {
  const { asOf, prices, terms } = common;
  const account = poolAccount(stated, asOf);
  const positionByName = indexSecurities(common);
  const excluded = new Set(account.exclusions);
  const rule = createWashRule(account, asOf, window);
  const priceOf = (identifier: string): number => prices[positionByName.get(identifier)!]!;
  const byName = new Map<string, number[]>();
  account.lots.forEach(({ identifier }, position) =>
    byName.set(identifier, [...(byName.get(identifier) ?? []), position]),
  );
  let value = account.cash;
  for (const { identifier, shares } of account.lots) value += shares * prices[positionByName.get(identifier)!]!;
  const parent = common.identifiers.map((_, position) => position).filter((position) => common.weights[position]! > 0);
  const held = [...Object.keys(account.tilts), ...byName.keys()].map((name) => positionByName.get(name)!);
  const names = [...new Set([...parent, ...held])].toSorted((a, b) => a - b);
  const parts = { common, account, rule, excluded, byName, priceOf };
  const { forced, forcedShares, links, isEmpty, whole, listLots } = createSales(parts, region);
  const lots: SaleLot[] = [];
  const [blocked, unlisted] = [new Map<string, number>(), new Map<string, number>()];
  const lotStart = new Int32Array(names.length + 1);
  const isOrdered = new Uint8Array(names.length);
  names.forEach((name, i) => {
    const identifier = common.identifiers[name]!;
    if (!excluded.has(identifier)) {
      const securityLots = listLots(identifier);
      if (securityLots.blocked > 0) blocked.set(identifier, securityLots.blocked);
      unlisted.set(identifier, securityLots.unlisted);
      lots.push(...securityLots.lots);
      isOrdered[i] = securityLots.isOrdered ? 1 : 0;
    }
    lotStart[i + 1] = lots.length;
  });
  let forcedValue = 0;
  for (const [lot, shares] of forcedShares) forcedValue += shares * priceOf(account.lots[lot]!.identifier);
  const costRate = terms.objective.cost_bps / 10_000;
  const forcedCost = (forcedValue * costRate) / value;
  const base = { common, account, names, lots, lotStart, value, excluded, rule, unlisted };
  const { realised, carried } = readBalances(account.tax);
  const { rows, rowIds } = createRows(base, forcedCost);
  const program: AccountProgram = {
    ...restrictToRegion(base, createSecurities(base), { region: { ...region, whole }, isOrdered }),
    lotStart,
    ...createLotArrays(common, { names, lots, lotStart, value }),
    isOrdered,
    costRate: new Float64Array(names.length).fill(costRate),
    aversion: terms.objective.risk_aversion,
    varianceLimit: account.tracking_error_limit === null ? Infinity : account.tracking_error_limit ** 2,
    ...createTaxTerms(account.tax, value),
    fixedShort: (realised.short - carried.short + forced.short) / value,
    fixedLong: (realised.long - carried.long + forced.long) / value,
    rows,
  };
  const taxSides = createTaxSides(account.tax, value);
  const sales = { forced, forcedCost, window, rule, excluded, blocked, links, isEmpty };
  return { account, program, value, names, lots, rowIds, taxSides, priceOf, ...sales };
}

function poolAccount(account: Account, asOf: Day): Account {
  const today = formatDay(asOf);
  const lots = poolLots(readRegime(account.tax), account.lots, ({ acquired }) => acquired === today);
  return lots === account.lots ? account : { ...account, lots: [...lots] };
}

interface SalesBase {
  readonly common: BatchCommon;
  readonly account: Account;
  readonly rule: WashRule;
  readonly excluded: ReadonlySet<string>;
  /** Lots of each security. */
  readonly byName: ReadonlyMap<string, readonly number[]>;
  readonly priceOf: (identifier: string) => number;
}

function createSales({ account, rule, excluded, byName, priceOf }: SalesBase, region: SaleRegion) {
  const { lots, substitutes } = account;
  const forcedShares = new Map(
    lots.flatMap(({ identifier, shares }, lot) => (excluded.has(identifier) ? [[lot, shares]] : [])),
  );
  const forcedAlone = computeTaxedSales(rule, forcedShares, priceOf);
  const listLeft = createFreshReader(rule, { forced: forcedAlone, excluded });
  const links = findSaleLinks(account, { rule, excluded, listLeft, priceOf });
  const createQuestion = (name: string) => ({ price: priceOf(name), rule, fresh: listLeft(name), priceOf });
  const corner = new Map([...links.coupled].map((name) => [name, listMostSold(name)] as const));
  const forced = corner.size === 0 ? forcedAlone : computeForced();
  const needed = (lot: number): readonly number[] | null | undefined =>
    lots[lot]!.cost > priceOf(lots[lot]!.identifier) ? listNeeded(lots, listLeft, lot) : undefined;
  const states = completeKeys(region, links.keys, needed);
  const isBroken = [...region.lossless].some((group) =>
    forced.sales.some(({ lot }) => substitutes[group]!.includes(lots[lot]!.identifier) && isLoss(lot)),
  );
  const { kept, whole }: KeyStates = states ?? region;
  const undecided = new Set(links.keys.filter((lot) => !kept.has(lot) && !whole.has(lot)));
  const lossless = new Set([...region.lossless].flatMap((group) => substitutes[group]!));
  return { forced, forcedShares, links, isEmpty: states === undefined || isBroken, whole, listLots };

  function isLoss(lot: number): boolean {
    return lots[lot]!.cost > priceOf(lots[lot]!.identifier);
  }

  /** Returns the most shares of a coupled security that are sold in the region, by lot. */
  function listMostSold(name: string): ReadonlyMap<number, number> {
    const ownLots = byName.get(name)!;
    const { sales } = region;
    if (sales !== undefined) return new Map(ownLots.flatMap((lot) => (sales.has(lot) ? [[lot, sales.get(lot)!]] : [])));
    let left = region.sold.get(name)?.most ?? Infinity;
    const sold = new Map<number, number>();
    // Where lots have no order, those are sold first that would replace shares of others.
    const freshLots = new Set(rule.listFresh(name).map(({ lot }) => lot));
    const order =
      account.tax.wash_sales === 'forbid'
        ? ownLots.toSorted((a, b) => Number(freshLots.has(b)) - Number(freshLots.has(a)))
        : sortForSale(account, ownLots, { ...createQuestion(name), isExposed: true });
    for (const lot of order) {
      const shares = Math.min(left, lots[lot]!.shares);
      if (shares > 0) sold.set(lot, shares);
      left -= shares;
    }
    return sold;
  }

  /** Computes the gains of the excluded securities. */
  function computeForced(): TaxedSales {
    const all = new Map([...forcedShares, ...[...corner.values()].flatMap((sold) => [...sold])]);
    const { sales, replacements } = computeTaxedSales(rule, all, priceOf);
    const own = sales.filter(({ lot }) => forcedShares.has(lot));
    const sum = (isLongTerm: boolean): number =>
      own.reduce((total, { gain, isLong }) => (isLong === isLongTerm ? total + gain : total), 0);
    const ownReplacements = replacements.filter(({ sold }) => forcedShares.has(sold));
    return { sales: own, replacements: ownReplacements, short: sum(false), long: sum(true) };
  }

  function listLots(name: string): SecurityLots {
    const ownLots = byName.get(name) ?? [];
    const question = createQuestion(name);
    if (links.managed.has(name))
      return leaveOutLosses(
        name,
        listManagedLots(account, ownLots, { ...question, kept, whole, undecided, listLeft, sales: region.sales }),
      );
    if (!links.coupled.has(name)) return leaveOutLosses(name, listSecurityLots(account, ownLots, question));
    const others = new Map(forcedShares);
    for (const [other, sold] of corner) if (other !== name) for (const [lot, shares] of sold) others.set(lot, shares);
    return listSecurityLots(account, ownLots, { ...question, others });
  }

  /** Leaves out lots at a loss where the region has no losses. Lots in an order are limited by their weight instead. */
  function leaveOutLosses(name: string, listed: SecurityLots): SecurityLots {
    if (!lossless.has(name) || listed.isOrdered) return listed;
    const left = listed.lots.filter(({ lot }) => !isLoss(lot));
    const unlisted = listed.lots.reduce((sum, { lot, shares }) => (isLoss(lot) ? sum + shares : sum), listed.unlisted);
    return { ...listed, lots: left, unlisted };
  }
}

function createFreshReader(
  rule: WashRule,
  { forced, excluded }: Pick<BuiltAccount, 'forced' | 'excluded'>,
): FreshReader {
  return (identifier, lot) => {
    const takenShares = new Map<FreshShares, number>();
    for (const { sold, fresh, shares } of forced.replacements)
      if (lot === undefined || sortByPurchase(rule.lots, [lot, sold])[0] === sold)
        takenShares.set(fresh, (takenShares.get(fresh) ?? 0) + shares);
    return rule.listFresh(identifier).flatMap((fresh) => {
      const shares = fresh.shares - (takenShares.get(fresh) ?? 0);
      const isSold = fresh.lot !== null && excluded.has(fresh.identifier);
      return isSold || !(shares > LOTS_SHARES_MIN) ? [] : [{ ...fresh, shares }];
    });
  };
}

interface AccountBase {
  readonly common: BatchCommon;
  readonly account: Account;
  readonly names: readonly number[];
  readonly lots: readonly SaleLot[];
  readonly lotStart: Int32Array;
  readonly value: number;
  readonly excluded: ReadonlySet<string>;
  readonly rule: WashRule;
  /** Number of shares that the program does not contain, by security. */
  readonly unlisted: ReadonlyMap<string, number>;
}

function restrictToRegion(
  { common, account, names, lots, lotStart, value }: AccountBase,
  securities: ReturnType<typeof createSecurities>,
  { region, isOrdered }: { readonly region: SaleRegion; readonly isOrdered: Uint8Array },
): ReturnType<typeof createSecurities> {
  const { sold, whole, closed, lossless, sales } = region;
  if (sales !== undefined || (sold.size === 0 && whole.size === 0 && closed.size === 0 && lossless.size === 0))
    return securities;
  const [lower, upper, buyLimit] = [securities.lower.slice(), securities.upper.slice(), securities.buyLimit.slice()];
  const listNames = (groups: ReadonlySet<number>): ReadonlySet<string> =>
    new Set([...groups].flatMap((group) => account.substitutes[group]!));
  const [closedNames, losslessNames] = [listNames(closed), listNames(lossless)];
  names.forEach((name, i) => {
    const identifier = common.identifiers[name]!;
    const price = common.prices[name]!;
    const weighShares = (shares: number): number => securities.heldWeights[i]! - (shares * price) / value;
    const { least, most } = sold.get(identifier) ?? { least: null, most: Infinity };
    if (most < Infinity) lower[i] = Math.max(lower[i]!, weighShares(most));
    let leastSold = least ?? 0;
    for (let l = lotStart[i]!; l < lotStart[i + 1]!; l++)
      if (whole.has(lots[l]!.lot)) leastSold = Math.max(leastSold, sumShares(l + 1));
    if (leastSold > 0) upper[i] = Math.min(upper[i]!, weighShares(leastSold));
    if (least !== null || leastSold > 0 || closedNames.has(identifier)) buyLimit[i] = 0;
    if (losslessNames.has(identifier) && isOrdered[i] === 1) {
      let end = lotStart[i]!;
      while (end < lotStart[i + 1]! && !(account.lots[lots[end]!.lot]!.cost > price)) end++;
      lower[i] = Math.max(lower[i]!, weighShares(sumShares(end)));
    }

    function sumShares(end: number): number {
      let shares = 0;
      for (let l = lotStart[i]!; l < end; l++) shares += lots[l]!.shares;
      return shares;
    }
  });
  return { ...securities, lower, upper, buyLimit };
}

function createSecurities({ common, account, names, lots, lotStart, value, excluded, rule, unlisted }: AccountBase) {
  const { factors: k, prices, terms } = common;
  const n = names.length;
  const loadings = new Float64Array(n * k);
  names.forEach((name, i) => loadings.set(common.loadings.subarray(name * k, (name + 1) * k), i * k));
  const bounds = terms.constraints.find(({ type }) => type === 'PositionBounds')?.params;
  const target = computeTargets(common, account, names);
  const heldWeights = Float64Array.from(names, (name, i) => {
    let shares = unlisted.get(common.identifiers[name]!) ?? 0;
    for (let l = lotStart[i]!; l < lotStart[i + 1]!; l++) shares += lots[l]!.shares;
    return (shares * prices[name]!) / value;
  });
  const upper = Float64Array.from(heldWeights, (weight) => Math.max(bounds?.upper ?? 1, weight));
  const buyLimit = Float64Array.from(names, (name, i) => {
    const identifier = common.identifiers[name]!;
    if (excluded.has(identifier) || rule.noPurchaseUntil.has(identifier) || !(target[i]! > 0)) return 0;
    return Math.max(0, Math.min(bounds?.upper ?? 1, target[i]! + ABOVE_TARGET_MAX) - heldWeights[i]!);
  });
  return {
    n,
    k,
    loadings,
    specific: Float64Array.from(names, (name) => common.specific[name]!),
    target,
    heldWeights,
    buyLimit,
    unit: Float64Array.from(names, (name) => (terms.whole_shares ? prices[name]! / value : 0)),
    minimumTrade: new Float64Array(n).fill(account.minimum_trade / value),
    // If a weight is above its bound, a row reduces it; see `createRows`. A purchase never exceeds the bound.
    lower: new Float64Array(n),
    upper,
  };
}

function computeTargets(common: BatchCommon, { tilts }: Account, names: readonly number[]): Float64Array {
  return Float64Array.from(names, (name) => {
    const tilt = tilts[common.identifiers[name]!] ?? 0;
    return Math.max(0, common.weights[name]! + tilt);
  });
}

function createLotArrays(
  { prices }: BatchCommon,
  { names, lots, lotStart, value }: Pick<AccountBase, 'names' | 'lots' | 'lotStart' | 'value'>,
) {
  const count = lots.length;
  const [lotSize, lotShort, lotLong] = [new Float64Array(count), new Float64Array(count), new Float64Array(count)];
  names.forEach((name, i) => {
    const price = prices[name]!;
    for (let l = lotStart[i]!; l < lotStart[i + 1]!; l++) {
      const { shares, short, long } = lots[l]!;
      lotSize[l] = (shares * price) / value;
      lotShort[l] = short / price;
      lotLong[l] = long / price;
    }
  });
  return { lotSize, lotShort, lotLong };
}

/** Returns the rows of cash, tax budget and groups, with their ids. */
function createRows(base: AccountBase, forcedCost: number): { rows: AccountRow[]; rowIds: string[] } {
  const { common, account, names, value } = base;
  const { objective, constraints } = common.terms;
  const n = names.length;
  const rows: AccountRow[] = [];
  const rowIds: string[] = [];
  const putRow = (id: string, row: Partial<AccountRow>): void => {
    rows.push({ weights: null, short: 0, long: 0, cost: 0, constant: 0, penalty: Infinity, ...row });
    rowIds.push(id);
  };
  const fillVector = (x: number): Float64Array => new Float64Array(n).fill(x);
  putRow('cash_minimum', { weights: fillVector(1), cost: 1, constant: objective.cash_minimum + forcedCost - 1 });
  putRow('cash_maximum', { weights: fillVector(-1), cost: -1, constant: 1 - forcedCost - objective.cash_maximum });
  const { budget } = account.tax;
  if (budget !== null) putRow('tax.budget', { short: 1, long: 1, constant: -budget / value });
  const positionByName = new Map(names.map((name, i) => [name, i]));
  for (const { row: position, group, members } of common.groups) {
    const row = constraints[position]!;
    const id = `${row.id || `constraints[${position}]`}:${group}`;
    const weights = new Float64Array(n);
    let parent = 0;
    for (const name of members) {
      const securityPosition = positionByName.get(name);
      if (securityPosition !== undefined) weights[securityPosition] = 1;
      parent += common.weights[name]!;
    }
    const { lower, upper } = row.params;
    const from = row.type === 'ActiveGroupBounds' ? parent : 0;
    const penalty = 'penalty' in row.params ? (row.params.penalty ?? Infinity) : Infinity;
    if (upper !== undefined) putRow(`${id}:upper`, { weights, constant: -(from + upper), penalty });
    if (lower !== undefined)
      putRow(`${id}:lower`, { weights: weights.map((x) => -x), constant: from + lower, penalty });
  }
  return { rows, rowIds };
}

/** Tolerance of recomputed figures, as a fraction of the account value. */
export const ACCOUNT_TOLERANCE = 1e-9;
/** Maximum difference from a whole number of shares that counts as a rounding error, relative to the number. */
const SHARES_TOLERANCE = 1e-6;

/**
 * Reports purchases beyond their limit, purchases of securities that are also sold, lots sold out of order, fractions of
 * shares, and trades below the minimum.
 */
export function reportBrokenRules(
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
      if (sold[l]! > ACCOUNT_TOLERANCE && !isComplete) isInOrder = false;
      isComplete &&= sold[l]! >= program.lotSize[l]! * (1 - 1e-9);
    }
    if (program.isOrdered[i] === 1 && !isInOrder) violations.push(`lots of ${name} are not sold in their order`);
    if (bought[i]! > 0 && amount > 0) violations.push(`${name} is bought and sold`);
    if (bought[i]! > program.buyLimit[i]! + ACCOUNT_TOLERANCE) violations.push(`${name} may not be bought so much`);
    if (amount > 0 && Math.abs(amount - position) <= ACCOUNT_TOLERANCE * position) continue; // A whole position may be sold.
    const trade = Math.max(amount, bought[i]!);
    const count = program.unit[i]! > 0 ? trade / program.unit[i]! : 0;
    if (!(Math.abs(count - Math.round(count)) <= SHARES_TOLERANCE * Math.max(1, count)))
      violations.push(`${name} is not traded in whole shares`);
    if (trade > 0 && trade < program.minimumTrade[i]! - ACCOUNT_TOLERANCE)
      violations.push(`${name} trades less than the minimum`);
  }
  return violations;
}

/** Minimum size of a trade as a fraction of the account value; smaller trades are rounding errors. */
export const TRADE_MIN = 1e-10;
/** Maximum difference from a whole lot that is a rounding error, relative to the lot. */
const SIZE_TOLERANCE = 1e-9;

/** Returns the number of shares that are sold, by lot: those of excluded securities first. */
export function listSoldShares(
  common: BatchCommon,
  { program, lots, account, value, forced, priceOf }: BuiltAccount,
  { sold }: AccountTrades,
): ReadonlyMap<number, number> {
  const soldShares = new Map(forced.sales.map(({ lot }) => [lot, account.lots[lot]!.shares]));
  const soldWeights = new Map<number, number>();
  const chosenShares = new Map<number, number>();
  lots.forEach(({ lot, shares }, l) => {
    const weight = sold[l]!;
    if (!(weight > 0)) return;
    const isWhole = weight === program.lotSize[l];
    const added = isWhole ? shares : (weight * value) / priceOf(account.lots[lot]!.identifier);
    soldWeights.set(lot, (soldWeights.get(lot) ?? 0) + weight);
    chosenShares.set(lot, (chosenShares.get(lot) ?? 0) + added);
  });
  for (const [lot, shares] of chosenShares)
    if (soldWeights.get(lot)! > TRADE_MIN)
      soldShares.set(lot, Math.min(roundAccountShares(shares, common), account.lots[lot]!.shares));
  return soldShares;
}

/** Rounds shares to whole numbers if only whole shares are traded. This removes rounding errors of weights. */
export function roundAccountShares(shares: number, { terms }: BatchCommon): number {
  const roundedShares = Math.round(shares);
  return terms.whole_shares && Math.abs(shares - roundedShares) < 1e-9 * Math.max(1, roundedShares)
    ? roundedShares
    : shares;
}

/**
 * Distributes the shares sold by lot over the lots of the program, in their order.
 * @returns weights sold, and the weights by lot that the program does not contain
 */
export function splitSoldShares(
  { account, program, lots, value, forced, priceOf }: BuiltAccount,
  soldShares: ReadonlyMap<number, number>,
): { readonly sold: Float64Array; readonly left: ReadonlyMap<number, number> } {
  const forcedLots = new Set(forced.sales.map(({ lot }) => lot));
  const left = new Map<number, number>();
  for (const [lot, shares] of soldShares)
    if (!forcedLots.has(lot)) left.set(lot, (shares * priceOf(account.lots[lot]!.identifier)) / value);
  const sold = Float64Array.from(program.lotSize, (size, l) => {
    const weight = left.get(lots[l]!.lot) ?? 0;
    const taken = weight > size * (1 - SIZE_TOLERANCE) ? size : weight;
    left.set(lots[l]!.lot, Math.max(0, weight - taken));
    return taken;
  });
  return { sold, left };
}

/** Gap at which a region is not divided further, as a fraction of the account value. */
const GAP_TOLERANCE = 1e-9;
/** Maximum number of regions that are solved, and the number of securities, lots and regions that are solved at most. */
const REGIONS_MAX = 240;
const REGIONS_MIN = 12;
const SIZE_MAX = 24_000;
/** Smallest difference of shares that divides a region. */
const SHARES_MIN = 1e-7;
/** Smallest part of a range at which it is divided at the trades of the solution; otherwise it is halved. */
const PART_MIN = 0.05;
/** Factors of the multipliers of rows that may prove that a region has no permitted trades. */
const PROOF_FACTORS = [1e2, 1e4, 1e6] as const;

/** Region that is not divided, with the proof of its bound. */
export interface ProvedRegion {
  readonly program: AccountProgram;
  readonly certificates: readonly SideCertificate[];
}

/** Regions that contain all permitted trades, in the order of their division. Empty regions have no proof. */
export interface RegionTree {
  readonly cuts: readonly (RegionCut | null)[];
  readonly regions: readonly ProvedRegion[];
}

export interface SearchedAccount {
  /** Account with the gains of the trades. */
  readonly base: BuiltAccount;
  readonly answer: AccountSolution;
  readonly tree: RegionTree;
}

interface SearchQuestion {
  readonly common: BatchCommon;
  readonly account: Account;
  readonly window: WashWindow;
  /** Changes the program of a region, such as its rows. */
  adapt(program: AccountProgram): AccountProgram;
  solve(program: AccountProgram): AccountSolution;
}

interface Node {
  readonly region: SaleRegion;
  readonly built: BuiltAccount;
  /** Null for a region without permitted trades. */
  readonly solved: { readonly program: AccountProgram; readonly answer: AccountSolution } | null;
  readonly certificates: readonly SideCertificate[];
  readonly bound: number;
  split: { readonly cut: RegionCut; readonly parts: readonly [Node, Node] } | null;
}

/** Trades of a region with their gains by the wash sale rule. */
interface Evaluation {
  readonly built: BuiltAccount;
  readonly trades: AccountTrades;
  readonly figures: TradeFigures;
  readonly sold: ReadonlyMap<number, number>;
  readonly merit: number;
  readonly isPermitted: boolean;
  /** Group of substitutes of which one is bought and another one sold at a loss. */
  readonly brokenGroup: number;
  /** Lots that replace shares whose loss must not be disallowed. */
  readonly replacing: readonly number[];
}

/**
 * Solves an account whose sales affect each other under the wash sale rule. A region is solved with the least gains that
 * its trades may have; if those of the solution are higher, or it is not permitted, the region is divided. Regions are
 * divided in the order of their bounds.
 *
 * @cost one solution per region
 * @source R. Horst and H. Tuy, Global Optimization, 3rd ed., 1996, chapter IV
 */
function searchRegions(question: SearchQuestion): SearchedAccount {
  const root = openRegion(question, WHOLE_REGION, null);
  const found: { best?: Found } = {};
  const consider = (node: Node): Evaluation => {
    const evaluation = evaluateTrades(question, node);
    if (evaluation.isPermitted && !(evaluation.merit >= (found.best?.evaluation.merit ?? Infinity)))
      found.best = { evaluation, node };
    return evaluation;
  };
  const openNodes = [root];
  const { program, links } = root.built;
  if (!isDivisible(root.built)) return createUndivided(root);
  const regionsMax = Math.max(REGIONS_MIN, Math.min(REGIONS_MAX, SIZE_MAX / (program.n + program.lotSize.length)));
  let steps = 0;
  let nodes = 0;
  for (let count = 1; count < regionsMax;) {
    const node = openNodes.shift();
    if (node?.solved == null || node.bound > (found.best?.evaluation.merit ?? Infinity) - GAP_TOLERANCE) break;
    steps += node.solved.answer.steps;
    nodes += node.solved.answer.nodes;
    const evaluation = consider(node);
    if (evaluation.isPermitted && evaluation.merit - computeMerit(node.solved.answer.figures) <= GAP_TOLERANCE)
      continue;
    if (node === root && (links.coupled.size > 0 || links.keys.length > 0)) {
      const region = { ...WHOLE_REGION, kept: new Set(links.keys), sales: new Map() };
      consider(openRegion(question, region, null));
      count++;
    }
    const cut = chooseCut(question, node, evaluation);
    if (cut === undefined) continue;
    const parts = divideRegion(node.region, cut).map((region) => openRegion(question, region, node)) as [Node, Node];
    node.split = { cut, parts };
    count += 2;
    for (const part of parts) {
      if (part.solved === null) continue;
      const position = openNodes.findIndex(({ bound }) => bound > part.bound);
      openNodes.splice(position < 0 ? openNodes.length : position, 0, part);
    }
  }
  return createAnswer(root, found.best, { steps, nodes });
}

/** Returns the answer of an account whose sales do not affect each other. */
function createUndivided({ built, solved }: Node): SearchedAccount {
  const { program, answer } = solved!;
  return { base: built, answer, tree: { cuts: [null], regions: [{ program, certificates: answer.certificates }] } };
}

interface Found {
  readonly evaluation: Evaluation;
  readonly node: Node;
}

function createAnswer(
  root: Node,
  best: Found | undefined,
  counts: { readonly steps: number; readonly nodes: number },
): SearchedAccount {
  const leastBound = findBound(root);
  const cuts: (RegionCut | null)[] = [];
  const regions: ProvedRegion[] = [];
  let certificateIndex = 0;
  const certificates: SideCertificate[] = [];
  const openNodes = [root];
  for (let node = openNodes.pop(); node !== undefined; node = openNodes.pop()) {
    if (node.split !== null && node.bound < leastBound - GAP_TOLERANCE / 10) {
      cuts.push(node.split.cut);
      openNodes.push(node.split.parts[1], node.split.parts[0]);
      continue;
    }
    cuts.push(null);
    // Multipliers that prove that a region is empty are no prices.
    const own = best === undefined ? (node.solved?.answer.certificates ?? []) : node.certificates;
    regions.push({ program: node.solved?.program ?? node.built.program, certificates: own });
    if (node === best?.node || (best === undefined && certificates.length === 0))
      certificateIndex = certificates.length + (node.solved?.answer.certificateIndex ?? 0);
    certificates.push(...own);
  }
  const bound = findLeastBound(certificates);
  const { answer } = root.solved!;
  if (best === undefined)
    return {
      base: root.built,
      answer: { ...answer, ...counts, status: 'infeasible', certificates, bound, certificateIndex },
      tree: { cuts, regions },
    };
  const { built, trades, figures } = best.evaluation;
  return {
    base: built,
    answer: { status: 'optimal', trades, figures, certificates, bound, certificateIndex, ...counts },
    tree: { cuts, regions },
  };
}

/** Returns the least bound of the regions that are not divided. */
function findBound(root: Node): number {
  let least = Infinity;
  const openNodes = [root];
  for (let node = openNodes.pop(); node !== undefined; node = openNodes.pop())
    if (node.split === null) least = Math.min(least, node.bound);
    else openNodes.push(...node.split.parts);
  return least;
}

/** Solves a region. A part takes multipliers of the whole if those prove more. */
function openRegion(question: SearchQuestion, region: SaleRegion, whole: Node | null): Node {
  const { common, account, window, adapt, solve } = question;
  const built = buildAccount(common, account, window, region);
  if (built.isEmpty) return { region, built, solved: null, certificates: [], bound: Infinity, split: null };
  const program = adapt(built.program);
  const answer = solve(program);
  const certificates = answer.certificates.map((certificate): SideCertificate => {
    const proved = certificate.proof?.bound ?? certificate.bound;
    const others = whole?.certificates.filter(({ side }) => side === certificate.side) ?? [];
    const candidates = [
      ...others.map(({ multipliers }) => multipliers),
      ...(answer.status === 'infeasible'
        ? PROOF_FACTORS.map((factor) => ({
            ...certificate.multipliers,
            variance: certificate.multipliers.variance * factor,
            rows: certificate.multipliers.rows.map((own, j) => (j < program.rows.length ? own * factor : own)),
          }))
        : []),
    ];
    let best = certificate;
    let most = proved;
    for (const multipliers of candidates) {
      const { bound } = computeDualBound(program, program.sides[certificate.side]!, multipliers);
      if (bound > most) [best, most] = [{ side: certificate.side, multipliers, bound }, bound];
    }
    return best;
  });
  return { region, built, solved: { program, answer }, certificates, bound: findLeastBound(certificates), split: null };
}

/** Computes the gains of the trades of a region by the wash sale rule, and checks its prohibitions. */
function evaluateTrades({ common, account, window, adapt }: SearchQuestion, { built, solved }: Node): Evaluation {
  const { answer } = solved!;
  const sold = listSoldShares(common, built, answer.trades);
  const point = buildAtTrades(common, account, { window, sold, links: built.links });
  const trades = { bought: answer.trades.bought, sold: splitSoldShares(point, sold).sold };
  const program = adapt(point.program);
  const figures = computeTradeFigures(program, trades);
  const { brokenGroup, forbidden } = findProhibited(common, point, { trades, sold });
  const isPermitted =
    figures.worst <= VIOLATION_MAX &&
    brokenGroup < 0 &&
    forbidden.length === 0 &&
    (!isDivisible(built) || reportBrokenRules(common, point, trades).length === 0);
  const replacing = forbidden.flatMap(({ fresh }) => (fresh.lot === null ? [] : [fresh.lot]));
  return { built: point, trades, figures, sold, merit: computeMerit(figures), isPermitted, brokenGroup, replacing };
}

/**
 * Finds a group of substitutes of which one is bought and another one sold at a loss, and the sales with a disallowed
 * loss if the account forbids them.
 */
export function findProhibited(
  common: BatchCommon,
  { account, names, forced, rule, priceOf }: BuiltAccount,
  { trades, sold }: Pick<Evaluation, 'trades' | 'sold'>,
) {
  const { lots, substitutes, tax } = account;
  const losing = new Set(
    [...sold.keys()].flatMap((lot) => {
      const { identifier, cost } = lots[lot]!;
      return cost > priceOf(identifier) ? [identifier] : [];
    }),
  );
  const bought = new Set(
    names.flatMap((name, i) => (trades.bought[i]! > TRADE_MIN ? [common.identifiers[name]!] : [])),
  );
  const brokenGroup = substitutes.findIndex(
    (group) => group.some((name) => losing.has(name)) && group.some((name) => bought.has(name)),
  );
  const forcedLots = new Set(forced.sales.map(({ lot }) => lot));
  const isChosen = (own: LotReplacement): boolean => tax.wash_sales === 'forbid' && !forcedLots.has(own.sold);
  return { brokenGroup, forbidden: computeTaxedSales(rule, sold, priceOf).replacements.filter(isChosen) };
}

const isDivisible = ({ links, account }: BuiltAccount): boolean =>
  links.coupled.size > 0 || links.keys.length > 0 || account.substitutes.length > 0;

interface KnownTrades {
  readonly window: WashWindow;
  readonly sold: ReadonlyMap<number, number>;
  readonly links: BuiltAccount['links'];
}

export function buildAtTrades(
  common: BatchCommon,
  account: Account,
  { window, sold, links }: KnownTrades,
): BuiltAccount {
  const whole = new Set(links.keys.filter((lot) => isSoldWhole(account, sold, lot)));
  const kept = new Set(links.keys.filter((lot) => !whole.has(lot)));
  return buildAccount(common, account, window, { ...WHOLE_REGION, kept, whole, sales: sold });
}

const isSoldWhole = ({ lots }: Account, sold: ReadonlyMap<number, number>, lot: number): boolean =>
  (sold.get(lot) ?? 0) >= lots[lot]!.shares * (1 - 1e-9);

/** Returns the division of a region that excludes its solution or gives it higher gains. */
function chooseCut(
  { common, account }: SearchQuestion,
  { region, built }: Node,
  { brokenGroup, replacing, sold }: Evaluation,
): RegionCut | undefined {
  if (brokenGroup >= 0 && !region.closed.has(brokenGroup) && !region.lossless.has(brokenGroup))
    return { substitutes: brokenGroup };
  const { keys, coupled } = built.links;
  const isOpen = (lot: number): boolean => !region.kept.has(lot) && !region.whole.has(lot);
  const key = replacing.find((lot) => keys.includes(lot) && isOpen(lot)) ?? keys.find(isOpen);
  if (key !== undefined) return { lot: key };
  let [widest, cut]: [number, RegionCut | undefined] = [0, undefined];
  for (const identifier of coupled) {
    let [held, shares] = [0, 0];
    account.lots.forEach((lot, position) => {
      if (lot.identifier !== identifier) return;
      held += lot.shares;
      shares += sold.get(position) ?? 0;
    });
    const { least, most } = region.sold.get(identifier) ?? { least: null, most: held };
    const width = (Math.min(most, held) - shares) * built.priceOf(identifier);
    if (!(width > Math.max(widest, SHARES_MIN * built.priceOf(identifier)))) continue;
    const division = divideShares({ least, most: Math.min(most, held) }, shares, common.terms.whole_shares, held);
    if (division !== undefined) [widest, cut] = [width, { identifier, ...division }];
  }
  return cut;
}

function divideShares(
  { least, most }: { readonly least: number | null; readonly most: number },
  shares: number,
  isWhole: boolean,
  held: number,
): { readonly below: number; readonly above: number } | undefined {
  const from = least ?? 0;
  const isNear = least !== null && shares - from < PART_MIN * (most - from);
  const at = isNear ? (from + most) / 2 : shares;
  if (!isWhole) return { below: at, above: at };
  const below = Math.floor(at + SHARES_MIN);
  const above = Math.min(below + 1, held);
  return below >= from && above <= most + SHARES_MIN ? { below, above } : undefined;
}

/** Weights of the objective in a search for any permitted trades. */
const SEARCH_WEIGHTS = { taxWeight: 1e-3, aversion: 1 } as const;
/** Weights of the objective in a search for the lowest tracking error. */
const NEAREST_WEIGHTS = { taxWeight: 1e-3, aversion: 1000 } as const;

/** Weights of the objective in a search for the lowest tax. */
const UNTAXED_WEIGHTS = { taxWeight: 1000, aversion: 1 } as const;

const isDiscrete = ({ unit, minimumTrade }: AccountProgram): boolean =>
  unit.some((step) => step > 0) || minimumTrade.some((least) => least > 0);

/**
 * Returns permitted trades. Returns undefined if none are found; unless trades are rounded, this proves infeasibility.
 * If rounding fails under the tracking error limit, tries the trades with the lowest tracking error.
 */
function findTrades(program: AccountProgram): AccountSolution | undefined {
  const answer = solveAccount({ ...program, ...SEARCH_WEIGHTS }, { nodes: 0 });
  if (answer.status === 'optimal') return answer;
  const nearest = isDiscrete(program) ? findNearestTrades({ ...program, varianceLimit: Infinity }) : undefined;
  return nearest !== undefined && nearest.figures.variance <= program.varianceLimit ? nearest : undefined;
}

/** Returns permitted trades with the lowest tracking error. Returns undefined if none are found. */
function findNearestTrades(program: AccountProgram): AccountSolution | undefined {
  const answer = solveAccount({ ...program, ...NEAREST_WEIGHTS }, { nodes: 0 });
  return answer.status === 'optimal' ? answer : undefined;
}

export type FinderQuestion = Omit<SearchQuestion, 'solve'>;

/** Returns permitted trades of an account. Returns undefined if none are found. */
export function findAccountTrades(question: FinderQuestion): AccountSolution | undefined {
  const solve = (program: AccountProgram): AccountSolution =>
    findTrades(program) ?? solveAccount({ ...program, ...SEARCH_WEIGHTS }, { nodes: 0 });
  return keepPermitted(
    searchRegions({ ...question, adapt: (own) => ({ ...question.adapt(own), ...SEARCH_WEIGHTS }), solve }).answer,
  );
}

/** Returns permitted trades of an account with the lowest tracking error. */
export const findNearestAccountTrades = (question: FinderQuestion): AccountSolution | undefined =>
  findWeighted(question, NEAREST_WEIGHTS);

/** Returns permitted trades of an account with the lowest tax. */
export const findUntaxedAccountTrades = (
  question: FinderQuestion,
  sides: AccountProgram['sides'],
): AccountSolution | undefined => findWeighted(question, { ...UNTAXED_WEIGHTS, sides });

function findWeighted(question: FinderQuestion, weights: Partial<AccountProgram>): AccountSolution | undefined {
  const adapt = (own: AccountProgram): AccountProgram => ({ ...question.adapt(own), ...weights });
  return keepPermitted(
    searchRegions({ ...question, adapt, solve: (program) => solveAccount(program, { nodes: 0 }) }).answer,
  );
}

const keepPermitted = (answer: AccountSolution): AccountSolution | undefined =>
  answer.status === 'optimal' ? answer : undefined;

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
    figures: computeTradeFigures(program, trades),
    certificateIndex: Math.max(0, side),
    steps: answer.steps + steps,
  };
}
