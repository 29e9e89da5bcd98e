import { findLastAtMost } from '../numbers/search.js';
import type { Finding } from '../refusals/findings.js';
import type { CadenceOnCalendar } from '../schedule/date-order.js';
import { countPhaseCloses } from '../schedule/phase.js';
import { listEffectiveDates } from '../schedule/schedule.js';
import { formatDay } from '../time/days.js';

/** Review on the calendar of its index. */
export interface ReviewOnCalendar extends CadenceOnCalendar {
  readonly id: string;
  readonly scope: string;
}

/** Review with the positions of its effective sessions after the base rebalance, ascending. */
interface DatedReview extends ReviewOnCalendar {
  readonly positions: Int32Array;
}

/**
 * Reports reviews that never run, that override each other on a date, or that take effect during the phase-in of
 * another review.
 */
export function checkReviewCollisions(reviews: readonly ReviewOnCalendar[]): Finding[] {
  const datedReviews = reviews.map((review): DatedReview => ({
    ...review,
    positions: Int32Array.from(listEffectiveDates(review).slice(1), ({ position }) => position),
  }));
  return [
    ...datedReviews.slice(1).flatMap(reportNeverRun),
    ...datedReviews.flatMap((datedReview) =>
      datedReviews.flatMap((otherDatedReview) =>
        datedReview === otherDatedReview ? [] : reportWithinPhase(datedReview, otherDatedReview),
      ),
    ),
    ...datedReviews.flatMap((datedReview, i) => reportOverridden(datedReview, datedReviews.slice(i + 1))),
  ];
}

function reportNeverRun({ id, path, positions }: DatedReview): Finding[] {
  if (positions.length > 0) return [];
  const message = `The review ${id} never runs: its schedule has no date after the base rebalance.`;
  return [{ severity: 'warning', code: 'NO_EFFECT', path, message }];
}

/** Reports an error if another review takes effect before the last close of a review. */
function reportWithinPhase(
  { id, path, positions, rebalance, calendar }: DatedReview,
  otherDatedReview: DatedReview,
): Finding[] {
  const closes = countPhaseCloses(rebalance.phase);
  if (closes === 1) return [];
  const formatPosition = (position: number): string => formatDay(calendar.sessions[position]!);
  for (const start of positions) {
    const collision = otherDatedReview.positions[findLastAtMost(otherDatedReview.positions, start + closes - 1)];
    if (collision === undefined || collision < start) continue;
    const end = Math.min(start + closes, calendar.sessions.length) - 1;
    const message = `The review ${id} is spread over the closes from ${formatPosition(start)} to ${formatPosition(end)}, but the review ${otherDatedReview.id} takes effect on ${formatPosition(collision)}.`;
    return [{ severity: 'error', code: 'INVALID_RANGE', path: `${path}.phase`, message }];
  }
  return [];
}

/**
 * Warns if a later review in the document has the same date and scope and overrides this one. Skips dates that an
 * earlier warning covers.
 */
function reportOverridden(datedReview: DatedReview, otherDatedReviews: readonly DatedReview[]): Finding[] {
  const freePositions = new Set(datedReview.positions);
  return otherDatedReviews.flatMap((later): Finding[] => {
    if (datedReview.scope !== later.scope) return [];
    const commonPositions = later.positions.filter((position) => freePositions.delete(position));
    const [first] = commonPositions;
    if (first === undefined) return [];
    const day = formatDay(later.calendar.sessions[first]!);
    const moreText = commonPositions.length === 1 ? '' : ` and on ${commonPositions.length - 1} later dates`;
    const message = `The reviews ${datedReview.id} and ${later.id} both have the scope ${datedReview.scope} on ${day}${moreText}. ${later.id} runs last, and ${datedReview.id} has no effect there.`;
    return [{ severity: 'warning', code: 'NO_EFFECT', path: later.path, message }];
  });
}
