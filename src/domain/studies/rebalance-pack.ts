import { z } from 'zod';
import { compareText, type Finding, type FindingCode } from '../base/findings.js';
import { computeQuantile, formatNumber } from '../base/numbers.js';
import { type Refusal, refuseWithFindings } from '../base/refusals.js';
import { AssetIdentifier, defineObject, IsoDate, requireExactlyOne } from '../base/schema.js';
import { formatDay } from '../base/time.js';
import type { GrowthTerms } from '../market/action-effects.js';
import { readCarriedClose } from '../market/growth.js';
import { ACTION_KINDS, type ActionType, type CorporateAction } from '../market/market-data.js';
import type { ExchangeRates } from '../market/rates.js';
import type { SessionAction, SessionMarket } from '../market/session-market.js';

/** Position to trade. */
export interface Position {
  readonly shares: number;
  readonly price: number;
  /** Mean daily volume in shares; null or 0 if there is none. */
  readonly adv: number | null;
}

/**
 * Returns the number of days needed for an order that may use a share of the daily volume. Returns null without a
 * volume.
 */
function computeDaysToTrade({ shares, adv }: Pick<Position, 'shares' | 'adv'>, participation: number): number | null {
  return adv === null || adv === 0 ? null : Math.abs(shares) / (participation * adv);
}

const LIQUIDATION_DAYS = [1, 2, 3, 5, 10, 20, 60, 120, 250] as const;

/**
 * Returns the fraction of the value of positions that can be sold within each of `LIQUIDATION_DAYS`. Returns an empty
 * list without positions. Positions without a volume cannot be sold.
 */
function computeLiquidation(positions: readonly Position[], participation: number) {
  const total = positions.reduce((sum, { shares, price }) => sum + Math.abs(shares) * price, 0);
  if (total === 0) return [];
  const computeSoldValue = (days: number): number =>
    positions.reduce(
      (sum, { shares, price, adv }) => sum + Math.min(Math.abs(shares), days * participation * (adv ?? 0)) * price,
      0,
    );
  return LIQUIDATION_DAYS.map((days) => ({ days, share: computeSoldValue(days) / total }));
}

const CAPACITY_DAYS = [1, 5, 10] as const;

/**
 * Returns the largest value that can be bought at the weights within each of `CAPACITY_DAYS`. The value is null if a
 * security has no volume.
 */
function computeCapacity(
  names: readonly { readonly weight: number; readonly price: number; readonly adv: number | null }[],
  participation: number,
) {
  const weightedNames = names.filter(({ weight }) => weight !== 0);
  const oneDay = weightedNames.reduce((least, { weight, price, adv }) => {
    return Math.min(least, (participation * (adv ?? 0) * price) / Math.abs(weight));
  }, Infinity);
  return CAPACITY_DAYS.map((days) => ({ days, aum: Number.isFinite(oneDay) && oneDay > 0 ? days * oneDay : null }));
}

const NAMES_MAX = 20_000;
const ACCOUNTS_MAX = 100;

/** Name of the account that `aum` creates. */
const AUM = 'AUM';

const amount = z.number().min(-1e15).max(1e15).nullable().default(null);

const PackHolding = defineObject(() => ({
  identifier: AssetIdentifier,
  shares: amount.meta({ description: 'Number of shares; negative for a short position.' }),
  value: amount.meta({
    description: 'Value instead of shares, at the close of as_of and in the currency of the index.',
  }),
}))
  .superRefine(requireExactlyOne({ by: 'a holding', of: ['shares', 'value'] }))
  .meta({ id: 'PackHolding' });

/** Accounts and terms of a rebalance pack. */
export const RebalancePackRequest = defineObject(() => ({
  as_of: IsoDate.nullable()
    .default(null)
    .meta({ description: 'Session with the closes at which orders are valued. Default: the latest date of the data.' }),
  accounts: z
    .array(
      z
        .strictObject({
          name: z
            .string()
            .min(1)
            .max(100)
            .meta({ description: 'Name of the account, unique among the accounts. AUM is the account of `aum`.' }),
          cash: z.number().min(0).max(1e15).default(0).meta({ description: 'Cash in the currency of the index.' }),
          holdings: z
            .array(PackHolding)
            .max(NAMES_MAX)
            .default([])
            .meta({ description: 'Holdings, by shares or by value.' }),
        })
        .meta({ id: 'PackAccount' }),
    )
    .max(ACCOUNTS_MAX)
    .default([]),
  aum: z
    .number()
    .gt(0)
    .max(1e15)
    .nullable()
    .default(null)
    .meta({ description: 'Adds the account AUM with this amount of cash, which buys the whole index.' }),
  lot_sizes: z.record(AssetIdentifier, z.int().min(1).max(1e9)).default({}).meta({
    description: 'Lot size in shares, by identifier. The resulting holdings are multiples of the lot. Default: 1.',
  }),
  participation: z
    .number()
    .gt(0)
    .max(1)
    .default(0.1)
    .meta({ description: 'Maximum fraction of the daily volume that is traded.' }),
  adv_sessions: z
    .int()
    .min(1)
    .max(2520)
    .default(20)
    .meta({ description: 'Number of sessions with a price bar in the mean volume.' }),
  cost: z
    .strictObject({
      spread_bps: z.number().min(0).max(10_000).default(5).meta({ description: 'Full spread. Half of it is paid.' }),
      impact_bps: z
        .number()
        .min(0)
        .max(10_000)
        .default(10)
        .meta({ description: 'Market impact of trading the volume of a whole day.' }),
    })
    .prefault({})
    .meta({ id: 'PackCost' }),
}))
  .superRefine(({ accounts }, context) =>
    accounts.forEach(({ holdings }, position) => {
      const rows = new Map<string, number>();
      holdings.forEach(({ identifier }, row) => {
        const first = rows.get(identifier);
        if (first === undefined) rows.set(identifier, row);
        else
          context.addIssue({
            code: 'custom',
            path: ['accounts', position, 'holdings', row, 'identifier'],
            input: identifier,
            params: { finding: 'DUPLICATE_ID', isWhole: true },
            message: `is ${identifier}, like holdings[${first}] of the account`,
          });
      });
    }),
  )
  .superRefine(({ accounts, aum }, context) => {
    if (accounts.length === 0 && aum === null)
      context.addIssue({
        code: 'custom',
        path: ['accounts'],
        input: undefined,
        params: { finding: 'REQUIRED' },
        message: 'or aum is required: neither is given',
      });
    const ownerByName = new Map(aum === null ? [] : [[AUM, 'the account that aum adds']]);
    accounts.forEach(({ name }, position) => {
      const owner = ownerByName.get(name);
      if (owner !== undefined)
        context.addIssue({
          code: 'custom',
          path: ['accounts', position, 'name'],
          input: name,
          params: { finding: 'DUPLICATE_ID', isWhole: true },
          message: `is ${name}, which is already the name of ${owner}`,
        });
      else ownerByName.set(name, `accounts[${position}]`);
    });
  })
  .meta({ id: 'RebalancePackRequest' });
