import { createEffectTable, type EffectTable } from '../../index-mathematics/session-effects.js';
import type { CorporateAction } from '../../market/market-data.js';
import { placeActions } from '../../market/session-actions.js';
import { allocateRetainedFloats } from '#base/memory/retained-memory.js';
import { isEqual } from '../../numbers/number-types.js';
import type { Run } from '../run.js';
import { createIndexTerms } from '../../books/index-run.js';
import type { AppendedSessions, BlockReader, BlockFiller } from './block.js';
import { findPosition } from './security-slots.js';
import type { SessionRange } from './panels.js';

/** Number of elements in a row: security, date, ratio, cash, rights, subscription price. */
export const EFFECT_WIDTH = 6;

/** Layout of rows of corporate-action effects: elements of a row, and selection of the effects that have a row. */
export interface RowLayout {
  readonly width: number;
  has(table: EffectTable, e: number): boolean;
  /**
   * Writes the elements of a row after its security and date.
   * @param offset position of the row
   */
  write(rows: Float64Array, offset: number, table: EffectTable, e: number): void;
}

const EFFECT_LAYOUT: RowLayout = {
  width: EFFECT_WIDTH,
  // Dividends that the whole index reinvests, and adjustments of closes, are in `distributions` and `detachments`.
  has: ({ ratio, cash, rights, special, ordinary, detached }, e) =>
    (special[e] === 0 && ordinary[e] === 0 && detached[e] === 0) || ratio[e] !== 1 || cash[e] !== 0 || rights[e] !== 0,
  write(rows, position, { ratio, cash, rights, subscription }, e) {
    rows[position + 2] = ratio[e]!;
    rows[position + 3] = cash[e]!;
    rows[position + 4] = rights[e]!;
    rows[position + 5] = subscription[e]!;
  },
};

/** Maximum number of bytes of cached rows: 20 years of quarterly dividends of 500 securities are 2 MB. */
const CACHED_BYTES_MAX = 8 * 2 ** 20;

/** Cached rows of the last run on one market and growth terms. */
interface CachedRows extends SessionRange {
  readonly names: Int32Array;
  readonly rows: Float64Array;
}

const rowCache = new WeakMap<EffectTable, CachedRows>();

/**
 * Returns the corporate-action rows of a full run by security, then date. Reuses the rows of the previous run if its
 * securities and sessions are equal.
 */
export function listWholeEffects(
  { portfolio, index }: Pick<Run, 'portfolio' | 'index'>,
  names: Int32Array,
): BlockFiller<Float64Array> {
  const { sm, from, length } = portfolio;
  const table = createEffectTable(sm, createIndexTerms(index.compositions));
  const cachedRows = rowCache.get(table);
  if (
    cachedRows !== undefined &&
    cachedRows.from === from &&
    cachedRows.to === from + length &&
    isEqual(cachedRows.names, names)
  )
    return { length: cachedRows.rows.length, writeTo: (into) => into.set(cachedRows.rows) };
  const result = createEffectRows(table, EFFECT_LAYOUT, {
    names,
    securityCount: sm.securityCount,
    from,
    to: from + length,
  });
  return {
    length: result.length,
    writeTo(into) {
      result.writeTo(into);
      if (8 * result.length > CACHED_BYTES_MAX) return;
      const rows = allocateRetainedFloats(result.length);
      rows.set(into);
      rowCache.set(table, { names, rows, from, to: from + length });
    },
  };
}

export interface WrittenRows extends SessionRange {
  readonly names: Int32Array;
  /** Number of securities of the market. */
  readonly securityCount: number;
}

