import { listTexts, type IndexText } from '../documents/amended-texts.js';
import type { IndexDocument } from '../documents/index-document.js';
import { listReviews } from '../documents/reviews.js';
import type { SessionMarket } from '../market/session-market.js';
import { findFirstAtLeast } from '../numbers/search.js';
import { listRebalanceDates, type RebalanceDate } from '../schedule/schedule.js';
import { parseValidDay } from '../time/days.js';
import { listDueAfter, listDueCloses, listDueRebalances, type DueRebalance, type DueSpan } from './due-rebalances.js';

/** Returns the rebalances of an index, each under the version of the definition in force on its date. */
export function listDueUnderTexts(
  document: IndexDocument,
  sm: SessionMarket,
  { first, last }: Pick<DueSpan, 'first' | 'last'>,
): DueRebalance[] {
  if (listTexts(document).length === 1) return listDueRebalances(document, sm, { first, last });
  const begin = listDueRebalances(document, sm, { first, last: first });
  return [...begin, ...listDueAfterUnderTexts(document, sm, { first, after: first, last })];
}

/** Returns the rebalances due after a session under each version of the definition. */
export function listDueAfterUnderTexts(document: IndexDocument, sm: SessionMarket, span: DueSpan): DueRebalance[] {
  const texts = listTexts(document);
  if (texts.length === 1) return listDueAfter(document, sm, span);
  const due = texts.flatMap((text, k) => {
    const endDay = texts[k + 1]?.from ?? Infinity;
    const isOfText = ({ date, phase }: DatedClose): boolean =>
      (phase?.start ?? date) >= text.from && (phase?.start ?? date) < endDay;
    const textRebalances = listDueAfter(text.document, sm, span).filter(isOfText);
    return [...listImmediateRebalances(text, sm, { ...span, isOfText }), ...textRebalances].map((rebalance) =>
      k === 0 ? rebalance : { ...rebalance, amendment: k },
    );
  });
  return listLastOfTexts(due.toSorted((a, b) => a.session - b.session || a.date - b.date));
}

/**
 * Keeps only the closes of the latest version if several versions have a close on one session. A review of the new
 * version ends the remaining closes of the old one.
 */
function listLastOfTexts(due: readonly DueRebalance[]): DueRebalance[] {
  const latestAmendments = new Map<number, number>();
  for (const { session, amendment = 0 } of due)
    latestAmendments.set(session, Math.max(amendment, latestAmendments.get(session) ?? 0));
  return due.filter(
    ({ session, amendment = 0, phase }) => phase === undefined || amendment === latestAmendments.get(session),
  );
}

type DatedClose = Pick<DueRebalance, 'date' | 'phase'>;

interface ImmediateSpan extends DueSpan {
  /** Returns true if a version of the definition is in force on the date of a rebalance. */
  readonly isOfText: (due: DatedClose) => boolean;
}

/**
 * Returns the closes of the rebalance of an amendment that requests an immediate rebalance. Returns an empty list if
 * the schedule has a selection on that session.
 */
function listImmediateRebalances(
  { from, document, amendment }: IndexText,
  sm: SessionMarket,
  { isOfText, ...span }: ImmediateSpan,
): DueRebalance[] {
  if (amendment?.rebalance !== true) return [];
  const session = findFirstAtLeast(sm.sessions, from);
  if (listSelectionDates(document, sm, session).some(isOfText)) return [];
  return listDueCloses(document, sm, { ...span, session });
}

/**
 * Returns the scheduled dates of a session on which constituents are selected. They do not depend on the sessions that
 * a run adds, because the later closes of a rebalance may be on later sessions.
 */
function listSelectionDates(
  document: IndexDocument,
  { sessions, calendar }: SessionMarket,
  session: number,
): readonly RebalanceDate[] {
  const day = sessions[session];
  if (day === undefined) return [];
  const baseDay = parseValidDay(document.base_date);
  return listReviews(document)
    .filter(({ scope }) => scope === 'membership')
    .flatMap(({ document: { rebalance } }) => listRebalanceDates({ rebalance, calendar, baseDay, from: day, to: day }));
}