export type RebalancePackRequest = z.output<typeof RebalancePackRequest>;

export interface KnownSecurity {
  readonly identifier: string;
  readonly weight: number;
  /** Price in the currency of the index. */
  readonly price: number;
  readonly adv: number | null;
}

export interface PackTrade {
  readonly identifier: string;
  readonly side: 'buy' | 'sell';
  readonly shares: number;
  readonly price: number;
  readonly value: number;
  readonly weight_before: number;
  readonly weight_target: number;
  readonly weight_after: number;
  readonly adv_shares: number | null;
  /** Order size as a fraction of a day's volume. */
  readonly adv_share: number | null;
  readonly days_to_trade: number | null;
  readonly cost: number;
  readonly reason: 'add' | 'delete' | 'reweight';
}

export interface PackAccount {
  readonly name: string;
  readonly value: number;
  readonly cash_after: number;
  readonly turnover: number;
  readonly cost: number;
  /** Half the sum of absolute differences between resulting and target weights. */
  readonly drift_after: number;
  readonly trades: readonly PackTrade[];
}

export interface Pack {
  readonly accounts: readonly PackAccount[];
  readonly days_to_trade: { readonly p50: number | null; readonly p90: number | null; readonly max: number | null };
  readonly liquidation: readonly { readonly days: number; readonly share: number }[];
  readonly capacity: readonly { readonly days: number; readonly aum: number | null }[];
  readonly findings: readonly Finding[];
}

/**
 * Creates the orders and figures of a pack.
 * @param names securities of the composition and of the holdings, by identifier; each with a price
 * @param leftOut findings about holdings that are neither sold nor counted
 * @throws Refusal VALIDATION_FAILED for an account without value
 */
export function createPack(
  names: readonly KnownSecurity[],
  request: RebalancePackRequest,
  leftOut: readonly Finding[] = [],
): Pack {
  const { participation, cost } = request;
  const lots = new Map(Object.entries(request.lot_sizes));
  const positions = new Map(names.map(({ identifier }, i) => [identifier, i]));
  const packSecurities = names.map((name): PackSecurity => ({
    ...name,
    lot: lots.get(name.identifier) ?? 1,
    spreadBps: cost.spread_bps,
    impactBps: cost.impact_bps,
  }));
  const findings: Finding[] = [];
  const aumAccount = request.aum === null ? [] : [{ name: AUM, cash: request.aum, holdings: [] }];
  const tradedShares = new Float64Array(names.length);
  const totalShares = new Float64Array(names.length);
  const accounts = [...request.accounts, ...aumAccount].map(({ name, cash, holdings }, position): PackAccount => {
    const shares = new Float64Array(names.length);
    for (const { identifier, shares: heldShares, value } of holdings) {
      const i = positions.get(identifier)!;
      shares[i]! += heldShares ?? value! / names[i]!.price;
    }
    const filledAccount = createOrders(packSecurities, shares, cash);
    if (!(filledAccount.value > 0)) throw refuseWithoutValue(name, filledAccount.value, { at: position, leftOut });
    if (filledAccount.isShort) findings.push(reportCashShortage(name, filledAccount.cash, position));
    shares.forEach((own, i) => (totalShares[i]! += Math.abs(own)));
    for (const { name: ownPackSecurity, before, after } of filledAccount.orders)
      tradedShares[positions.get(ownPackSecurity.identifier)!]! += Math.abs(after - before);
    const valueAfter = filledAccount.value - filledAccount.cost;
    const after = Float64Array.from(shares);
    for (const order of filledAccount.orders) after[positions.get(order.name.identifier)!] = order.after;
    const reachedWeights = packSecurities.map(({ price }, i) => (after[i]! * price) / valueAfter);
    const { value, turnover } = filledAccount;
    return {
      name,
      value,
      cash_after: filledAccount.cash,
      turnover,
      cost: filledAccount.cost,
      drift_after: packSecurities.reduce((sum, { weight }, i) => sum + Math.abs(reachedWeights[i]! - weight), 0) / 2,
      trades: filledAccount.orders.map((order) => createTrade(order, { value, valueAfter, participation })),
    };
  });
  const days = names.flatMap((name, i) =>
    tradedShares[i] === 0 ? [] : [computeDaysToTrade({ shares: tradedShares[i]!, adv: name.adv }, participation)],
  );
  const sortedDays = days.filter((value) => value !== null).sort((a, b) => a - b);
  const findQuantile = (share: number): number | null =>
    sortedDays.length === 0 ? null : computeQuantile(sortedDays, share);
  return {
    accounts,
    days_to_trade: { p50: findQuantile(0.5), p90: findQuantile(0.9), max: findQuantile(1) },
    liquidation: computeLiquidation(
      names.map(({ price, adv }, i) => ({ shares: totalShares[i]!, price, adv })),
      participation,
    ),
    capacity: computeCapacity(names, participation),
    findings: [...findings, ...reportBorrowedWeights(names), ...reportMissingVolume(names)],
  };
}

