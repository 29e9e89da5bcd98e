import type { AccountProgram, AccountRow, TaxSide } from '#kernels/lots/account-program.js';
import type { Account } from './account-request.js';
import { listManagedLots, listSecurityLots, sortForSale, type SecurityLots } from './account-lots.js';
import { indexSecurities, type BatchCommon } from './batch-common.js';
import { findSaleLinks, listNeeded, type FreshReader, type SaleLinks } from './sale-links.js';
import { completeKeys, WHOLE_REGION, type KeyStates, type SaleRegion } from './sale-regions.js';
import { createTaxSides, createTaxTerms } from './tax-sides.js';
import { computeTaxedSales, type TaxedSales } from './taxed-sales.js';
import type { SaleLot } from './trace-gains.js';
import {
  createWashRule,
  readWindow,
  SHARES_MIN,
  sortByPurchase,
  type FreshShares,
  type WashRule,
  type WashWindow,
} from './wash-sales.js';

/** Maximum weight above its target up to which a purchase may raise a security. */
const ABOVE_TARGET_MAX = 0.05;

/** Optimisation program of an account, with the meaning of its entries. */
export interface BuiltAccount {
  readonly account: Account;
  readonly program: AccountProgram;
  /** Value of the account in money. */
  readonly value: number;
  /** Index in the common securities of each security of the program, [n]. */
  readonly names: readonly number[];
  /** Lots of the program. */
  readonly lots: readonly SaleLot[];
  /** Sales of excluded securities, which are always executed. */
  readonly forced: TaxedSales;
  /** Cost of the forced sales, as a fraction of the account value. */
  readonly forcedCost: number;
  /** Ids of the rows of the program. */
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
  /** Returns the price of a security that the account holds. */
  priceOf(identifier: string): number;
}

/**
 * Builds the program of an account.
 * @param window  earlier trades; default: those that the account states
 * @param region  part of the permitted trades; default: all
 */
export function buildAccount(
  common: BatchCommon,
  account: Account,
  window: WashWindow = readWindow(account, common.asOf),
  region: SaleRegion = WHOLE_REGION,
): BuiltAccount {
  const { asOf, prices, terms } = common;
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
    fixedShort: (account.tax.realised.short - account.tax.carry_forward + forced.short) / value,
    fixedLong: (account.tax.realised.long + forced.long) / value,
    rows,
  };
  const sales = { forced, forcedCost, window, rule, excluded, blocked, links, isEmpty };
  return { account, program, value, names, lots, rowIds, taxSides: createTaxSides(account.tax), priceOf, ...sales };
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

/** Returns the sales of excluded securities, and a function that lists the lots of the others for sale in a region. */
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
      return isSold || !(shares > SHARES_MIN) ? [] : [{ ...fresh, shares }];
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

interface RegionBounds {
  readonly region: SaleRegion;
  readonly isOrdered: Uint8Array;
}

/** Restricts the trades of securities to a region. */
function restrictToRegion(
  { common, account, names, lots, lotStart, value }: AccountBase,
  securities: ReturnType<typeof createSecurities>,
  { region, isOrdered }: RegionBounds,
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
