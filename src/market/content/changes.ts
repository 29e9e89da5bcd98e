import { compareText } from '#domain/base/findings.js';
import { type Day, formatDay } from '#domain/base/time.js';
import type {
  CorporateAction,
  Membership,
  PriceSeries,
  ReferenceTable,
  ReferenceValue,
  SeriesTable,
} from '#domain/market/market-data.js';
import type { Panels } from '../panels/panels.js';
import type { TableKind } from '../tables/table-kinds.js';
import type { ContentTables, MarketContent } from './market-content.js';

/** Value that the source has changed. A missing value is null. */
export interface Restatement {
  readonly dataset: TableKind;
  readonly identifier: string;
  /** Null for a value that has always applied. */
  readonly date: string | null;
  readonly column: string;
  readonly before: ReferenceValue;
  readonly after: ReferenceValue;
}

export interface RowCounts {
  readonly added: number;
  readonly changed: number;
  readonly removed: number;
}

interface RestatedValues {
  /** The first 1,000 restatements. */
  readonly restatements: readonly Restatement[];
  readonly total: number;
}

type RowChanges = RowCounts & RestatedValues;

/** Maximum number of listed restatements; the remaining ones are counted. */
export const RESTATEMENTS_MAX = 1000;

/** Collects changed values. Stores only the first ones and counts the others. */
function createRestatements(): { add(make: () => Restatement): void; listRestatements(): RestatedValues } {
  const restatements: Restatement[] = [];
  let total = 0;
  return {
    add(make) {
      total += 1;
      if (restatements.length < RESTATEMENTS_MAX) restatements.push(make());
    },
    listRestatements: () => ({ restatements, total }),
  };
}

/** Differences between two versions of a table. */
export interface TableChanges extends RowChanges {
  /** Counts of rows about days up to the last stored day. */
  readonly history: RowCounts;
}

/** Differences between two versions of the bars. */
export interface MarketChanges extends RowChanges {
  /** New securities with bars, in code-point order. */
  readonly gained: readonly string[];
}

interface ComparedColumns {
  /** Columns to compare. Default: all columns of both versions. */
  readonly columns?: readonly string[];
  /** Last day to compare. Default: all days are compared. */
  readonly to?: Day;
  /** Last day of new bars whose values are reported as well. Default: no values of new bars are reported. */
  readonly lateTo?: Day;
}

/**
 * Compares the bars of two versions. A bar without a value in any compared column counts as absent.
 * @cost one pass over the cells of both, except for the leading days that share memory
 */
export function compareBars(
  before: Panels,
  after: Panels,
  { columns: comparedColumns, to = Infinity, lateTo = -Infinity }: ComparedColumns = {},
): MarketChanges {
  const names = (comparedColumns ?? [...new Set([...before.fields.keys(), ...after.fields.keys()])]).toSorted(
    compareText,
  );
  const identifiers = [...new Set([...before.identifiers, ...after.identifiers])].sort(compareText);
  const [old, now] = [createSide(before, identifiers, names), createSide(after, identifiers, names)];
  const restatements = createRestatements();
  const gainedColumns = new Set<string>();
  const counts = { added: 0, changed: 0, removed: 0 };
  const reportCells = (day: Day, i: number, [was, is]: readonly [number, number]): boolean => {
    let isChanged = false;
    for (let f = 0; f < names.length; f++) {
      const [x, y] = [old.valueAt(f, was), now.valueAt(f, is)];
      if (x === y || (x !== x && y !== y)) continue;
      isChanged = true;
      restatements.add(() => ({
        dataset: 'market',
        identifier: identifiers[i]!,
        date: formatDay(day),
        column: names[f]!,
        before: x === x ? x : null,
        after: y === y ? y : null,
      }));
    }
    return isChanged;
  };
  const [oldDays, nowDays] = listUnsharedDays(before, after, names);
  for (const day of [...new Set([...oldDays, ...nowDays])].sort((a, b) => a - b)) {
    if (day > to) break;
    for (let i = 0; i < identifiers.length; i++) {
      const [was, is] = [old.cellOf(day, i), now.cellOf(day, i)];
      const isHeld = now.holdsAny(is);
      if (!old.holdsAny(was)) {
        if (!isHeld) continue;
        counts.added += 1;
        gainedColumns.add(identifiers[i]!);
        if (day <= lateTo) reportCells(day, i, [was, is]);
        continue;
      }
      const isChanged = reportCells(day, i, [was, is]);
      if (!isHeld) counts.removed += 1;
      else if (isChanged) counts.changed += 1;
    }
  }
  return { ...counts, gained: [...gainedColumns].toSorted(compareText), ...restatements.listRestatements() };
}

