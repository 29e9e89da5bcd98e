import type { TreatmentSpec } from '../documents/index-document.js';
import { readPriceSessions, countStaleSessions } from '../documents/stale-sessions.js';
import { hasLeftMarket } from '../market/left-securities.js';
import type { SessionMarket } from '../market/session-market.js';

interface SuspendedInput {
  readonly session: number;
  readonly universe: Int32Array;
  readonly incumbents: ArrayLike<number> | null;
  readonly treatment: TreatmentSpec;
  readonly members: ((session: number) => Uint8Array) | undefined;
}

/**
 * Adds suspended constituents to a universe. They are selected and weighted at their last prices. Other securities
 * without a price cannot be selected.
 * @returns the universe itself if no constituent is suspended
 */
export function addSuspended(
  sm: SessionMarket,
  { session, universe, incumbents, treatment, members }: SuspendedInput,
): Int32Array {
  const [stale, entry] = [countStaleSessions(treatment), readPriceSessions(treatment)];
  if (incumbents === null || members === undefined || stale <= entry) return universe;
  const isSuspended = (column: number): boolean =>
    sm.isSilent(session, column, entry) && !hasLeftMarket(sm, session, column, stale);
  const suspendedColumns: number[] = [];
  for (let k = 0; k < incumbents.length; k++) if (isSuspended(incumbents[k]!)) suspendedColumns.push(incumbents[k]!);
  if (suspendedColumns.length === 0) return universe;
  const isMember = members(session);
  const stayingColumns = suspendedColumns.filter((column) => isMember[column] === 1 && !universe.includes(column));
  return stayingColumns.length === 0 ? universe : Int32Array.from([...universe, ...stayingColumns]).toSorted();
}
