import type { Day } from '../time/days.js';
import { findFirstAtLeast, findLastAtMost } from '../numbers/search.js';
import type { MarketData, ReferenceTable } from './market-data.js';

/** Part of a market to retain. */
export interface Narrowing {
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
