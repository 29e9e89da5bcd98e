import { textsOf, type IndexText } from '../documents/amended-texts.js';
import type { IndexDocument } from '../documents/index-document.js';
import type { SessionMarket } from '../market/session-market.js';
import { firstAtLeast } from '../numbers/search.js';
import { dueAfter, dueRebalances, type DueRebalance, type DueSpan } from './due-rebalances.js';

/** The rebalances of an index, each by the text that is in force on its date. */
export function dueUnderTexts(
  document: IndexDocument,
  sm: SessionMarket,
  { first, last }: Pick<DueSpan, 'first' | 'last'>,
): DueRebalance[] {
  if (textsOf(document).length === 1) return dueRebalances(document, sm, { first, last });
  const begin = dueRebalances(document, sm, { first, last: first });
  return [...begin, ...dueAfterUnderTexts(document, sm, { first, after: first, last })];
}

/** Those after a session. */
export function dueAfterUnderTexts(document: IndexDocument, sm: SessionMarket, span: DueSpan): DueRebalance[] {
  const texts = textsOf(document);
  if (texts.length === 1) return dueAfter(document, sm, span);
  const due = texts.flatMap((text, k) => {
    const until = texts[k + 1]?.from ?? Infinity;
    const own = dueAfter(text.document, sm, span).filter(({ date }) => date >= text.from && date < until);
    return [...immediate(text, sm, { ...span, own }), ...own].map((rebalance) =>
      k === 0 ? rebalance : { ...rebalance, amendment: k },
    );
  });
  return due.toSorted((a, b) => a.session - b.session || a.date - b.date);
}

/** The rebalance of an amendment that does not wait for a review; none where a review is on the same session. */
function immediate(
  { from, document, amendment }: IndexText,
  sm: SessionMarket,
  { first, after, last, own }: DueSpan & { readonly own: readonly DueRebalance[] },
): DueRebalance[] {
  if (amendment?.rebalance !== true) return [];
  const session = firstAtLeast(sm.sessions, from);
  if (session <= after || session > last || own.some((due) => due.session === session)) return [];
  const lag = document.rebalance.effective_lag;
  const decision = Math.max(first, session - lag);
  const announced = decision < session ? sm.sessions[decision]! : null;
  return [{ date: sm.sessions[session]!, also: [], session, decision, announced }];
}