/** Returns the effects of a table as rows, by security, then date. */
export function createEffectRows(
  table: EffectTable,
  { width, has, write }: RowLayout,
  { names, securityCount, from, to }: WrittenRows,
): BlockFiller<Float64Array> {
  const { columns, starts } = table;
  const positionByColumn = new Int32Array(securityCount).fill(-1);
  names.forEach((column, i) => (positionByColumn[column] = i));
  // counting sort by security; dates are already in order
  const ends = new Int32Array(names.length + 1);
  for (let e = starts[from]!; e < starts[to]!; e++) {
    const position = positionByColumn[columns[e]!]!;
    if (position >= 0 && has(table, e)) ends[position + 1]!++;
  }
  for (let i = 0; i < names.length; i++) ends[i + 1]! += ends[i]!;
  return {
    length: width * ends[names.length]!,
    writeTo(rows) {
      const next = ends.slice();
      for (let session = from; session < to; session++) {
        for (let e = starts[session]!; e < starts[session + 1]!; e++) {
          const securityPosition = positionByColumn[columns[e]!]!;
          if (securityPosition < 0 || !has(table, e)) continue;
          const position = width * next[securityPosition]!++;
          rows[position] = securityPosition;
          rows[position + 1] = session - from;
          write(rows, position, table, e);
        }
      }
    },
  };
}

/** Returns the sessions that the stored run covers. */
export function countSessionsBefore({
  before,
  continuation: { portfolio },
}: Pick<AppendedSessions, 'before' | 'continuation'>): SessionRange {
  return { from: portfolio.from + 1 - before, to: portfolio.from + 1 };
}

/**
 * Returns the rows that an extension appends. Rows of joined securities on earlier sessions come first, by security;
 * the rows of the new sessions follow, by date.
 */
export function listAppendedEffects(
  source: AppendedSessions,
  layout: RowLayout = EFFECT_LAYOUT,
): readonly Float64Array[] {
  const {
    continuation: {
      index,
      portfolio: { from, length },
    },
    names,
    joined,
  } = source;
  const addedRange = { from: from + 1, to: from + length };
  const after = listEffectRows(source, layout, {
    table: createEffectTable(index.sm, createIndexTerms(index)),
    columnsOfRows: names,
    ...addedRange,
  });
  if (joined.length === 0) return [Float64Array.from(after)];
  const table = createTableOfActions(source, source.actionsOf(joined));
  const before = Array.from(joined, (column) =>
    listEffectRows(source, layout, { table, columnsOfRows: Int32Array.of(column), ...countSessionsBefore(source) }),
  );
  return [Float64Array.from(before.flat()), Float64Array.from(after)];
}

/** Returns the effect table of given actions over all sessions. */
function createTableOfActions(
  { continuation: { index } }: AppendedSessions,
  actions: readonly CorporateAction[],
): EffectTable {
  const { sm } = index;
  const market = { ...sm.market, actions };
  const sessionActions = placeActions({ market, sessions: sm.sessions, calendar: sm.calendar, columnOf: sm.columnOf });
  return createEffectTable({ ...sm, market, actions: sessionActions }, createIndexTerms(index));
}

interface EffectRows extends SessionRange {
  readonly table: EffectTable;
  /** Market columns of the securities. */
  readonly columnsOfRows: Int32Array;
}

function listEffectRows(
  source: AppendedSessions,
  layout: RowLayout,
  { table, columnsOfRows, from, to }: EffectRows,
): number[] {
  const { starts, columns } = table;
  const first = countSessionsBefore(source).from;
  const rows: number[] = [];
  const row = new Float64Array(layout.width);
  for (let session = from; session < to; session++) {
    for (let e = starts[session]!; e < starts[session + 1]!; e++) {
      const column = columns[e]!;
      if (findPosition(columnsOfRows, column) < 0 || !layout.has(table, e)) continue;
      row[0] = findPosition(source.names, column);
      row[1] = session - first;
      layout.write(row, 0, table, e);
      rows.push(...row);
    }
  }
  return rows;
}

/** Returns the rows of a stored run by security, then date, as if it had not been extended. */
export function groupEffectsBySecurity(columns: BlockReader): Float64Array {
  return groupRowsBySecurity(columns.f64('effects'), EFFECT_WIDTH);
}

export function groupRowsBySecurity(values: Float64Array, width: number): Float64Array {
  const rows = Array.from({ length: values.length / width }, (_, row) =>
    values.subarray(row * width, (row + 1) * width),
  );
  const sortedValues = new Float64Array(values.length);
  rows.toSorted((a, b) => a[0]! - b[0]! || a[1]! - b[1]!).forEach((row, place) => sortedValues.set(row, place * width));
  return sortedValues;
}