/** Reports target weights that an account can reach only with borrowed money, which the orders do not use. */
function reportBorrowedWeights(names: readonly KnownSecurity[]): Finding[] {
  const sum = names.reduce((total, { weight }) => total + weight, 0);
  if (sum <= 1 + WEIGHT_TOLERANCE) return [];
  const message = `The weights of the index sum to ${formatNumber(sum)}. Accounts do not borrow: purchases end when the money of an account is spent, and drift_after states the distance from the weights.`;
  return [{ severity: 'warning', code: 'WEIGHTS_NOT_ONE', message, path: '', value: formatNumber(sum) }];
}

/** Distance of a sum of weights from 1 that counts as rounding. */
const WEIGHT_TOLERANCE = 1e-9;

function createTrade(
  order: Order,
  {
    value,
    valueAfter,
    participation,
  }: { readonly value: number; readonly valueAfter: number; readonly participation: number },
): PackTrade {
  const { name, before, after } = order;
  const shares = Math.abs(after - before);
  return {
    identifier: name.identifier,
    side: after > before ? 'buy' : 'sell',
    shares,
    price: name.price,
    value: shares * name.price,
    weight_before: (before * name.price) / value,
    weight_target: name.weight,
    weight_after: (after * name.price) / valueAfter,
    adv_shares: name.adv,
    adv_share: computeDaysToTrade({ shares, adv: name.adv }, 1),
    days_to_trade: computeDaysToTrade({ shares, adv: name.adv }, participation),
    cost: computeOrderCost(order),
    reason: before === 0 ? 'add' : name.weight === 0 ? 'delete' : 'reweight',
  };
}

interface AccountWithoutValue {
  readonly at: number;
  readonly leftOut: readonly Finding[];
}

/** Returns the refusal of an account without value, with the findings about excluded holdings. */
function refuseWithoutValue(account: string, value: number, { at, leftOut }: AccountWithoutValue): Refusal {
  const path = `accounts[${at}]`;
  const accountFindings = leftOut.filter((finding) => finding.path.startsWith(`${path}.`));
  const why =
    accountFindings.length === 0 ? '' : `, without ${accountFindings.length} of its holdings, which cannot be traded`;
  const message = `The account ${account} has the value ${value} at the closes${why}; it must be greater than 0.`;
  return refuseWithFindings('body', [{ severity: 'error', code: 'OUT_OF_RANGE', message, path }, ...accountFindings]);
}

function reportCashShortage(account: string, cash: number, position: number): Finding {
  return {
    severity: 'warning',
    code: 'OUT_OF_RANGE',
    message: `The account ${account} has negative cash of ${cash} after the trades: its sales do not cover costs and debts.`,
    path: `accounts[${position}].cash`,
  };
}

function reportMissingVolume(names: readonly KnownSecurity[]): Finding[] {
  const securitiesWithoutVolume = names
    .filter(({ adv }) => adv === null || adv === 0)
    .map(({ identifier }) => identifier);
  if (securitiesWithoutVolume.length === 0) return [];
  const [first] = securitiesWithoutVolume;
  const remainderPhrase = securitiesWithoutVolume.length === 1 ? '' : ` and ${securitiesWithoutVolume.length - 1} more`;
  return [
    {
      severity: 'warning',
      code: 'UNKNOWN_FIELD_NAME',
      message: `The data contains no volume for ${first}${remainderPhrase}. Their market impact is treated as 0, and their days to trade are unknown.`,
      path: '',
      count: securitiesWithoutVolume.length,
      places: securitiesWithoutVolume.slice(0, 5),
    },
  ];
}

interface HoldingSession {
  readonly sm: SessionMarket;
  readonly session: number;
  /** Maximum age of a price in sessions. */
  readonly maxStaleSessions: number;
}

interface LocatedHoldingsInput extends HoldingSession {
  /** Target weights by column. */
  readonly weights: ReadonlyMap<number, number>;
}

