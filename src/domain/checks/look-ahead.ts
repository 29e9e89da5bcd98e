import type { Calendar } from '../calendars/calendar.js';
import { parseValidDay, formatDay, type Day } from '../time/days.js';
import type { IndexDocument } from '../documents/index-document.js';
import { findModelUse } from '../documents/used-models.js';
import type { Finding } from '../refusals/findings.js';
import { listRebalanceDates } from '../schedule/schedule.js';

interface DatedMarket {
  readonly calendar: Calendar;
  /** First day with prices; null without a store. */
  readonly firstDay: Day | null;
  /** Returns the last day of the returns of a stored risk model. Returns undefined for an unknown model. */
  readonly observedEndOf: (modelId: string) => string | undefined;
}

/**
 * Warns if the stored risk model of a definition contains returns after its first decision. A run refuses such a model.
 */
export function checkLookAhead(document: IndexDocument, { calendar, firstDay, observedEndOf }: DatedMarket): Finding[] {
  const use = findModelUse(document);
  const end = use === undefined ? undefined : observedEndOf(use.modelId);
  if (use === undefined || end === undefined) return [];
  const { id, base_date: base, rebalance } = document;
  const { coverage } = calendar;
  const baseDay = Math.max(parseValidDay(base), firstDay ?? parseValidDay(base));
  const [first] = listRebalanceDates({ rebalance, calendar, baseDay, from: coverage.from, to: coverage.to });
  if (first === undefined || parseValidDay(end) <= first.decision) return [];
  const message = `The risk model ${use.modelId} is estimated on returns up to ${end}, after the first decision of ${id} on ${formatDay(first.decision)}. A run with decisions before ${end} is refused with LOOK_AHEAD.`;
  return [{ severity: 'warning', code: 'LOOK_AHEAD', path: use.path, message, value: use.modelId }];
}
