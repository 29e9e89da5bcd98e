import type { AccountProgram, AccountRow, TaxSide } from '#kernels/lots/account-program.js';
import type { Account } from './account-request.js';
import { listSecurityLots } from './account-lots.js';
import { indexSecurities, type BatchCommon } from './batch-common.js';
import { createTaxSides, createTaxTerms } from './tax-sides.js';
import { computeTaxedSales, type TaxedSales } from './taxed-sales.js';
import type { SaleLot } from './trace-gains.js';
import {
  createWashRule,
  readWindow,
  SHARES_MIN,
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
  /** Returns the price of a security that the account holds. */
  priceOf(identifier: string): number;
}

/** Builds the program of an account. @param window  earlier trades; default: those that the account states */
export function buildAccount(
  common: BatchCommon,
  account: Account,
  window: WashWindow = readWindow(account, common.asOf),
): BuiltAccount {
  const { asOf, prices, terms } = common;
  const positionByName = indexSecurities(common);
  const excluded = new Set(account.exclusions);
  const rule = createWashRule(account, asOf, window);
  const priceOf = (identifier: string): number => prices[positionByName.get(identifier)!]!;
  const byName = new Map<number, number[]>();
  account.lots.forEach(({ identifier }, position) => {
    const name = positionByName.get(identifier)!; // checked when the account was read
    byName.set(name, [...(byName.get(name) ?? []), position]);
  });
  let value = account.cash;
  for (const { identifier, shares } of account.lots) value += shares * prices[positionByName.get(identifier)!]!;
  const parent = common.identifiers.map((_, position) => position).filter((position) => common.weights[position]! > 0);
  const tiltedPositions = Object.keys(account.tilts).map((name) => positionByName.get(name)!);
  const names = [...new Set([...parent, ...tiltedPositions, ...byName.keys()])].toSorted((a, b) => a - b);
  const forcedShares = new Map(
    account.lots.flatMap(({ identifier, shares }, lot) => (excluded.has(identifier) ? [[lot, shares]] : [])),
  );
  const forced = computeTaxedSales(rule, forcedShares, priceOf);
  const lots: SaleLot[] = [];
  const blocked = new Map<string, number>();
  const lotStart = new Int32Array(names.length + 1);
  const isOrdered = new Uint8Array(names.length);
  const listLeft = createFreshReader(rule, { forced, excluded });
  names.forEach((name, i) => {
    const identifier = common.identifiers[name]!;
    if (!excluded.has(identifier)) {
      const question = { price: prices[name]!, rule, fresh: listLeft(identifier) };
      const securityLots = listSecurityLots(account, byName.get(name) ?? [], question);
      if (securityLots.blocked > 0) blocked.set(identifier, securityLots.blocked);
      lots.push(...securityLots.lots);
      isOrdered[i] = securityLots.isOrdered ? 1 : 0;
    }
    lotStart[i + 1] = lots.length;
  });
  let forcedValue = 0;
  for (const [lot, shares] of forcedShares) forcedValue += shares * priceOf(account.lots[lot]!.identifier);
  const costRate = terms.objective.cost_bps / 10_000;
  const forcedCost = (forcedValue * costRate) / value;
  const base = { common, account, names, lots, lotStart, value, excluded, rule, blocked };
  const { rows, rowIds } = createRows(base, forcedCost);
  const program: AccountProgram = {
    ...createSecurities(base),
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
  const sales = { forced, forcedCost, window, rule, excluded, blocked };
  return { account, program, value, names, lots, rowIds, taxSides: createTaxSides(account.tax), priceOf, ...sales };
}

/** Returns a reader of the shares that can still replace others after the forced sales. */
function createFreshReader(
  rule: WashRule,
  { forced, excluded }: Pick<BuiltAccount, 'forced' | 'excluded'>,
): (identifier: string) => readonly FreshShares[] {
  const takenShares = new Map<FreshShares, number>();
  for (const { fresh, shares } of forced.replacements) takenShares.set(fresh, (takenShares.get(fresh) ?? 0) + shares);
  return (identifier) =>
    rule.listFresh(identifier).flatMap((fresh) => {
      const shares = fresh.shares - (takenShares.get(fresh) ?? 0);
      const isSold = fresh.lot !== null && excluded.has(fresh.identifier);
      return isSold || !(shares > SHARES_MIN) ? [] : [{ ...fresh, shares }];
    });
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
  readonly blocked: ReadonlyMap<string, number>;
}

function createSecurities({ common, account, names, lots, lotStart, value, excluded, rule, blocked }: AccountBase) {
  const { factors: k, prices, terms } = common;
  const n = names.length;
  const loadings = new Float64Array(n * k);
  names.forEach((name, i) => loadings.set(common.loadings.subarray(name * k, (name + 1) * k), i * k));
  const bounds = terms.constraints.find(({ type }) => type === 'PositionBounds')?.params;
  const target = computeTargets(common, account, names);
  const heldWeights = Float64Array.from(names, (name, i) => {
    let shares = blocked.get(common.identifiers[name]!) ?? 0;
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