export interface LocatedHoldings {
  readonly columns: Set<number>;
  /** Accounts without the holdings that cannot be traded. These holdings are neither sold nor counted. */
  readonly accounts: RebalancePackRequest['accounts'];
  /** Findings about the excluded holdings, with reasons. */
  readonly findings: readonly Finding[];
}

/**
 * Returns the columns of the securities that accounts hold. @throws Refusal VALIDATION_FAILED for a holding without a
 * price, or a lot size of an unknown security
 */
export function locateHoldings(
  locatedHoldingsInput: LocatedHoldingsInput,
  { accounts, lot_sizes: lots }: RebalancePackRequest,
): LocatedHoldings {
  const { sm, session, maxStaleSessions, weights } = locatedHoldingsInput;
  const columns = new Set<number>();
  const refusals = Object.keys(lots)
    .filter((identifier) => sm.columnOf(identifier) < 0)
    .map((identifier) => reportUnpriced(locatedHoldingsInput, identifier, `lot_sizes.${identifier}`));
  const findings: Finding[] = [];
  const locatedAccounts = accounts.map((account, a) => {
    const holdings = account.holdings.filter(({ identifier }, h) => {
      const path = `accounts[${a}].holdings[${h}].identifier`;
      const column = sm.columnOf(identifier);
      if (column < 0 || !Number.isFinite(sm.carriedClose(session, column))) {
        refusals.push(reportUnpriced(locatedHoldingsInput, identifier, path));
        return false;
      }
      if (!weights.has(column) && !sm.isPriceable(session, column, maxStaleSessions)) {
        findings.push(reportExcluded(locatedHoldingsInput, { identifier, column, account: account.name, path }));
        return false;
      }
      columns.add(column);
      return true;
    });
    return { ...account, holdings };
  });
  if (refusals.length > 0) throw refuseWithFindings('body', refusals);
  return { columns, accounts: locatedAccounts, findings };
}

function reportUnpriced({ sm, session }: HoldingSession, identifier: string, path: string): Finding {
  const message =
    sm.columnOf(identifier) >= 0
      ? `The data contains no price for ${identifier} on or before ${formatDay(sm.sessions[session]!)}.`
      : `The data does not contain ${identifier}.`;
  return { severity: 'error', code: 'UNKNOWN_IDENTIFIER', message, path, value: identifier };
}

interface ExcludedHolding {
  readonly identifier: string;
  readonly column: number;
  readonly account: string;
  readonly path: string;
}

function reportExcluded(
  holdingSession: HoldingSession,
  { identifier, column, account, path }: ExcludedHolding,
): Finding {
  const { sm, session, maxStaleSessions } = holdingSession;
  const barDate = formatDay(sm.barDay(session, column));
  const why = sm.hasEnded(session, column)
    ? `${describeEnding(holdingSession, column)} Add the cash and shares received for it to the account.`
    : `Its last price bar is on ${barDate}, more than ${maxStaleSessions} sessions ago.`;
  return {
    severity: 'warning',
    code: 'STALE_FILL',
    message: `The account ${account} holds ${identifier}, which cannot be traded. It is not sold, and its value is not included. ${why}`,
    path,
    value: identifier,
  };
}

/** Describes when and how a security ended, and what a holder receives per share. */
function describeEnding({ sm, session }: HoldingSession, column: number): string {
  const endings = sm.actions.all.filter(
    (ownSessionAction) =>
      ownSessionAction.column === column && ownSessionAction.session <= session && isEnding(ownSessionAction),
  );
  const last = endings.filter((ownSessionAction) => ownSessionAction.session === endings.at(-1)!.session);
  const termTexts = last.flatMap(({ action }) => describeTerms(action) ?? []);
  const kindsText = last.map(({ action }) => action.type).join(' and ');
  const paymentPhrase = termTexts.length === 0 ? 'the data does not contain the payment' : termTexts.join(' or ');
  return `It has ended (${kindsText} of ${formatDay(last[0]!.action.exDay)}): ${paymentPhrase}.`;
}

const ENDINGS: ReadonlySet<ActionType> = new Set(['DELISTING', 'ACQUISITION', 'MERGER', 'TICKER_CHANGE']);

/** Returns true if an action ends a security. A ticker change without a successor does not. */
function isEnding({ action: { type, related } }: SessionAction): boolean {
  return ENDINGS.has(type) && (type !== 'TICKER_CHANGE' || related !== null);
}

/** Describes what a holder receives per share. Returns undefined if the action does not state it. */
function describeTerms({ type, value, related, cash, isUnpriced }: CorporateAction): string | undefined {
  if (type === 'TICKER_CHANGE') return `it continues as ${related}`;
  if (isUnpriced) return undefined;
  if (type !== 'MERGER') return `paid ${value} per share`;
  return related === null
    ? undefined
    : `a share became ${value} of ${related}${cash === undefined ? '' : ` and ${cash} in cash`}`;
}

interface DecisionSpan {
  readonly sm: SessionMarket;
  readonly session: number;
  /** Session on which the composition was decided. */
  readonly decision: number;
}

/** Reports securities of a composition that have ended since its decision. */
export function findLeftSince(
  { sm, session, decision }: DecisionSpan,
  {
    announced,
    weights,
  }: { readonly announced: ReadonlyMap<number, number>; readonly weights: ReadonlyMap<number, number> },
): Finding[] {
  const removedColumns = [...announced.keys()].filter((column) => !weights.has(column));
  if (removedColumns.length === 0) return [];
  const names = removedColumns.map((column) => sm.identifiers[column]!).toSorted(compareText);
  const [from, to] = [formatDay(sm.sessions[decision]!), formatDay(sm.sessions[session]!)];
  return [
    countValues(
      'NOT_IN_INDEX',
      names,
      `of the composition of ${from}, ended by ${to}: the others take over its weight.`,
    ),
  ];
}