/**
 * Returns the days of each version after their common beginning. The bars of the common beginning are in the same
 * memory and therefore equal.
 */
function listUnsharedDays(
  before: Panels,
  after: Panels,
  names: readonly string[],
): readonly [readonly Day[], readonly Day[]] {
  const [old, now] = [[...before.dates], [...after.dates]];
  const isShared = names.every((name) => {
    const [was, is] = [before.fields.get(name), after.fields.get(name)];
    return was?.buffer === is?.buffer && was?.byteOffset === is?.byteOffset;
  });
  const hasSameColumns =
    before.identifiers.length === after.identifiers.length &&
    before.identifiers.every((identifier, n) => identifier === after.identifiers[n]);
  if (!isShared || !hasSameColumns) return [old, now];
  const count = old.findIndex((day, t) => day !== now[t]);
  const sharedCount = count < 0 ? old.length : count;
  return [old.slice(sharedCount), now.slice(sharedCount)];
}

/**
 * Returns functions that read one version on the combined axes of both. Cells of missing days and securities are -1.
 */
function createSide(panels: Panels, identifiers: readonly string[], names: readonly string[]) {
  const width = panels.identifiers.length;
  const rowByDay = new Map([...panels.dates].map((day, t) => [day, t]));
  const columnByIdentifier = new Map(panels.identifiers.map((identifier, n) => [identifier, n]));
  const columns = Int32Array.from(identifiers, (identifier) => columnByIdentifier.get(identifier) ?? -1);
  const fields = names.map((name) => panels.fields.get(name));
  return {
    cellOf: (day: Day, i: number): number => {
      const t = rowByDay.get(day);
      return t === undefined || columns[i]! < 0 ? -1 : t * width + columns[i]!;
    },
    valueAt: (f: number, cell: number): number => (cell < 0 ? Number.NaN : (fields[f]?.[cell] ?? Number.NaN)),
    holdsAny: (cell: number): boolean => hasAnyValue(fields, cell),
  };
}

/** Returns true if any field has a value in a cell. Returns false if the cell does not exist. */
export function hasAnyValue(panels: readonly (Float64Array | undefined)[], cell: number): boolean {
  if (cell < 0) return false;
  for (let f = 0; f < panels.length; f++) {
    const value = panels[f]?.[cell];
    if (value !== undefined && value === value) return true;
  }
  return false;
}

/** Returns columns that only the later version has. They must have values up to a day. */
export function findNewColumns(before: Panels, after: Panels, to: Day): string[] {
  const rows = after.dates.reduce((count, day) => (day <= to ? count + 1 : count), 0);
  return [...after.fields]
    .flatMap(([name, panel]) =>
      before.fields.has(name) || !hasValue(panel.subarray(0, rows * after.identifiers.length)) ? [] : [name],
    )
    .toSorted(compareText);
}

function hasValue(panel: Float64Array): boolean {
  for (let cell = 0; cell < panel.length; cell++) if (panel[cell] === panel[cell]) return true;
  return false;
}

/**
 * Compares two versions of the series. Values after the last day of a series are not part of its history, and neither
 * are the values of a new series.
 * @param isLiteral true to report late values as well, for days up to the last stored one
 * @cost one pass over the values of both
 */
