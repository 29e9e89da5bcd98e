import { compareText } from '../base/findings.js';
import { findFirstAtLeast, findLastAtMost } from '../base/numbers.js';
import type { Day } from '../base/time.js';

/** Kinds of suspected errors in market data, by symptom. */
export const DATA_WARNING_KINDS = [
  'unexplained_jump',
  'missed_split',
  'currency_flip',
  'duplicate_bar',
  'stale_tail',
  'volume_without_trade',
  'exchange_rate',
  'unknown_currency',
  'action_terms',
  'dividend_size',
  'dividend_duplicate',
  'dividend_not_adjusted',
] as const;
export type DataWarningKind = (typeof DATA_WARNING_KINDS)[number];

/** Prices of an instrument that is never a constituent: an index, an exchange rate or an interest rate. */
export interface PriceSeries {
  readonly identifier: string;
  readonly name: string | null;
  /** Currency of the prices; null if not stated. */
  readonly currency: string | null;
  /** Days with a value, ascending, [P]. */
  readonly days: Int32Array;
  /** CLOSE on those days, [P]. */
  readonly closes: Float64Array;
}

/** Series of a store by identifier, in code-point order. */
export type SeriesTable = ReadonlyMap<string, PriceSeries>;

/** Returns the CLOSE of a day. Returns NaN if the series has no value on that day. */
export function closeOn({ days, closes }: PriceSeries, day: Day): number {
  const position = findLastAtMost(days, day);
  return position >= 0 && days[position] === day ? closes[position]! : Number.NaN;
}

/** Returns the latest CLOSE on or before each of some ascending days, [days]; NaN before the first value. */
export function carryCloses({ days, closes }: PriceSeries, on: Int32Array): Float64Array {
  const carriedCloses = new Float64Array(on.length);
  let position = -1;
  for (let s = 0; s < on.length; s++) {
    while (position + 1 < days.length && days[position + 1]! <= on[s]!) position++;
    carriedCloses[s] = position < 0 ? Number.NaN : closes[position]!;
  }
  return carriedCloses;
}

/** Price basis of CLOSE in a store: as traded, divided by later splits, or by splits and dividends. */
export type Adjustment = 'none' | 'splits' | 'total';

/** Treatment of the cash of ordinary dividends in a return: excluded, in full, or after withholding tax. */
export const RETURN_VARIANTS = ['price', 'total', 'net'] as const;
export type ReturnVariant = (typeof RETURN_VARIANTS)[number];

/** Return variants of comparison levels. `raw` levels are used unchanged. */
export const MEASURED_VARIANTS = [...RETURN_VARIANTS, 'raw'] as const;
export type MeasuredVariant = (typeof MEASURED_VARIANTS)[number];

/**
 * One loaded version of a store: dense panels over two integer axes, and tables. Nothing in it may be changed, because
 * all workers read the panels in shared memory.
 */
export interface MarketData {
  readonly datasetId: string;
  /** SHA-256 of the canonical content; it changes if and only if a value changes. */
  readonly contentHash: string;
  readonly adjustment: Adjustment;
  /** Currency of securities without a currency in the reference data. Null or absent if the store declares none. */
  readonly currency?: string | null;
  /** Column axis: identifiers in code-point order, [N]. */
  readonly identifiers: readonly string[];
  /** Row axis: all days on which any security has a bar, ascending, [T]. */
  readonly dates: Int32Array;
  /** Panels [T x N] by field name, row-major; NaN is a missing value. `CLOSE` always exists. */
  readonly fields: ReadonlyMap<string, Float64Array>;
  readonly reference: ReferenceTable;
  /** Corporate actions, ordered by identifier, ex-date and type. */
  readonly actions: readonly CorporateAction[];
  /** Last day of the ex-dates for which ordinary dividends are omitted; absent if all actions are present. */
  readonly settledTo?: number;
  /** True if any ordinary dividend has been omitted. */
  readonly settledCash?: boolean;
  /** Memberships, ordered by universe, identifier and start. */
  readonly universes: readonly Membership[];
  /** Series of the store; absent if there are none. */
  readonly series?: SeriesTable;
}

