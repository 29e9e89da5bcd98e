import type { Calendar } from '../calendars/calendar.js';
import { findFirstAtLeast } from '../numbers/search.js';
import { listRebalanceDates } from '../schedule/schedule.js';
import { parseValidDay, type Day } from '../time/days.js';
import { listTexts, type IndexText } from './amended-texts.js';
import { isOverlayDocument, type IndexDocument } from './index-document.js';
import { listReviews } from './reviews.js';

/** Version of a methodology, and the day after whose close the index follows it. */
export interface TextSpan {
  /** Session of the first review of this version. */
  readonly after: Day;
  readonly text: IndexText;
}

const NO_SPANS: readonly TextSpan[] = [];

/** Maximum number of days from an effective date to the session that replaces it. */
const MOVED_DAYS_MAX = 31;

const spansByDocument = new WeakMap<IndexDocument, WeakMap<Calendar, readonly TextSpan[]>>();

/**
 * Returns the amended versions of an index, each with the day after which the index follows it. A version without a
 * review before the next version is excluded.
 */
export function listTextSpans(document: IndexDocument, calendar: Calendar): readonly TextSpan[] {
  if (document.amendments === undefined || document.amendments.length === 0) return NO_SPANS;
  const byCalendar = spansByDocument.get(document) ?? new WeakMap<Calendar, readonly TextSpan[]>();
  spansByDocument.set(document, byCalendar);
  const result = byCalendar.get(calendar) ?? findSpans(document, calendar);
  byCalendar.set(calendar, result);
  return result;
}

function findSpans(document: IndexDocument, calendar: Calendar): TextSpan[] {
  const texts = listTexts(document);
  return texts.slice(1).flatMap((text, k): TextSpan[] => {
    const after = findBegin(text, calendar, texts[k + 2]?.from ?? Infinity);
    return after === undefined ? [] : [{ after, text }];
  });
}

/**
 * Returns the session on which a version begins. This is its first review on or after its date. For an overlay, or if
 * the version does not wait for a review, it is the first session on or after the date.
 */
function findBegin({ document, from, amendment }: IndexText, calendar: Calendar, until: Day): Day | undefined {
  const { sessions, coverage } = calendar;
  if (amendment?.rebalance === true || isOverlayDocument(document)) return sessions[findFirstAtLeast(sessions, from)];
  const span = { calendar, baseDay: parseValidDay(document.base_date), from: from - MOVED_DAYS_MAX, to: coverage.to };
  const begins = listReviews(document).flatMap(({ document: { rebalance } }) => {
    const first = listRebalanceDates({ ...span, rebalance }).find(({ date }) => date >= from && date < until);
    return first === undefined ? [] : [first.session];
  });
  return begins.length === 0 ? undefined : Math.min(...begins);
}

/** Returns the version that an index follows on a day. */
export function findTextInForce(document: IndexDocument, calendar: Calendar, day: Day): IndexText {
  return listTextSpans(document, calendar).findLast(({ after }) => after < day)?.text ?? listTexts(document)[0]!;
}