function compareSeries(
  before: SeriesTable | undefined,
  after: SeriesTable | undefined,
  isLiteral: boolean,
): TableChanges {
  const restatements = createRestatements();
  const counts = { added: 0, changed: 0, removed: 0 };
  const history = { added: 0, changed: 0, removed: 0 };
  const addRestatement = (
    identifier: string,
    date: string | null,
    column: string,
    [was, is]: readonly [string | number | null, string | number | null],
  ) => restatements.add(() => ({ dataset: 'series', identifier, date, column, before: was, after: is }));

  for (const identifier of [...new Set([...(before?.keys() ?? []), ...(after?.keys() ?? [])])].toSorted(compareText)) {
    const [old, now] = [before?.get(identifier), after?.get(identifier)];
    const lastHeld = old?.days.at(-1) ?? -Infinity;
    for (const [column, was, is] of listAttributes(old, now)) {
      addRestatement(identifier, null, column, [was, is]);
      counts.changed += 1;
      history.changed += 1;
    }
    for (const { day, was, is } of iterateDifferences(old, now)) {
      const kind = was !== was ? 'added' : is !== is ? 'removed' : 'changed';
      counts[kind] += 1;
      if (day <= lastHeld) history[kind] += 1;
      if (kind !== 'added' || (isLiteral && day <= lastHeld))
        addRestatement(identifier, formatDay(day), 'CLOSE', [was === was ? was : null, is === is ? is : null]);
    }
  }
  return { ...counts, history, ...restatements.listRestatements() };
}

/** Returns the attributes of a series that differ between two versions. */
function listAttributes(
  old: PriceSeries | undefined,
  newSeries: PriceSeries | undefined,
): (readonly [string, string | null, string | null])[] {
  if (old === undefined || newSeries === undefined) return [];
  return (
    [
      ['CURRENCY', old.currency, newSeries.currency],
      ['NAME', old.name, newSeries.name],
    ] as const
  ).filter(([, was, is]) => was !== is);
}

/** Yields the days on which two versions of a series differ, ascending. A missing value is NaN. */
function* iterateDifferences(
  old: PriceSeries | undefined,
  newSeries: PriceSeries | undefined,
): Generator<{ readonly day: number; readonly was: number; readonly is: number }> {
  const [oldDays, nowDays] = [old?.days ?? [], newSeries?.days ?? []];
  for (let i = 0, k = 0; i < oldDays.length || k < nowDays.length;) {
    const day = Math.min(oldDays[i] ?? Infinity, nowDays[k] ?? Infinity);
    const oldClose = oldDays[i] === day ? old!.closes[i++]! : Number.NaN; // this version has the day
    const newClose = nowDays[k] === day ? newSeries!.closes[k++]! : Number.NaN; // this version has the day
    if (oldClose !== newClose) yield { day, was: oldClose, is: newClose };
  }
}

export type SideTable = Exclude<TableKind, 'market'>;

interface TableRow {
  readonly identifier: string;
  /** First day on which the row applies. It is null if the row has always applied. */
  readonly day: Day | null;
  /**
   * Day from which the row no longer applies, if any. If a row was continued, its two versions differ only in this day.
   */
  readonly end?: number;
  /** Values by column. A column without a value is omitted. */
  readonly values: ReadonlyMap<string, ReferenceValue>;
}

/** Rows by key. Two versions of a row have the same key. */
type Rows = ReadonlyMap<string, readonly TableRow[]>;

type RowTable = Exclude<SideTable, 'series'>;

const ROWS: Record<RowTable, (content: ContentTables) => Rows> = {
  reference: ({ reference }) => listReferenceRows(reference),
  corporate_actions: ({ actions }) => listActionRows(actions),
  universes: ({ universes }) => listMembershipRows(universes),
};

interface StoredBars {
  readonly identifiers: readonly string[];
  readonly lastDay: Day;
  /** True to report later events as ordinary changes. The values of late rows are then reported too. */
  readonly isLiteral?: true;
}

/**
 * Compares two versions of the tables. Rows about a security without any stored bar do not count as history.
 * @cost a few microseconds per row of both
 */