export type ReferenceValue = string | number | boolean | null;

export interface ReferenceTable {
  /** Columns of the table in the order of the file, without keys. */
  readonly columns: readonly string[];
  /** Rows by identifier, ascending by `validFrom`, with null (always valid) first. */
  readonly rows: ReadonlyMap<string, readonly ReferenceRow[]>;
}

export interface ReferenceRow {
  readonly validFrom: Day | null;
  /** Values, one per column of the table. */
  readonly values: readonly ReferenceValue[];
}

export const ACTION_KINDS = {
  DIVIDEND: 'cash',
  SPECIAL_DIVIDEND: 'cash',
  RETURN_OF_CAPITAL: 'cash',
  SPLIT: 'ratio',
  STOCK_DIVIDEND: 'ratio',
  BONUS_ISSUE: 'ratio',
  RIGHTS_ISSUE: 'structural',
  SPIN_OFF: 'structural',
  MERGER: 'structural',
  ACQUISITION: 'structural',
  DELISTING: 'structural',
  TICKER_CHANGE: 'structural',
} as const;
export type ActionType = keyof typeof ACTION_KINDS;
export const ACTION_TYPES = Object.keys(ACTION_KINDS) as [ActionType, ...ActionType[]]; // Object.keys returns plain strings.
export type ActionStatus = 'announced' | 'paid' | 'cancelled';

export interface CorporateAction {
  readonly identifier: string;
  readonly type: ActionType;
  /** Cash per share, share-count multiplier or structural ratio. The type of the action determines which. */
  readonly value: number;
  readonly exDay: Day;
  readonly payDay: Day | null;
  readonly status: ActionStatus | null;
  readonly announcedDay: Day | null;
  /** Other security of a spin-off, merger or ticker change. */
  readonly related: string | null;
  readonly subscriptionPrice: number | null;
  /** For a merger, cash per share in addition to the shares of `related`; absent without cash. */
  readonly cash?: number;
  /** For a dividend that may be taken in shares, new shares per share held; absent without this choice. */
  readonly scripRatio?: number;
  /** True for a delisting or an acquisition whose payment is not stated; `value` is then 0. Absent if it is stated. */
  readonly isUnpriced?: true;
  /** Last day of the election; absent if unknown. */
  readonly electionDay?: Day;
  /** Choice that applies to holders without an election; absent if unknown. */
  readonly electionDefault?: ElectionDefault;
  /** Value of the shares that a spin-off distributes per share, where a part of a market lacks the other security. */
  readonly worth?: number;
}

const PAYMENTS = ['cash', 'shares'] as const;
const RIGHTS = ['take_up', 'sell', 'sell_to_fund', 'lapse'] as const;
export type RightsChoice = (typeof RIGHTS)[number];
export const ELECTION_DEFAULTS = [...PAYMENTS, ...RIGHTS] as const;
export type ElectionDefault = (typeof ELECTION_DEFAULTS)[number];

export const ELECTIONS: ReadonlyMap<ActionType, readonly ElectionDefault[]> = new Map<
  ActionType,
  readonly ElectionDefault[]
>([
  ['DIVIDEND', PAYMENTS],
  ['SPECIAL_DIVIDEND', PAYMENTS],
  ['RIGHTS_ISSUE', RIGHTS],
  ['MERGER', PAYMENTS],
  ['ACQUISITION', PAYMENTS],
]);

/** Membership of a security in a universe, from `start` (null: always) to `end`, exclusive (null: still a member). */
export interface Membership {
  readonly universe: string;
  readonly identifier: string;
  readonly start: Day | null;
  readonly end: Day | null;
}

/** Returns the value of a reference column known on a day, from the latest row valid on or before it. */
export function readReference(table: ReferenceTable, identifier: string, column: string, day: Day): ReferenceValue {
  const position = table.columns.indexOf(column);
  if (position < 0) return null;
  let value: ReferenceValue = null;
  for (const row of table.rows.get(identifier) ?? []) {
    if (row.validFrom !== null && row.validFrom > day) break;
    value = row.values[position] ?? null;
  }
  return value;
}

