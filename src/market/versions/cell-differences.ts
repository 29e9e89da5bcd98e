import { formatDay } from '#domain/time/days.js';
import type { ReferenceValue } from '#domain/market/market-data.js';
import type { MarketContent } from '../content/market-content.js';
import type { RowCounts } from '../content/restatements.js';
import { countTableChanges, sumCounts } from './change-counts.js';

/** Value that differs between two contents; null for a missing value. */
export interface CellDifference {
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
export interface AppendedBars {
  readonly sessions: number;
  readonly rows: number;
  /** First and last session, YYYY-MM-DD. */
  readonly start: string;
  readonly end: string;
}

export interface DifferenceTerms {
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

/** Returns the position of the first session after those of a content. */
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
