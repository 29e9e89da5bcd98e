import type { SessionMarket } from './session-market.js';

/**
 * Returns true if a security has ended by the close of a session, or leaves the index at this close because it has no
 * price.
 */
export function hasLeftMarket(
  sm: Pick<SessionMarket, 'hasEnded' | 'isSilent'>,
  session: number,
  column: number,
  maxStaleSessions: number,
): boolean {
  return sm.hasEnded(session, column) || sm.isSilent(session, column, maxStaleSessions);
}
