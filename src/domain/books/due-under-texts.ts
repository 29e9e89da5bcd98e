import { listTexts, type IndexText } from '../documents/amended-texts.js';
import type { IndexDocument } from '../documents/index-document.js';
import { findReview } from '../documents/reviews.js';
import type { SessionMarket } from '../market/session-market.js';
import { findFirstAtLeast } from '../numbers/search.js';
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
    const isOfText = ({ date, phase }: DueRebalance): boolean =>
      (phase?.start ?? date) >= text.from && (phase?.start ?? date) < endDay;
    const textRebalances = listDueAfter(text.document, sm, span).filter(isOfText);
    return [...listImmediateRebalances(text, sm, { ...span, own: textRebalances }), ...textRebalances].map(
      (rebalance) => (k === 0 ? rebalance : { ...rebalance, amendment: k }),
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

/** Returns true if a rebalance selects constituents. */
function isSelection(document: IndexDocument, { review, phase, date }: DueRebalance): boolean {
  return findReview(document, review).scope === 'membership' && (phase?.start ?? date) === date;
}

/**
 * Returns the rebalance of an amendment that requests an immediate rebalance. Returns an empty list if a selection is
 * due on that session.
 */
function listImmediateRebalances(
  { from, document, amendment }: IndexText,
  sm: SessionMarket,
  { first, after, last, own }: DueSpan & { readonly own: readonly DueRebalance[] },
): DueRebalance[] {
  if (amendment?.rebalance !== true) return [];
  const session = findFirstAtLeast(sm.sessions, from);
  if (own.some((due) => due.session === session && isSelection(document, due))) return [];
  return listDueCloses(document, sm, { first, after, last, session });
}
