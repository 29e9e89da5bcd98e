import { decodeUtf8 } from '#base/bytes.js';
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

/**
 * Form of a market that can be passed between threads. Panels are passed by reference in shared memory, tables as UTF-8
 * JSON in shared memory. Sending a handle copies only a few strings, whatever the size of the store.
 */
export interface MarketHandle {
  readonly datasetId: string;
  readonly contentHash: string;
  readonly adjustment: Adjustment;
  /** Currency declared by the store, as in `MarketData`. */
  readonly currency?: string | null;
  /** Days of the rows, Int32, [T]. */
  readonly dates: SharedArrayBuffer;
  /** Float64 panels, [T x N]. Each is at the start of its memory, which may have space for later days. */
  readonly fields: readonly { readonly name: string; readonly values: SharedArrayBuffer }[];
  /**
   * UTF-8 JSON of identifiers, reference, actions, universes and series: one line for the axes, and one line per batch
   * of rows of a table.
   */
  readonly tables: SharedArrayBuffer;
  /**
   * Position of each action in `tables`, as Int32 rows, [A x 5]. A row contains the ex-date, 1 for an ordinary dividend
   * and 0 for other actions, the first byte, the length, and the column of the security or -1.
   */
  readonly actionPlaces: SharedArrayBuffer;
  /** Digests of the parts of the content, if known. Parts that a later version shares need not be hashed again. */
  readonly digests?: ContentDigests;
  /**
   * Number of days that versions have claimed in the memory of the panels, Int32, [1]. A writer claims days here before
   * it writes them. The memory of a day is therefore written only once, even if the version is discarded. Absent if
   * writing is not permitted.
   */
  readonly taken?: SharedArrayBuffer;
}

/** SHA-256 digests of the parts of the content. */
export interface ContentDigests {
  /** Digests of the panels, 32 bytes per block of days. */
  readonly blocks: Uint8Array;
  /** Digest of the tables other than panels, 32 bytes. */
  readonly tables: Uint8Array;
  /** Digests of the table rows after the previous block of days up to the last day of the block, 32 bytes per block. */
  readonly history: Uint8Array;
}

/** Number of rows of a table per line of JSON. A line takes at most a millisecond to parse. */
const LINE_ROWS = 500;

interface Axes {
  readonly identifiers: string[];
  readonly columns: string[];
}

type Line =
  | { readonly rows: [string, ReferenceRow[]][] }
  | { readonly actions: CorporateAction[] }
  | { readonly universes: Membership[] }
  | { readonly series: SeriesLine };

/** Series with its days and values as plain arrays. */
interface SeriesLine extends Omit<PriceSeries, 'days' | 'closes'> {
  readonly days: number[];
  readonly closes: number[];
}

type SharedTables = Pick<MarketHandle, 'tables' | 'actionPlaces'>;

/**
 * Returns the handle of a market. Panels in shared memory are not copied.
 * @param shared tables of the market, if they are already shared
 */
export function shareMarket(market: MarketData, shared: SharedTables = shareTables(market)): MarketHandle {
  return {
    datasetId: market.datasetId,
    contentHash: market.contentHash,
    adjustment: market.adjustment,
    currency: market.currency ?? null,
    dates: copyToSharedBytes(market.dates),
    fields: [...market.fields].map(([name, values]) => ({ name, values: copyToSharedMemory(values) })),
    tables: shared.tables,
    actionPlaces: shared.actionPlaces,
  };
}

export function shareTables(
  market: Pick<MarketData, 'identifiers' | 'reference' | 'actions' | 'universes' | 'series'>,
): SharedTables {
  const axes: Axes = { identifiers: [...market.identifiers], columns: [...market.reference.columns] };
  const before = formatLines([axes, ...createSpellLines(market.reference.rows)]);
  const { text: actions, places } = createActionLines(market, new TextEncoder().encode(before).length);
  const tables =
    before +
    actions +
    formatLines([...divideIntoLines(market.universes, (universes) => ({ universes })), ...createSeriesLines(market)]);
  return { tables: copyToSharedBytes(new TextEncoder().encode(tables)), actionPlaces: copyToSharedBytes(places) };
}

function createSeriesLines({ series }: Pick<MarketData, 'series'>): Line[] {
  return [...(series?.values() ?? [])].map(({ days, closes, ...about }) => ({
    series: { ...about, days: [...days], closes: [...closes] },
  }));
}

function formatLines(lines: readonly (Axes | Line)[]): string {
  return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
}

