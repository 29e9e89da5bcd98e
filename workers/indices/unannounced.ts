import type { IndexDocument } from '#domain/documents/index-document.js';
import { findAnnouncement, type NextRebalance } from '#domain/books/next-rebalance.js';
import type { Finding } from '#domain/refusals/findings.js';
import { formatDay, type Day } from '#domain/time/days.js';

/** Returns the finding that the orders belong to no announced rebalance. It names the next rebalance. */
export function reportUnannounced(
  { id, rebalance }: IndexDocument,
  day: Day,
  next: NextRebalance | undefined,
): Finding {
  const path = 'as_of';
  const explanation = `the orders follow the decision of the rules on ${formatDay(day)}`;
  if (next !== undefined) {
    const message = `The next rebalance of ${id}, effective on ${formatDay(next.date)}, is ${next.announcement === undefined ? 'decided' : 'announced'} on ${formatDay(findAnnouncement(next))}: ${explanation}.`;
    return { severity: 'info', code: 'NOT_ANNOUNCED', path, message };
  }
  const { frequency } = rebalance;
  const message = `${id} has no rebalance on or after ${formatDay(day)}, its frequency is ${frequency}: ${explanation}.`;
  return { severity: 'warning', code: 'NOT_ANNOUNCED', path, message };
}