/**
 * Reports securities that are traded although they have no price bar on the session. Skips those that cannot be traded
 * at all.
 */
export function findCarriedPrices(
  { sm, session, maxStaleSessions }: HoldingSession,
  accounts: readonly PackAccount[],
): Finding[] {
  const tradedIdentifiers = new Set(accounts.flatMap(({ trades }) => trades.map(({ identifier }) => identifier)));
  const staleIdentifiers = [...tradedIdentifiers].filter((identifier) => {
    const column = sm.columnOf(identifier);
    return !sm.hasBar(session, column) && sm.isPriceable(session, column, maxStaleSessions);
  });
  if (staleIdentifiers.length === 0) return [];
  const day = formatDay(sm.sessions[session]!);
  return [
    countValues(
      'STALE_FILL',
      staleIdentifiers.toSorted(compareText),
      `to be traded without a price bar on ${day}: priced at the last close after later corporate actions.`,
    ),
  ];
}

/** Creates a finding that counts securities. @param names at least one security */
function countValues(code: FindingCode, names: readonly string[], what: string): Finding {
  const remainderPhrase = names.length === 1 ? '' : ` and ${names.length - 1} more`;
  const message = `${names[0]}${remainderPhrase}: ${what}`;
  return { severity: 'warning', code, message, path: '', count: names.length, places: names.slice(0, 5) };
}

export interface MarketOnSession {
  readonly sm: SessionMarket;
  /** Exchange rates into the currency of the index. */
  readonly rates: ExchangeRates;
  /** Terms of the index. Its holdings and the orders have one price, also without a bar on the session. */
  readonly growth: GrowthTerms;
  readonly session: number;
  /** Number of sessions with a price bar over which the volume is averaged. */
  readonly sessions: number;
}

/** Returns the data of a security at a close; the price is NaN if there is none. */
export function readSecurityAsKnown(marketOnSession: MarketOnSession, column: number, weight: number): KnownSecurity {
  const { sm, rates, growth, session } = marketOnSession;
  return {
    identifier: sm.identifiers[column]!,
    weight,
    price: readCarriedClose(sm, growth, session, column) * (rates.isNative(column) ? 1 : rates.rateAt(session, column)),
    adv: computeMeanVolume(marketOnSession, column),
  };
}

/**
 * Returns the data of a security at an earlier close, on the share basis of a later session. Splits between the two are
 * applied to price and volume. A security without a price at the earlier close keeps its later data.
 * @param later data on the later session
 */
export function readSecurityBefore(
  marketOnSession: MarketOnSession,
  later: KnownSecurity,
  until: number,
): KnownSecurity {
  const { sm, session } = marketOnSession;
  const column = sm.columnOf(later.identifier);
  const ratio = multiplySplits(sm, column, { after: session, until });
  const { price, adv } = readSecurityAsKnown(marketOnSession, column, later.weight);
  if (!Number.isFinite(price)) return later;
  return { ...later, price: price / ratio, adv: adv === null ? null : adv * ratio };
}

interface Split {
  readonly session: number;
  /** Shares after the split divided by shares before. */
  readonly ratio: number;
}

const NO_SPLITS: readonly Split[] = [];

/**
 * Splits of each security by market, latest last. There are none if the prices of the store are already adjusted for
 * splits.
 */
const splitsByMarket = new WeakMap<SessionMarket, ReadonlyMap<number, readonly Split[]>>();

function listSplits(sm: SessionMarket, column: number): readonly Split[] {
  const splitsByColumn = splitsByMarket.get(sm) ?? listAllSplits(sm);
  splitsByMarket.set(sm, splitsByColumn);
  return splitsByColumn.get(column) ?? NO_SPLITS;
}

function listAllSplits({ actions, market }: SessionMarket): ReadonlyMap<number, readonly Split[]> {
  const splits = new Map<number, Split[]>();
  if (market.adjustment !== 'none') return splits;
  for (const { session, column, action } of actions.all) {
    if (ACTION_KINDS[action.type] !== 'ratio') continue;
    const columnSplits = splits.get(column) ?? [];
    columnSplits.push({ session, ratio: action.value });
    splits.set(column, columnSplits);
  }
  return splits;
}

/** Returns the number of shares on a later session per share on an earlier one. */
function multiplySplits(
  sm: SessionMarket,
  column: number,
  { after, until }: { readonly after: number; readonly until: number },
): number {
  let ratio = 1;
  for (const split of listSplits(sm, column)) if (split.session > after && split.session <= until) ratio *= split.ratio;
  return ratio;
}

/**
 * Returns the mean VOLUME over the latest sessions with a value, in shares on the share basis of the session. Returns
 * null without a value.
 */
function computeMeanVolume({ sm, session, sessions }: MarketOnSession, column: number): number | null {
  const volumes = sm.market.fields.get('VOLUME');
  if (volumes === undefined) return null;
  const splits = listSplits(sm, column);
  let split = splits.findLastIndex((one) => one.session <= session);
  let ratio = 1;
  let sum = 0;
  let count = 0;
  for (let position = session; position >= 0 && count < sessions; position--) {
    while (split >= 0 && splits[split]!.session > position) ratio *= splits[split--]!.ratio;
    const volume = sm.valueAt(volumes, position, column);
    if (Number.isNaN(volume)) continue;
    sum += volume * ratio;
    count++;
  }
  return count === 0 ? null : sum / count;
}

