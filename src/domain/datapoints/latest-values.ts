import { readPanelRow, type SessionMarket } from '../market/session-market.js';
import type { Series } from './series.js';

interface LatestInput {
  readonly sm: SessionMarket;
  readonly series: Series;
  readonly end: number;
  readonly columns: Int32Array;
  readonly maxStaleSessions: number;
  /**
   * Maximum number of sessions for which the latest bar prices a suspended constituent. Default: as for other
   * securities.
   */
  readonly suspendedSessions?: number | undefined;
  /** Converts an earlier close to the share basis of the session. */
  readonly rebase: boolean;
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
function findCarriedValue({ rebase, ...latest }: LatestInput, column: number): number {
  const { sm, series, end } = latest;
  const session = findLatestSession({ ...latest, column });
  if (session < 0) return NaN;
  const cell = new Float64Array(1);
  series.fill(session, Int32Array.of(column), cell);
  return rebase ? cell[0]! * computeBasisRatio(sm, { session, end, column }) : cell[0]!;
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
  maxStaleSessions,
  suspendedSessions = maxStaleSessions,
}: Omit<LatestInput, 'columns' | 'rebase'> & { readonly column: number }): number {
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

/** Returns the ratio of two forms of a carried close: on the share basis of `end`, and as traded on `session`. */
function computeBasisRatio(
  sm: SessionMarket,
  { session, end, column }: { readonly session: number; readonly end: number; readonly column: number },
): number {
  return sm.carriedClose(end, column) / sm.closeAt(session, column);
}
