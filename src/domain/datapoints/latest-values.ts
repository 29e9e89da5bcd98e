import { readPanelRow, type SessionMarket } from '../market/session-market.js';
import type { Series, SeriesTerms } from './series.js';
import type { ValuedKind } from './valuation.js';

interface LatestInput {
  readonly sm: SessionMarket;
  /**
   * Maximum number of sessions for which the latest bar prices a security, and a suspended constituent, and the values of
   * suspended securities.
   */
  readonly terms: Pick<SeriesTerms, 'maxStaleSessions' | 'suspendedSessions' | 'valuation'>;
  readonly series: Series;
  readonly end: number;
  readonly columns: Int32Array;
  /** Kind of a value that corporate actions change; null for other values. */
  readonly valued: ValuedKind | null;
  /** True if values are in index currency. */
  readonly isConverted: boolean;
}

/**
 * Returns the latest value of each security on or before a session. A value that is too old to price the security is
 * missing.
 */
export function computeLatestValues(latest: LatestInput): Float64Array {
  const values = new Float64Array(latest.columns.length);
  writeLatestValues(values, latest);
  return values;
}

/** Writes the latest values to memory of the caller, [n]. */
export function writeLatestValues(values: Float64Array, latest: LatestInput): void {
  const { series, end, columns } = latest;
  series.fill(end, columns, values);
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value !== value) values[i] = findCarriedValue(latest, columns[i]!);
  }
}

/** Returns the latest value of a security that has none on the session. Returns NaN if no value is valid. */
function findCarriedValue(latest: LatestInput, column: number): number {
  const { sm, series, end, valued, isConverted } = latest;
  const session = findLatestSession({ ...latest, column });
  if (session < 0) return NaN;
  const cell = new Float64Array(1);
  series.fill(session, Int32Array.of(column), cell);
  // The value of a suspended security changes with its actions and its exchange rate, as in a level.
  const isSuspended = sm.lastBar[readPanelRow(sm, end) + column] !== end;
  if (valued === null || !isSuspended) return cell[0]!;
  return valued === 'yield'
    ? latest.terms.valuation().yieldAt(end, column)
    : cell[0]! * latest.terms.valuation().ratio({ kind: valued, column, from: session, to: end, isConverted });
}

/**
 * Returns the session of the latest valid value. Returns -1 if there is none. A value is valid within a maximum age. It
 * is also valid if it belongs to the latest bar and this bar still prices the security, whose exchange may have been
 * closed for longer.
 */
export function findLatestSession({
  sm,
  series,
  end,
  column,
  terms: { maxStaleSessions, suspendedSessions = maxStaleSessions },
}: Pick<LatestInput, 'sm' | 'series' | 'end' | 'terms'> & { readonly column: number }): number {
  const singleColumn = Int32Array.of(column);
  const cell = new Float64Array(1);
  const hasValue = (session: number): boolean => {
    series.fill(session, singleColumn, cell);
    return !Number.isNaN(cell[0]!);
  };
  for (let session = end; session >= Math.max(0, end - maxStaleSessions); session--)
    if (hasValue(session)) return session;
  const bar = sm.lastBar[readPanelRow(sm, end) + column]!;
  return bar >= 0 && sm.barAge(end, column) <= suspendedSessions && hasValue(bar) ? bar : -1;
}