/** Order of a security at the announcement and at a later close. */
export interface ReconciledOrder {
  readonly identifier: string;
  /** Shares to trade; negative for a sale, 0 without an order. */
  readonly shares_announced: number;
  readonly shares: number;
  /** Difference from the order at the announcement. */
  readonly change: number;
  readonly price_announced: number;
  readonly price: number;
}

export interface ReconciledAccount {
  readonly name: string;
  readonly value_announced: number;
  readonly orders: readonly ReconciledOrder[];
}

/** Accounts of a pack, and the securities in their orders. */
export interface PackedSecurities {
  readonly accounts: readonly PackAccount[];
  readonly names: readonly KnownSecurity[];
}

/** Compares announced orders with the orders at a later close, by account and identifier. */
export function reconcilePacks(announced: PackedSecurities, current: PackedSecurities): ReconciledAccount[] {
  const announcedPrices = indexPrices(announced.names);
  const currentPrices = indexPrices(current.names);
  return current.accounts.map(({ name, trades }, a) => {
    const announcedAccount = announced.accounts[a]!;
    const [sharesThen, sharesNow] = [listSignedShares(announcedAccount.trades), listSignedShares(trades)];
    const identifiers = [...new Set([...sharesThen.keys(), ...sharesNow.keys()])].toSorted(compareText);
    return {
      name,
      value_announced: announcedAccount.value,
      orders: identifiers.map((identifier) => {
        const [before, after] = [sharesThen.get(identifier) ?? 0, sharesNow.get(identifier) ?? 0];
        return {
          identifier,
          shares_announced: before,
          shares: after,
          change: after - before,
          price_announced: announcedPrices.get(identifier)!,
          price: currentPrices.get(identifier)!,
        };
      }),
    };
  });
}

function indexPrices(names: readonly KnownSecurity[]): Map<string, number> {
  return new Map(names.map(({ identifier, price }) => [identifier, price]));
}

function listSignedShares(trades: PackAccount['trades']): Map<string, number> {
  return new Map(trades.map(({ identifier, side, shares }) => [identifier, side === 'buy' ? shares : -shares]));
}

/** Inputs of the cost and duration of a trade. */
interface TradeTerms {
  /** Price in the currency of the account. */
  readonly price: number;
  /** Mean daily volume in shares. Null if it is unknown; the impact is then zero. */
  readonly adv: number | null;
  readonly spreadBps: number;
  readonly impactBps: number;
}

/**
 * Returns the cost of a trade: half the spread plus the impact, both as fractions of the traded value. The impact grows
 * with the square root of the traded fraction of a day's volume.
 */
function computeTradeCost({ price, adv, spreadBps, impactBps }: TradeTerms, shares: number): number {
  if (shares === 0) return 0;
  const impact = adv === null ? 0 : impactBps * Math.sqrt(shares / adv);
  return (shares * price * (spreadBps / 2 + impact)) / 10_000;
}

export interface PackSecurity extends TradeTerms {
  readonly identifier: string;
  /** Target weight; 0 for a security that leaves. */
  readonly weight: number;
  /** Lot size: orders are multiples of it. */
  readonly lot: number;
}

interface Order {
  readonly name: PackSecurity;
  readonly before: number;
  /** Target number of shares, in whole lots. */
  readonly wanted: number;
  /** Number of lots of a purchase that are not bought for lack of cash. */
  givenUp: number;
  after: number;
}

function computeOrderCost({ name, before, after }: Order): number {
  return computeTradeCost(name, Math.abs(after - before));
}

/** Returns the cash for an order, including its cost; negative for proceeds of a sale. */
function computePayment(order: Order): number {
  return (order.after - order.before) * order.name.price + computeOrderCost(order);
}

/** Returns the cash for an order if a number of lots of a purchase is given up. */
function computePaidWithout(order: Order, lots: number): number {
  return computePayment({ ...order, after: computeSharesWithout(order, lots) });
}

/** Gives up a number of lots of a purchase. @returns the recovered cash, negative if lots are bought again */
function reducePurchase(order: Order, lots: number): number {
  const before = computePayment(order);
  order.givenUp = lots;
  order.after = computeSharesWithout(order, lots);
  return before - computePayment(order);
}

function computeSharesWithout({ name, before, wanted }: Order, lots: number): number {
  return lots === 0 ? wanted : Math.max(before, wanted - lots * name.lot);
}

/** Creates a binary heap. Equal orders keep their sequence. @cost O(n log n), then O(log n) per change */
function createQueue(orders: readonly Order[], comesBefore: (one: Order, other: Order) => boolean) {
  const positionByOrder = new Map(orders.map((order, i) => [order, i]));
  const isBefore = (order: Order, otherOrder: Order): boolean =>
    comesBefore(order, otherOrder) ||
    (!comesBefore(otherOrder, order) && positionByOrder.get(order)! < positionByOrder.get(otherOrder)!);
  const heap = orders.toSorted((order, otherOrder) => (isBefore(order, otherOrder) ? -1 : 1));
  return {
    first: (): Order | undefined => heap[0],
    /** Moves the first order to its new, later position; removes it if it is finished. */
    settle(isOver: boolean): void {
      if (isOver) {
        const last = heap.pop()!;
        if (heap.length === 0) return;
        heap[0] = last;
      }
      moveDown(heap, isBefore);
    },
  };
}

