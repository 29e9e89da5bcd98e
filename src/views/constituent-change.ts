import type { IndexExplanation } from '#contract/indices/explanation.js';
import type { ConstituentChange } from '#domain/books/constituent-changes.js';
import { formatDay, type Day } from '#domain/time/days.js';

/** Converts the entry or exit of a security to the format of the API. */
export function toConstituentChange(change: ConstituentChange | null): IndexExplanation['entered'] {
  if (change === null) return null;
  const { date, event, exDay, related, ratio, weight, price, currency, lastBar, orderedOn } = change;
  const toDayOrNull = (day: Day | null): string | null => (day === null ? null : formatDay(day));
  return {
    date: formatDay(date),
    event,
    ex_date: toDayOrNull(exDay),
    related,
    ratio,
    weight,
    price,
    currency,
    last_bar: toDayOrNull(lastBar),
    ordered_on: toDayOrNull(orderedOn),
  };
}