/** Columns of securities, and a range of rows with inclusive ends. */
interface SecuritiesOverRows {
  readonly columns: Int32Array;
  readonly from: number;
  readonly to: number;
}

interface CachedMissing extends SecuritiesOverRows {
  /** Missing rows, by position in `columns`. */
  readonly missing: readonly Int32Array[];
}

/** Maximum number of cached missing bars per market: 4 MB. */
const CACHED_MAX = 2 ** 20;

const latestMissing = new WeakMap<Float64Array, CachedMissing>();

/**
 * Returns the rows without a bar for each column, ascending. The last result is cached. A call for fewer securities or
 * days only searches this result.
 * @cost one pass over the closes, or over the missing rows
 */
export function findMissingBars(
  market: Pick<MarketData, 'identifiers' | 'fields'>,
  names: SecuritiesOverRows,
): Int32Array[] {
  const close = market.fields.get('CLOSE')!;
  const width = market.identifiers.length;
  const cachedMissing = latestMissing.get(close);
  const cachedBars =
    cachedMissing && cachedMissing.from <= names.from && cachedMissing.to >= names.to
      ? selectCached(cachedMissing, names, width)
      : undefined;
  if (cachedBars !== undefined) return cachedBars;
  const missingRows = listMissing(close, width, names);
  const count = missingRows.reduce((sum, { length }) => sum + length, 0);
  if (count <= CACHED_MAX) latestMissing.set(close, { ...names, missing: missingRows });
  return missingRows;
}

/** Returns the missing rows from a cached result. Returns undefined if the result lacks a security. */
function selectCached(
  cachedMissing: CachedMissing,
  { columns, from, to }: SecuritiesOverRows,
  width: number,
): Int32Array[] | undefined {
  const positionByColumn = new Int32Array(width).fill(-1);
  cachedMissing.columns.forEach((column, place) => (positionByColumn[column] = place));
  if (columns.some((column) => positionByColumn[column]! < 0)) return undefined;
  return Array.from(columns, (column) => {
    const rows = cachedMissing.missing[positionByColumn[column]!]!;
    return rows.length === 0 ? rows : rows.filter((row) => row >= from && row <= to);
  });
}

function listMissing(close: Float64Array, width: number, { columns, from, to }: SecuritiesOverRows): Int32Array[] {
  const missingRows: number[][] = Array.from(columns, () => []);
  for (let row = from; row <= to; row++) {
    const first = row * width;
    for (let k = 0; k < columns.length; k++) {
      const price = close[first + columns[k]!]!;
      if (price !== price) missingRows[k]!.push(row);
    }
  }
  return missingRows.map((rows) => Int32Array.from(rows));
}

/** Part of a market to retain. */
interface Narrowing {
  /** Columns of the securities, ascending. */
  readonly columns: ArrayLike<number>;
  /** First and last day; null: no limit. */
  readonly from: Day | null;
  readonly to: Day | null;
  /** Data to keep in addition to prices: reference data, or all datapoints with their full history. Default: none. */
  readonly keeps?: 'reference' | 'datapoints' | undefined;
}

/** Reference column that a narrowed market omits. */
const CURRENCY = 'CURRENCY';

/**
 * Returns the prices of a few securities in a window as a separate market. Its days are those with a bar of any of the
 * securities. It has no currencies, so prices are never converted.
 * @cost O(window * securities)
 */
export function narrowMarket(market: MarketData, { columns, from, to, keeps }: Narrowing): MarketData {
  const width = market.identifiers.length;
  const n = columns.length;
  const close = market.fields.get('CLOSE')!;
  const rows = listRowsWithBar(market, { columns, from: keeps === 'datapoints' ? null : from, to });
  const copyPart = (panel: Float64Array): Float64Array => {
    const values = new Float64Array(rows.length * n);
    rows.forEach((row, position) => {
      for (let k = 0; k < n; k++) values[position * n + k] = panel[row * width + columns[k]!]!;
    });
    return values;
  };
  const fields = keeps === 'datapoints' ? [...market.fields] : [['CLOSE', close] as const];
  const identifiers = Array.from(columns, (column) => market.identifiers[column]!);
  const retainedIdentifiers = new Set(identifiers);
  return {
    ...market,
    currency: null,
    identifiers,
    dates: Int32Array.from(rows, (row) => market.dates[row]!),
    fields: new Map(fields.map(([name, panel]) => [name, copyPart(panel)])),
    reference:
      keeps === undefined ? { columns: [], rows: new Map() } : selectReference(market.reference, retainedIdentifiers),
    actions: market.actions.filter(({ identifier }) => retainedIdentifiers.has(identifier)),
    universes: [],
  };
}