/** Moves the first element of a heap to its position. */
function moveDown(heap: Order[], isBefore: (one: Order, other: Order) => boolean): void {
  for (let position = 0; ;) {
    let least = position;
    for (const child of [2 * position + 1, 2 * position + 2])
      if (child < heap.length && isBefore(heap[child]!, heap[least]!)) least = child;
    if (least === position) return;
    [heap[position], heap[least]] = [heap[least]!, heap[position]!];
    position = least;
  }
}

/** Value and cash of an account from which orders are paid. */
interface Funds {
  /** Value of the account after costs. */
  readonly net: number;
  readonly cash: number;
}

/**
 * Reduces purchases lot by lot until cash is not negative. First removes one lot each from purchases that were rounded
 * up, smallest relative change first. Then removes further lots, smallest total change first.
 * @returns the resulting cash
 * @cost O((n + removed lots) log n); beyond rounding, only the last n lots are removed singly
 */
function lowerPurchases(orders: readonly Order[], { net, cash }: Funds): number {
  const left = orders.reduce((sum, order) => sum - computePayment(order), cash);
  if (left >= 0) return left;
  const purchases = orders.filter(({ before, after }) => after > before);
  const isRoundedUp = ({ name, after }: Order) => after > (name.weight * net) / name.price;
  const roundedPurchases = purchases
    .filter(isRoundedUp)
    .toSorted((a, b) => computeForgoneShare(a) - computeForgoneShare(b));
  let remainder = left;
  for (const order of roundedPurchases) {
    if (remainder >= 0) return remainder;
    remainder += reducePurchase(order, 1);
  }
  remainder += reduceAlike(purchases, remainder);
  const queue = createQueue(
    purchases.filter(({ before, after }) => after > before),
    (order, otherOrder) => computeForgoneShare(order) < computeForgoneShare(otherOrder),
  );
  for (let order = queue.first(); remainder < 0 && order !== undefined; order = queue.first()) {
    remainder += reducePurchase(order, order.givenUp + 1);
    queue.settle(order.after <= order.before);
  }
  return remainder;
}

/** Returns the fraction of an order that is given up if one more lot is removed. */
function computeForgoneShare({ name, before, wanted, after }: Order): number {
  const purchase = wanted - before;
  return (purchase - (after - before) + name.lot) / purchase;
}

/** Number of bisections of a fraction, after which the digits of a double are exhausted. */
const HALVINGS = 60;

/**
 * Reduces all purchases by the largest common fraction that is certainly not too large, in whole lots. The result
 * equals removing single lots, but needs no queue of millions.
 * @returns the recovered cash, which does not suffice by itself
 */
function reduceAlike(purchases: readonly Order[], cash: number): number {
  if (cash >= 0) return 0;
  const countLots = ({ name, before, wanted, givenUp }: Order, share: number): number =>
    Math.max(givenUp, Math.floor((share * (wanted - before)) / name.lot));
  const computeRecovered = (share: number): number =>
    purchases.reduce(
      (sum, order) => sum + computePayment(order) - computePaidWithout(order, countLots(order, share)),
      0,
    );
  let [enough, short] = [1, 0];
  for (let n = 0; n < HALVINGS; n++) {
    const middle = (enough + short) / 2;
    if (cash + computeRecovered(middle) < 0) short = middle;
    else enough = middle;
  }
  return purchases.reduce((sum, order) => sum + reducePurchase(order, countLots(order, short)), 0);
}

/**
 * Mean number of lots per security that are bought one at a time. If there are more, the affordable number is computed
 * directly.
 */
const LOTS_BOUGHT_SINGLY = 8;

/**
 * Buys removed lots again, one at a time, while the remaining cash pays for a lot and its cost. Always chooses the
 * security with the largest missing value, ties by identifier. If the next lot of a security is too expensive, the
 * security is skipped. Cash only falls, and its later lots cost no less.
 * @returns the remaining cash, less than the price of any removed lot
 * @cost O(n log n) per round; more than one round only if many lots are smaller than a lot that was too expensive
 */
function restoreLots(orders: readonly Order[], { net, cash }: Funds): number {
  const byName = orders
    .filter(({ givenUp }) => givenUp > 0)
    .toSorted((order, otherOrder) => compareText(order.name.identifier, otherOrder.name.identifier));
  let remainingCash = cash;
  for (;;) {
    const openOrders = byName.filter((order) => order.givenUp > 0 && computeNextLot(order) <= remainingCash);
    if (openOrders.length === 0) return remainingCash;
    remainingCash += buyAlike(openOrders, { net, cash: remainingCash });
    remainingCash = buyInTurn(openOrders, { net, cash: remainingCash });
  }
}

/** Returns the cash for the next lot, including costs. */
const computeNextLot = (order: Order): number => computePaidWithout(order, order.givenUp - 1) - computePayment(order);

/** Returns the value that an order lacks to its target. */
const computeMissingValue = ({ name, after }: Order, net: number): number => name.weight * net - after * name.price;