/** Returns the actions as lines of JSON, like the other tables, with the position and length of each action. */
function createActionLines(
  { actions, identifiers }: Pick<MarketData, 'actions' | 'identifiers'>,
  offset: number,
): { readonly text: string; readonly places: Int32Array } {
  const places = new Int32Array(POSITION_WIDTH * actions.length);
  const columns = new Map(identifiers.map((identifier, column) => [identifier, column]));
  const encoder = new TextEncoder();
  let position = offset;
  let place = 0;
  const lines = divideIntoLines(actions, (items) => {
    const texts = items.map((action) => JSON.stringify(action));
    position += ACTIONS_HEAD.length;
    texts.forEach((text, i) => {
      const bytes = encoder.encode(text).length;
      const { exDay, type, identifier } = items[i]!;
      places.set(
        [exDay, type === 'DIVIDEND' ? 1 : 0, position, bytes, columns.get(identifier) ?? -1],
        POSITION_WIDTH * place++,
      );
      position += bytes + 1; // length of a comma or of the closing bracket
    });
    position += 2; // length of the brace and the line break
    return `${ACTIONS_HEAD}${texts.join(',')}]}\n`;
  });
  return { text: lines.join(''), places };
}

const ACTIONS_HEAD = '{"actions":[';
const POSITION_WIDTH = 5;

/**
 * Returns the market of a handle without ordinary dividends with an ex-date on or before a day. This suffices for
 * sessions after a stored market state; see `alignMarket`.
 * @param opened the market without actions, if it is already open
 * @cost parsing the reference table and universes unless `opened` is given; omitted actions are not parsed
 */
export function openMarketSince(handle: MarketHandle, after: number, opened = openWithoutActions(handle)): MarketData {
  return {
    ...opened,
    actions: listActionsSince(handle, after),
    settledTo: after,
    settledCash: hasSettled(handle, after),
  };
}

export function openWithoutActions(handle: MarketHandle): MarketData {
  const bytes = new Uint8Array(handle.tables);
  const places = new Int32Array(handle.actionPlaces);
  const first = places.length === 0 ? bytes.length : places[2]! - ACTIONS_HEAD.length;
  const last = places.length === 0 ? bytes.length : places.at(2 - POSITION_WIDTH)! + places.at(3 - POSITION_WIDTH)! + 3;
  return openMarket({ ...handle, tables: joinParts(bytes.subarray(0, first), bytes.subarray(last)) });
}

/** Returns true if an ordinary dividend has an ex-date on or before a day. */
function hasSettled({ actionPlaces }: MarketHandle, after: number): boolean {
  const places = new Int32Array(actionPlaces);
  for (let p = 0; p < places.length; p += POSITION_WIDTH) if (places[p + 1] === 1 && places[p]! <= after) return true;
  return false;
}

/**
 * Returns the actions of a handle without ordinary dividends with an ex-date on or before a day. @cost parsing the
 * returned actions
 */
export function listActionsSince(handle: MarketHandle, after: number): CorporateAction[] {
  return selectActions(handle, (places, p) => places[p + 1] !== 1 || places[p]! > after);
}

/** Returns all actions of some columns. @cost parsing these actions */
export function listActions(handle: MarketHandle, columns: Int32Array): CorporateAction[] {
  const isRequested = new Uint8Array(1 + columns.reduce((highest, column) => Math.max(highest, column), 0));
  for (const column of columns) isRequested[column] = 1;
  return selectActions(handle, (places, p) => isRequested[places[p + 4]!] === 1);
}

/** Returns the actions that satisfy a condition, parsed as one list. */
function selectActions(handle: MarketHandle, isWanted: (all: Int32Array, p: number) => boolean): CorporateAction[] {
  const bytes = new Uint8Array(handle.tables);
  const places = new Int32Array(handle.actionPlaces);
  const wantedPlaces: number[] = [];
  for (let p = 0; p < places.length; p += POSITION_WIDTH) if (isWanted(places, p)) wantedPlaces.push(p);
  const textBytes = new Uint8Array(wantedPlaces.reduce((sum, p) => sum + places[p + 3]! + 1, 1));
  let position = 0;
  for (const p of wantedPlaces) {
    textBytes[position] = position === 0 ? BRACKET : COMMA;
    textBytes.set(bytes.subarray(places[p + 2]!, places[p + 2]! + places[p + 3]!), position + 1);
    position += places[p + 3]! + 1;
  }
  return wantedPlaces.length === 0
    ? []
    : (JSON.parse(`${decodeUtf8(textBytes.subarray(0, position))}]`) as CorporateAction[]); // in the form that `createActionLines` writes
}

const BRACKET = 91;
const COMMA = 44;

function joinParts(a: Uint8Array, b: Uint8Array): SharedArrayBuffer {
  const joinedBytes = new Uint8Array(new SharedArrayBuffer(a.length + b.length));
  joinedBytes.set(a);
  joinedBytes.set(b, a.length);
  return joinedBytes.buffer;
}

/** Returns lines of securities with their reference rows. A line ends once it has `LINE_ROWS` rows. */
function createSpellLines(reference: MarketData['reference']['rows']): Line[] {
  const lines: Line[] = [];
  let rows: [string, ReferenceRow[]][] = [];
  let heldSpells = 0;
  for (const [identifier, spells] of reference) {
    rows.push([identifier, [...spells]]);
    heldSpells += spells.length;
    if (heldSpells < LINE_ROWS) continue;
    lines.push({ rows });
    rows = [];
    heldSpells = 0;
  }
  return rows.length === 0 ? lines : [...lines, { rows }];
}