/**
 * Returns the rows of a window with a bar of any of some securities, ascending. @cost O(window), and O(securities) per
 * row before the first bar
 */
export function listRowsWithBar(
  { identifiers, dates, fields }: Pick<MarketData, 'identifiers' | 'dates' | 'fields'>,
  { columns, from, to }: Pick<Narrowing, 'columns' | 'from' | 'to'>,
): Int32Array {
  const width = identifiers.length;
  const close = fields.get('CLOSE')!;
  const last = to === null ? dates.length - 1 : findLastAtMost(dates, to);
  const rows: number[] = [];
  for (let row = from === null ? 0 : findFirstAtLeast(dates, from); row <= last; row++)
    for (let k = 0; k < columns.length; k++)
      if (!Number.isNaN(close[row * width + columns[k]!]!)) {
        rows.push(row);
        break;
      }
  return Int32Array.from(rows);
}

/** Returns the reference data of a few securities, without the currency. */
function selectReference({ columns, rows }: ReferenceTable, names: ReadonlySet<string>): ReferenceTable {
  const remainingColumns = columns.flatMap((name, position) => (name === CURRENCY ? [] : [position]));
  return {
    columns: remainingColumns.map((position) => columns[position]!),
    rows: new Map(
      [...rows].flatMap(([name, ownReferenceRows]) =>
        names.has(name)
          ? [
              [
                name,
                ownReferenceRows.map((row) => ({
                  ...row,
                  values: remainingColumns.map((position) => row.values[position] ?? null),
                })),
              ],
            ]
          : [],
      ),
    ),
  };
}

/**
 * Returns the return variants that can be computed from the prices of a market. Prices that include dividends permit
 * only the total return.
 */
export function listVariants({ adjustment }: Pick<MarketData, 'adjustment'>): readonly ReturnVariant[] {
  return adjustment === 'total' ? ['total'] : ['price', 'total', 'net'];
}

export function resolveVariant(market: Pick<MarketData, 'adjustment'>, requestedVariant: ReturnVariant): ReturnVariant {
  return listVariants(market).includes(requestedVariant) ? requestedVariant : 'total';
}

/** Variant that each return variant equals if no tax is withheld. */
export const UNTAXED_VARIANTS: Readonly<Record<ReturnVariant, ReturnVariant>> = {
  price: 'price',
  total: 'net',
  net: 'total',
};

/** Returns true if a market has any cash action, on any day and with any status. */
export function hasCash({ actions, settledCash = false }: Pick<MarketData, 'actions' | 'settledCash'>): boolean {
  return settledCash || actions.some(({ type }) => ACTION_KINDS[type] === 'cash');
}

const cache = new WeakMap<MarketData, Map<string, MarketData>>();

/**
 * Returns a market in which one of its series is an additional security. Requests can then treat the series as a
 * holding. The new market has only the panel CLOSE, on the days of the original market. The original market is
 * unchanged.
 * @cost a copy of CLOSE, once per market and series
 */
export function addSeries(market: MarketData, series: PriceSeries): MarketData {
  const marketByIdentifier = cache.get(market) ?? new Map<string, MarketData>();
  cache.set(market, marketByIdentifier);
  const result = marketByIdentifier.get(series.identifier) ?? extendMarket(market, series);
  marketByIdentifier.set(series.identifier, result);
  return result;
}