/** Buys lots one at a time. @returns the remaining cash */
function buyInTurn(open: readonly Order[], { net, cash }: Funds): number {
  const queue = createQueue(
    open,
    (order, otherOrder) => computeMissingValue(order, net) > computeMissingValue(otherOrder, net),
  );
  let remainingCash = cash;
  let lots = LOTS_BOUGHT_SINGLY * open.length;
  for (let order = queue.first(); order !== undefined && lots > 0; order = queue.first()) {
    const fits = order.givenUp > 0 && computeNextLot(order) <= remainingCash;
    if (fits) {
      remainingCash += reducePurchase(order, order.givenUp - 1);
      lots--;
    }
    queue.settle(!fits || order.givenUp === 0);
  }
  return remainingCash;
}

/**
 * Buys the lots of all orders whose missing value exceeds a threshold. The threshold is the smallest one for which the
 * cash suffices. The result equals buying single lots as long as each is affordable.
 * @returns the change of cash, negative
 */
function buyAlike(open: readonly Order[], { net, cash }: Funds): number {
  /** Returns the number of lots still given up if an order is bought while its missing value exceeds a threshold. */
  const countLots = (order: Order, value: number): number => {
    const { name, wanted, givenUp } = order;
    if (computeMissingValue(order, net) <= value) return givenUp;
    // The count starts from the target shares, which are whole lots. Held shares may include a fraction.
    const largestCount = Math.floor((wanted - (name.weight * net - value) / name.price) / name.lot);
    return Math.min(Math.max(largestCount, 0), givenUp - 1);
  };
  const sumTaken = (value: number): number =>
    open.reduce((sum, order) => sum + computePaidWithout(order, countLots(order, value)) - computePayment(order), 0);
  let upperValue = Math.max(...open.map((order) => computeMissingValue(order, net)));
  let lowerValue = Math.min(
    ...open.map((order) => computeMissingValue(order, net) - order.givenUp * order.name.price * order.name.lot),
  );
  if (sumTaken(lowerValue) <= cash) upperValue = lowerValue;
  for (let n = 0; n < HALVINGS && upperValue !== lowerValue; n++) {
    const middle = (upperValue + lowerValue) / 2;
    if (sumTaken(middle) <= cash) upperValue = middle;
    else lowerValue = middle;
  }
  return open.reduce((sum, order) => sum + reducePurchase(order, countLots(order, upperValue)), 0);
}

interface FilledAccount {
  /** Value of the account before the trades. */
  readonly value: number;
  /** Cash after the trades. */
  readonly cash: number;
  readonly cost: number;
  /** Half the traded value divided by the value of the account. */
  readonly turnover: number;
  /** Orders of the securities whose number of shares changes. */
  readonly orders: readonly Order[];
  /** True if cash stays negative when all purchases are cancelled. */
  readonly isShort: boolean;
}

/**
 * Returns the orders that bring an account to its target weights, relative to the value after costs. The shares are
 * lots times the half-even rounding of weight * net value / (price * lot). If cash is insufficient, purchases are
 * reduced lot by lot, first those that were rounded up. Removed lots are bought again as far as the remaining cash
 * permits.
 * @param heldShares shares by position of the securities, [n]
 */
export function createOrders(names: readonly PackSecurity[], heldShares: Float64Array, cash: number): FilledAccount {
  const value = names.reduce((sum, { price }, i) => sum + heldShares[i]! * price, cash);
  const net = computeNetValue(names, heldShares, value);
  const orders = names.map((name, i): Order => {
    const lots = roundHalfEven((name.weight * net) / (name.price * name.lot));
    const targetShares = name.weight === 0 ? 0 : lots * name.lot;
    return { name, before: heldShares[i]!, wanted: targetShares, givenUp: 0, after: targetShares };
  });
  const left = restoreLots(orders, { net, cash: lowerPurchases(orders, { net, cash }) });
  const cost = orders.reduce((sum, order) => sum + computeOrderCost(order), 0);
  const tradedValue = orders.reduce((sum, { name, before, after }) => sum + Math.abs(after - before) * name.price, 0);
  return {
    value,
    cash: left,
    cost,
    turnover: value === 0 ? 0 : tradedValue / 2 / value,
    orders: orders.filter(({ before, after }) => before !== after),
    isShort: left < 0,
  };
}

/**
 * Returns the value of an account after the costs of its trades in fractional shares. This value plus the costs equals
 * the value before. If costs exceed the value before, returns the value before.
 * @cost O(n)
 */
function computeNetValue(names: readonly PackSecurity[], heldShares: Float64Array, value: number): number {
  const computeCostAt = (net: number): number =>
    names.reduce(
      (sum, name, i) => sum + computeTradeCost(name, Math.abs((name.weight * net) / name.price - heldShares[i]!)),
      0,
    );
  if (computeCostAt(value) === 0 || computeCostAt(0) >= value) return value;
  let [below, above] = [0, value];
  for (let n = 0; n < HALVINGS; n++) {
    const middle = (below + above) / 2;
    if (middle + computeCostAt(middle) <= value) below = middle;
    else above = middle;
  }
  return below;
}

/** Rounds to the nearest integer, halves to even. */
export function roundHalfEven(value: number): number {
  const lowerInteger = Math.floor(value);
  const remainder = value - lowerInteger;
  if (remainder !== 0.5) return Math.round(value);
  return lowerInteger % 2 === 0 ? lowerInteger : lowerInteger + 1;
}
