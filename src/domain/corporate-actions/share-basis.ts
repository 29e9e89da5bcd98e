import type { Day } from '../time/days.js';
import type { TreatmentSpec } from '../documents/index-document.js';
import { ACTION_KINDS } from '../market/market-data.js';
import type { SessionMarket } from '../market/session-market.js';

/**
 * Returns the number of shares on a later day that one share on a session becomes. Uses only splits that were known on
 * that session.
 */
export type FutureSharesReader = (identifier: string, until: Day) => number;

export function computePendingShares(
  { market, sessions }: Pick<SessionMarket, 'market' | 'sessions'>,
  session: number,
  splits: TreatmentSpec['splits'],
): FutureSharesReader {
  if (market.adjustment !== 'none' || splits !== 'apply') return () => 1;
  const day = sessions[session]!;
  const corporateActions = market.actions.filter(
    ({ type, status, exDay, announcedDay }) =>
      ACTION_KINDS[type] === 'ratio' &&
      status !== 'cancelled' &&
      exDay > day &&
      (announcedDay === null || announcedDay <= day),
  );
  return (identifier, until) =>
    corporateActions.reduce(
      (shares, { identifier: actionIdentifier, exDay, value }) =>
        actionIdentifier === identifier && exDay <= until ? shares * value : shares,
      1,
    );
}