function extendMarket(market: MarketData, { identifier, currency, days, closes }: PriceSeries): MarketData {
  const { dates, reference } = market;
  const width = market.identifiers.length;
  const identifiers = [...market.identifiers, identifier].toSorted(compareText);
  const position = identifiers.indexOf(identifier);
  const sourceClose = market.fields.get('CLOSE')!;
  const close = new Float64Array(dates.length * (width + 1)).fill(Number.NaN);
  for (let t = 0; t < dates.length; t++) {
    const row = t * (width + 1);
    close.set(sourceClose.subarray(t * width, t * width + position), row);
    close.set(sourceClose.subarray(t * width + position, (t + 1) * width), row + position + 1);
  }
  days.forEach((day, i) => {
    const t = findLastAtMost(dates, day);
    if (dates[t] === day) close[t * (width + 1) + position] = closes[i]!;
  });
  const columns = reference.columns.includes('CURRENCY') ? reference.columns : [...reference.columns, 'CURRENCY'];
  const row = { validFrom: null, values: columns.map((column) => (column === 'CURRENCY' ? currency : null)) };
  return {
    ...market,
    identifiers,
    fields: new Map([['CLOSE', close]]),
    reference: { columns, rows: new Map([...reference.rows, [identifier, [row]]]) },
  };
}

/**
 * Function that returns the group of a security on a day, and the first day on which the group may change. That day is
 * Infinity if the group never changes.
 */
export type GroupOfDay = (name: string, day: Day) => { readonly group: string; readonly until: number };

/**
 * Returns a function that returns the group of each security on a day, [names]. Days must ascend. The function returns
 * the identical array until a group changes.
 */
export function createGroupsByDay(names: readonly string[], groupOf: GroupOfDay): (day: Day) => readonly string[] {
  let groups: readonly string[] = names.map(() => '');
  const spellEnds = names.map(() => -Infinity);
  let next = -Infinity;
  return (day) => {
    if (day < next) return groups;
    groups = names.map((name, i) => {
      if (day < spellEnds[i]!) return groups[i]!;
      const result = groupOf(name, day);
      spellEnds[i] = result.until;
      return result.group;
    });
    next = spellEnds.reduce((least, each) => Math.min(least, each), Infinity);
    return groups;
  };
}

/** Numbering of groups in order of first occurrence. */
export function createGroupNumbers() {
  const groups: string[] = [];
  const numberByGroup = new Map<string, number>();
  const findNumber = (group: string): number => {
    const number = numberByGroup.get(group) ?? groups.push(group) - 1;
    numberByGroup.set(group, number);
    return number;
  };
  return {
    /** Names of the groups, by number. */
    groups,
    /** Returns the group number of each security on a day, as `createGroupsByDay` does. */
    byDay(names: readonly string[], groupOf: GroupOfDay): (day: Day) => Int32Array {
      const readGroups = createGroupsByDay(names, groupOf);
      let texts: readonly string[] | undefined;
      let numbers = new Int32Array(0);
      return (day) => {
        const dayGroups = readGroups(day);
        if (dayGroups !== texts) numbers = Int32Array.from(dayGroups, findNumber);
        texts = dayGroups;
        return numbers;
      };
    },
  };
}

/** Reference value with the days on which it applies: from `from` until the next value begins. */
export interface ReferenceSpell {
  /** First day on which the value applies; -Infinity if it was always valid. */
  readonly from: number;
  readonly value: ReferenceValue;
}

/** Reference values of every security with their days, by column of the market. */
type ColumnSpells = readonly (readonly ReferenceSpell[])[];

/**
 * Maximum number of cached values with their days, per market: about 20 MB. The most recently read columns stay cached.
 */
const SPELLS_CACHED_MAX = 500_000;

/** Cached columns, most recently read last. */
const spellsByColumn = new WeakMap<MarketData, Map<string, ColumnSpells>>();

/**
 * Returns the values of one reference column for every security, by column of the market. A security without reference
 * rows has none. Adjacent rows with the same value are joined. A security without a currency has the currency that the
 * store declares.
 * @cost O(rows of the table) on the first call
 */
