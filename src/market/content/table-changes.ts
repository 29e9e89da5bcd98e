import { formatDay, type Day } from '#domain/time/days.js';
import { compareText } from '#domain/refusals/findings.js';
import type { CorporateAction, Membership, ReferenceTable, ReferenceValue } from '#domain/market/market-data.js';
import type { ContentTables } from './market-content.js';
import type { TableKind } from '../tables/table-kinds.js';
import { createRestatements, type RowCounts, type TableChanges } from './restatements.js';
import { compareSeries } from './series-changes.js';

export type SideTable = Exclude<TableKind, 'market'>;

/** Row of a table, without its key. */
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

/** Tables that are compared row by row. */
type RowTable = Exclude<SideTable, 'series'>;

const ROWS: Record<RowTable, (content: ContentTables) => Rows> = {
  reference: ({ reference }) => listReferenceRows(reference),
  corporate_actions: ({ actions }) => listActionRows(actions),
  universes: ({ universes }) => listMembershipRows(universes),
};

export interface StoredBars {
  /** Securities with bars. */
  readonly identifiers: readonly string[];
  /** Last day with a bar. */
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