function divideIntoLines<T, L>(items: readonly T[], lineOf: (items: T[]) => L): L[] {
  return Array.from({ length: Math.ceil(items.length / LINE_ROWS) }, (_, i) =>
    lineOf(items.slice(i * LINE_ROWS, (i + 1) * LINE_ROWS)),
  );
}

/** Opens the market of a handle. Panels are used in place. @cost parsing the tables: about 1 ms per 10,000 rows. */
export function openMarket(handle: MarketHandle): MarketData {
  const generator = openByLine(handle);
  for (;;) {
    const step = generator.next();
    if (step.done === true) return step.value;
  }
}

/**
 * Opens a market like `openMarket`, in a thread that also has other work. Awaits `rest` after each line of the tables,
 * about `LINE_ROWS` rows, so that the other work can run.
 */
export async function openMarketGently(handle: MarketHandle, rest: () => Promise<void>): Promise<MarketData> {
  const generator = openByLine(handle);
  for (;;) {
    const step = generator.next();
    if (step.done === true) return step.value;
    await rest();
  }
}

function* openByLine(handle: MarketHandle): Generator<void, MarketData> {
  const bytes = new Uint8Array(handle.tables);
  const rows = new Map<string, readonly ReferenceRow[]>();
  const actions: CorporateAction[] = [];
  const universes: Membership[] = [];
  const series = new Map<string, PriceSeries>();
  let axes: Axes | undefined;
  for (let from = 0; from < bytes.length;) {
    const end = bytes.indexOf(NEWLINE, from);
    const to = end < 0 ? bytes.length : end;
    const line = JSON.parse(decodeUtf8(bytes.slice(from, to))) as Axes | Line; // in the form that `shareMarket` writes
    if ('rows' in line) for (const [identifier, spells] of line.rows) rows.set(identifier, spells);
    else if ('actions' in line) for (const action of line.actions) actions.push(action);
    else if ('universes' in line) for (const spell of line.universes) universes.push(spell);
    else if ('series' in line)
      series.set(line.series.identifier, {
        ...line.series,
        days: Int32Array.from(line.series.days),
        closes: Float64Array.from(line.series.closes),
      });
    else axes = line;
    from = to + 1;
    yield;
  }
  const { identifiers, columns } = axes!; // values of the first line
  return {
    ...openPanels(handle, identifiers),
    reference: { columns, rows },
    actions,
    universes,
    ...(series.size === 0 ? {} : { series }),
  };
}

type PanelsOfMarket = Pick<
  MarketData,
  'datasetId' | 'contentHash' | 'adjustment' | 'currency' | 'identifiers' | 'dates' | 'fields'
>;

function openPanels(handle: MarketHandle, identifiers: readonly string[]): PanelsOfMarket {
  const { datasetId, contentHash, adjustment, currency = null } = handle;
  const dates = new Int32Array(handle.dates);
  const cellCount = dates.length * identifiers.length;
  return {
    datasetId,
    contentHash,
    adjustment,
    currency,
    identifiers,
    dates,
    fields: new Map(handle.fields.map(({ name, values }) => [name, new Float64Array(values, 0, cellCount)])),
  };
}

/** Opens a handle whose identifiers and tables are those of an open market. */
export function reopenMarket(
  handle: MarketHandle,
  { identifiers, reference, actions, universes, series }: MarketData,
): MarketData {
  return {
    ...openPanels(handle, identifiers),
    reference,
    actions,
    universes,
    ...(series === undefined ? {} : { series }),
  };
}

/** JSON escapes line breaks inside texts, so a line break ends a line. */
const NEWLINE = 10;

/** Copies values unless they already begin at the start of shared memory; space after them does not matter. */
function copyToSharedMemory(values: Float64Array): SharedArrayBuffer {
  return values.buffer instanceof SharedArrayBuffer && values.byteOffset === 0
    ? values.buffer
    : copyToSharedBytes(values);
}

function copyToSharedBytes(view: Int32Array | Float64Array | Uint8Array): SharedArrayBuffer {
  const isWholeBuffer = view.byteOffset === 0 && view.byteLength === view.buffer.byteLength;
  if (view.buffer instanceof SharedArrayBuffer && isWholeBuffer) return view.buffer;
  const sharedMemory = new SharedArrayBuffer(view.byteLength);
  new Uint8Array(sharedMemory).set(new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
  return sharedMemory;
}

/** Identity of a market: its content, and the declarations of its store. */
export type MarketIdentity = Pick<MarketHandle, 'datasetId' | 'adjustment' | 'currency' | 'contentHash'>;

/** Returns an identity as a key, equal for markets that give equal results. */
export function createMarketKey({ datasetId, adjustment, currency = null, contentHash }: MarketIdentity): string {
  return JSON.stringify([datasetId, adjustment, currency, contentHash]);
}

export function createIdentity({
  datasetId,
  adjustment,
  currency = null,
  contentHash,
}: MarketIdentity): MarketIdentity {
  return { datasetId, adjustment, currency, contentHash };
}