export function compareTables(
  before: ContentTables,
  after: ContentTables,
  storedBars: StoredBars,
): Record<SideTable, TableChanges> {
  const names = new Set(storedBars.identifiers);
  const isLiteral = storedBars.isLiteral === true;
  const rules: Rules = {
    isHistory: (rows) => names.has(rows[0]!.identifier) && findFirstDay(rows) <= storedBars.lastDay,
    isTold: (is) => isLiteral && findFirstDay([is]) <= storedBars.lastDay,
    isContinued: (was, is) =>
      !isLiteral &&
      ((was.end === Infinity && is.end !== undefined && is.end > storedBars.lastDay) || isPaidSince(was, is)),
  };
  const getChanges = (table: RowTable): TableChanges =>
    compareRows(table, ROWS[table](before), ROWS[table](after), rules);
  return {
    reference: before.reference === after.reference ? NO_CHANGES : getChanges('reference'),
    corporate_actions: before.actions === after.actions ? NO_CHANGES : getChanges('corporate_actions'),
    universes: before.universes === after.universes ? NO_CHANGES : getChanges('universes'),
    series: before.series === after.series ? NO_CHANGES : compareSeries(before.series, after.series, isLiteral),
  };
}

const NO_CHANGES: TableChanges = {
  added: 0,
  changed: 0,
  removed: 0,
  history: { added: 0, changed: 0, removed: 0 },
  restatements: [],
  total: 0,
};

/** Returns true if two versions of an action differ only in its status, which changed from announced to paid. */
function isPaidSince(was: TableRow, is: TableRow): boolean {
  const columns = [...new Set([...was.values.keys(), ...is.values.keys()])].filter(
    (column) => was.values.get(column) !== is.values.get(column),
  );
  return (
    columns.length === 1 &&
    columns[0]!.endsWith('.status') &&
    was.values.get(columns[0]!) === 'announced' &&
    is.values.get(columns[0]!) === 'paid'
  );
}

interface Rules {
  /** Returns true if a row, or either of its two versions, applies to stored days. */
  isHistory(rows: readonly TableRow[]): boolean;
  /**
   * Returns true if a row differs only by later events. An open membership has ended, or an announced action is paid.
   */
  isContinued(was: TableRow, is: TableRow): boolean;
  /** Returns true if the values of a new row are reported. */
  isTold(is: TableRow): boolean;
}

function compareRows(table: RowTable, before: Rows, after: Rows, rules: Rules): TableChanges {
  const restatements = createRestatements();
  const counts = { added: 0, changed: 0, removed: 0 };
  const history = { added: 0, changed: 0, removed: 0 };
  const addCount = (what: keyof RowCounts, rows: readonly TableRow[]) => {
    counts[what] += 1;
    if (rules.isHistory(rows)) history[what] += 1;
  };
  const addRestatement = (was: TableRow | undefined, is: TableRow | undefined) => {
    const { identifier, day } = was ?? is!; // at least one of them is defined
    for (const column of new Set([...(was?.values.keys() ?? []), ...(is?.values.keys() ?? [])])) {
      const [x, y] = [was?.values.get(column) ?? null, is?.values.get(column) ?? null];
      if (x !== y)
        restatements.add(() => ({
          dataset: table,
          identifier,
          date: day === null ? null : formatDay(day),
          column,
          before: x,
          after: y,
        }));
    }
  };
  for (const key of [...new Set([...before.keys(), ...after.keys()])].toSorted(compareText)) {
    const [old, now] = findUnequalRows(before.get(key) ?? [], after.get(key) ?? []);
    for (const is of now.slice(old.length)) {
      addCount('added', [is]);
      if (rules.isTold(is)) addRestatement(undefined, is);
    }
    old.forEach((was, i) => {
      const newRow = now[i];
      if (newRow !== undefined && rules.isContinued(was, newRow)) counts.added += 1;
      else {
        addCount(newRow === undefined ? 'removed' : 'changed', newRow === undefined ? [was] : [was, newRow]);
        addRestatement(was, newRow);
      }
    });
  }
  return { ...counts, history, ...restatements.listRestatements() };
}

/** Returns the first day on which two versions of a row differ, or on which an added or removed row applies. */
function findFirstDay(rows: readonly TableRow[]): number {
  const endDays = rows.flatMap(({ end }) => end ?? []);
  return rows.length === 2 && endDays.length === 2 ? Math.min(...endDays) : (rows[0]!.day ?? -Infinity);
}

