import { dayFrom } from '../time/days.js';
import type { IndexDocument } from '../documents/index-document.js';
import type { SessionMarket } from '../market/session-market.js';
import { Refusal } from '../refusals/refusal.js';
import { rebalanceDates } from '../schedule/schedule.js';
import { firstAtLeast } from '../numbers/search.js';
import type { RebalanceCause } from '../schedule/rebalance-causes.js';
import { changesMembers } from '../documents/events-spec.js';
import { ruleOf } from './breach-rebalances.js';
import type { Composer } from './compositions.js';

/**
 * What calls for a rebalance that is decided on a session; null where none is, or where the index cannot be run up to
 * it.
 * @param composer of everything up to the session, and nothing after it
 * @cost of the schedule; where breaches call for rebalances, of the index up to the session
 */
export function causeOn(composer: Composer, indexId: string, session: number): RebalanceCause | null {
  const document = composer.document(indexId);
  const sm = composer.market(indexId);
  if (isScheduled(document, sm, session)) return 'schedule';
  const isWatched = ruleOf(composer, indexId) !== null || changesMembers(document.events);
  if (!isWatched || sm.sessions[session]! < dayFrom(document.base_date)) return null;
  try {
    const { list, called } = composer.compositions(indexId);
    const own = list.find(({ cause, decision }) => cause !== undefined && decision === session)?.cause;
    return own ?? (called?.session === session ? 'breach' : null);
  } catch (thrown) {
    if (thrown instanceof Refusal) return null;
    throw thrown;
  }
}

/** Whether the schedule has a rebalance that is decided on a session. */
function isScheduled({ rebalance, base_date }: IndexDocument, sm: SessionMarket, session: number): boolean {
  const { calendar } = sm;
  const day = sm.sessions[session]!;
  const at = firstAtLeast(calendar.sessions, day);
  const to = calendar.sessions[Math.min(at + rebalance.effective_lag, calendar.sessions.length - 1)]!;
  return rebalanceDates({ rebalance, calendar, baseDay: dayFrom(base_date), from: day, to }).some(
    ({ decision }) => decision === day,
  );
}