export function createReferenceSpells(market: MarketData, column: string): ColumnSpells {
  const columns = spellsByColumn.get(market) ?? new Map<string, ColumnSpells>();
  spellsByColumn.set(market, columns);
  const cachedSpells = columns.get(column);
  const spells = cachedSpells ?? createDeclaredSpells(market, column);
  columns.delete(column);
  columns.set(column, spells);
  if (cachedSpells !== undefined) return cachedSpells;
  let cachedCount = 0;
  for (const columnSpells of columns.values()) cachedCount += countSpells(columnSpells);
  for (const [oldest, each] of columns) {
    if (cachedCount <= SPELLS_CACHED_MAX) break;
    cachedCount -= countSpells(each);
    columns.delete(oldest);
  }
  return spells;
}

function createDeclaredSpells(market: MarketData, column: string): ColumnSpells {
  const spells = createSpells(market, column);
  const { currency = null } = market;
  return column === 'CURRENCY' && currency !== null ? spells.map((own) => fillMissing(own, currency)) : spells;
}

function countSpells(column: ColumnSpells): number {
  let count = 0;
  for (const spells of column) count += spells.length;
  return count;
}

function createSpells(market: MarketData, column: string): ColumnSpells {
  const position = market.reference.columns.indexOf(column);
  return market.identifiers.map((identifier) => {
    const spells: ReferenceSpell[] = [];
    if (position < 0) return spells;
    for (const row of market.reference.rows.get(identifier) ?? []) {
      const value = row.values[position] ?? null;
      if (spells.length === 0 || spells.at(-1)!.value !== value)
        spells.push({ from: row.validFrom ?? -Infinity, value });
    }
    return spells;
  });
}

function fillMissing(spells: readonly ReferenceSpell[], value: ReferenceValue): ReferenceSpell[] {
  const allSpells: ReferenceSpell[] = [{ from: -Infinity, value }];
  for (const spell of spells) {
    const next = { from: spell.from, value: isBlank(spell.value) ? value : spell.value };
    if (next.from === -Infinity) allSpells[0] = next;
    else if (allSpells.at(-1)!.value !== next.value) allSpells.push(next);
  }
  return allSpells;
}

/** Returns true if a reference value is empty. */
export function isBlank(value: ReferenceValue): boolean {
  return value === null || value === '';
}

/** Returns the value that applies on a day. Returns null before the first spell. */
export function findSpell(spells: readonly ReferenceSpell[], day: Day): ReferenceValue {
  for (let i = spells.length - 1; i >= 0; i--) {
    const spell = spells[i]!;
    if (spell.from <= day) return spell.value;
  }
  return null;
}

/** Group name of securities without a group. */
export const UNCLASSIFIED = 'UNCLASSIFIED';

export function readClassification(value: ReferenceValue): string {
  return value === null || value === '' ? UNCLASSIFIED : String(value);
}

/** Group of a security, and the first day on which it may change. The day is Infinity if the group never changes. */
interface GroupSpell {
  readonly group: string;
  readonly until: number;
}

/** Returns a function for the group of a security known on a day, according to a reference column. */
export function listGroupSpells(market: MarketData, by: string): (name: string, day: Day) => GroupSpell {
  const spells = createReferenceSpells(market, by);
  const byName = new Map(market.identifiers.map((identifier, column) => [identifier, spells[column]!]));
  return (name, day) => {
    const nameSpells = byName.get(name) ?? [];
    const position = nameSpells.findLastIndex(({ from }) => from <= day);
    return {
      group: readClassification(nameSpells[position]?.value ?? null),
      until: nameSpells[position + 1]?.from ?? Infinity,
    };
  };
}

/** Returns a function for the issuer of a security known on a day. A security without an issuer is its own issuer. */
export function listIssuerSpells(market: MarketData, by: string): (name: string, day: Day) => GroupSpell {
  const findSpell = listGroupSpells(market, by);
  return (name, day) => {
    const { group, until } = findSpell(name, day);
    return { group: group === UNCLASSIFIED ? name : group, until };
  };
}

/** Column name that stands for no column: every security forms a separate group. */
export const SINGLE_GROUPS = 'IDENTIFIER';

export const createSingleGroup = (name: string): GroupSpell => ({ group: name, until: Infinity });