/** Returns the rows of one key that only one of the versions has. Their order is kept. */
function findUnequalRows(before: readonly TableRow[], after: readonly TableRow[]): [TableRow[], TableRow[]] {
  const formatText = ({ values }: TableRow): string =>
    JSON.stringify([...values].toSorted(([a], [b]) => compareText(a, b)));
  const unmatchedRows = after.map((row) => ({ row, text: formatText(row) }));
  const removedRows = before.filter((row) => {
    const position = unmatchedRows.findIndex(({ text }) => text === formatText(row));
    if (position >= 0) unmatchedRows.splice(position, 1);
    return position < 0;
  });
  return [removedRows, unmatchedRows.map(({ row }) => row)];
}

function listReferenceRows({ columns, rows }: ReferenceTable): Rows {
  return groupByKey(
    [...rows].flatMap(([identifier, spells]) =>
      spells.map(({ validFrom, values }) => ({
        key: JSON.stringify([identifier, validFrom]),
        row: { identifier, day: validFrom, values: getValues(columns.map((column, i) => [column, values[i] ?? null])) },
      })),
    ),
  );
}

/** Groups actions by security, type, ex-date and related security. A corrected dividend keeps these. */
function listActionRows(actions: readonly CorporateAction[]): Rows {
  return groupByKey(
    actions.map((action) => {
      const { identifier, type, exDay, related } = action;
      const key = JSON.stringify([identifier, type, exDay, related]);
      return { key, row: { identifier, day: exDay, values: getValues(listTerms(action)) } };
    }),
  );
}

function listTerms(action: CorporateAction): [string, ReferenceValue][] {
  const { type, payDay, status, announcedDay, related, subscriptionPrice } = action;
  const value = action.isUnpriced ? null : action.value;
  const { cash = null, scripRatio = null, electionDay = null, electionDefault = null } = action;
  const formatDate = (day: number | null): string | null => (day === null ? null : formatDay(day));
  return [
    [`${type}.value`, value],
    [`${type}.pay_date`, formatDate(payDay)],
    [`${type}.status`, status],
    [`${type}.announced`, formatDate(announcedDay)],
    [`${type}.related`, related],
    [`${type}.subscription_price`, subscriptionPrice],
    [`${type}.cash`, cash],
    [`${type}.scrip_ratio`, scripRatio],
    [`${type}.election_date`, formatDate(electionDay)],
    [`${type}.election_default`, electionDefault],
  ];
}

function listMembershipRows(universes: readonly Membership[]): Rows {
  return groupByKey(
    universes.map(({ universe, identifier, start, end }) => ({
      key: JSON.stringify([universe, identifier, start]),
      row: {
        identifier,
        day: start,
        end: end ?? Infinity,
        values: getValues([
          [`${universe}.start`, start === null ? 'always' : formatDay(start)],
          [`${universe}.end`, end === null ? null : formatDay(end)],
        ]),
      },
    })),
  );
}

const getValues = (cells: readonly (readonly [string, ReferenceValue])[]): ReadonlyMap<string, ReferenceValue> =>
  new Map(cells.filter(([, value]) => value !== null));

function groupByKey(rows: readonly { readonly key: string; readonly row: TableRow }[]): Rows {
  const groups = new Map<string, TableRow[]>();
  for (const { key, row } of rows) {
    const tableRows = groups.get(key);
    if (tableRows === undefined) groups.set(key, [row]);
    else tableRows.push(row);
  }
  return groups;
}

/** Counts of changed rows of all tables, with a separate count for bars. */
export interface ChangeCounts extends RowCounts {
  readonly bars: RowCounts;
}

/**
 * Returns the differences between two contents, table by table. A row or value counts if it differs or is missing in
 * one of them.
 * @cost one pass over the cells of both that do not share memory, a few microseconds per row of the tables
 */
function countTableChanges(before: MarketContent, after: MarketContent): Record<TableKind, RowChanges> {
  const lastDay = before.dates.at(-1) ?? -Infinity;
  const tables: Record<SideTable, RowChanges> = compareTables(before, after, {
    identifiers: before.identifiers,
    lastDay,
    isLiteral: true,
  });
  return { market: compareBars(before, after, { lateTo: lastDay }), ...tables };
}

/** Counts the rows added, removed and changed between two contents. @cost equal to that of `countTableChanges` */
export function changeCounts(before: MarketContent, after: MarketContent): ChangeCounts {
  const changes = countTableChanges(before, after);
  return { ...sumCounts(Object.values(changes)), bars: createCounts(changes.market) };
}

function sumCounts(tables: readonly RowCounts[]): RowCounts {
  const sumMember = (member: keyof RowCounts): number => tables.reduce((sum, counts) => sum + counts[member], 0);
  return { added: sumMember('added'), changed: sumMember('changed'), removed: sumMember('removed') };
}

const createCounts = ({ added, changed, removed }: RowCounts): RowCounts => ({ added, changed, removed });

/** Value that differs between two contents; null for a missing value. */
interface CellDifference {
  readonly table: string;
  readonly identifier: string;
  /** Date of the value, YYYY-MM-DD. It is null for a value that has always applied. */
  readonly date: string | null;
  readonly field: string;
  readonly before: ReferenceValue;
  readonly after: ReferenceValue;
}

export interface DataDifference {
  /** Number of differing values up to the last day of the first content. */
  readonly cells: number;
  readonly rows: RowCounts;
  /** First differing values. On request, values of appended bars follow. */
  readonly changes: readonly CellDifference[];
  /** True if there are more differences than the limit. */
  readonly isCut: boolean;
  /** Bars that the second content has after the last session of the first one. Null if it has no later sessions. */
  readonly appended: AppendedBars | null;
}

/** Bars after the last session of the first content. */
interface AppendedBars {
  readonly sessions: number;
  readonly rows: number;
  /** First and last session, YYYY-MM-DD. */
  readonly start: string;
  readonly end: string;
}

interface DifferenceTerms {
  /** Maximum number of listed values. */
  readonly limit: number;
  /** True to list values of appended bars as well. */
  readonly isAppendedListed: boolean;
}

/**
 * Returns the differences between two contents.
 * @cost equal to that of `countTableChanges`
 */
export function computeDifference(
  before: MarketContent,
  after: MarketContent,
  { limit, isAppendedListed }: DifferenceTerms,
): DataDifference {
  const tableCounts = Object.values(countTableChanges(before, after));
  const changes = tableCounts
    .flatMap(({ restatements }) => restatements)
    .slice(0, limit)
    .map(({ dataset, column, ...cell }) => ({
      table: dataset,
      identifier: cell.identifier,
      date: cell.date,
      field: column,
      before: cell.before,
      after: cell.after,
    }));
  const cells = tableCounts.reduce((sum, { total }) => sum + total, 0);
  // Requests one difference more than the limit. The additional one shows that there are further differences.
  const list = isAppendedListed
    ? [...changes, ...listAppendedCells(before, after, limit - changes.length + 1)]
    : changes;
  return {
    cells,
    rows: sumCounts(tableCounts),
    changes: list.slice(0, limit),
    isCut: cells > changes.length || list.length > limit,
    appended: findAppendedBars(before, after),
  };
}

function findFirstAfter(before: MarketContent, { dates }: MarketContent): number {
  const last = before.dates.at(-1) ?? -Infinity;
  const firstRow = dates.findIndex((day) => day > last);
  return firstRow < 0 ? dates.length : firstRow;
}

function findAppendedBars(before: MarketContent, after: MarketContent): AppendedBars | null {
  const first = findFirstAfter(before, after);
  const { dates, identifiers } = after;
  if (first === dates.length) return null;
  const closes = after.fields.get('CLOSE')!.subarray(first * identifiers.length);
  return {
    sessions: dates.length - first,
    rows: closes.reduce((count, close) => (Number.isNaN(close) ? count : count + 1), 0),
    start: formatDay(dates[first]!),
    end: formatDay(dates.at(-1)!),
  };
}

/** Returns the values of appended bars, by session and security. */
function listAppendedCells(before: MarketContent, after: MarketContent, limit: number): CellDifference[] {
  const cells: CellDifference[] = [];
  const { dates, identifiers, fields } = after;
  for (let t = findFirstAfter(before, after); t < dates.length; t++)
    for (const [n, identifier] of identifiers.entries())
      for (const [field, values] of fields) {
        if (cells.length >= limit) return cells;
        const value = values[t * identifiers.length + n]!;
        if (!Number.isNaN(value))
          cells.push({ table: 'market', identifier, date: formatDay(dates[t]!), field, before: null, after: value });
      }
  return cells;
}
