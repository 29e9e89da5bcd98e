import type { Calendar } from '../calendars/calendar.js';
import { dayFrom, formatDay, type Day } from '../time/days.js';
import type { IndexDocument } from '../documents/index-document.js';
import { storedModelOf } from '../documents/used-models.js';
import type { Finding } from '../refusals/findings.js';
import { rebalanceDates } from '../schedule/schedule.js';

interface KnownMarket {
  readonly calendar: Calendar;
  /** First day with prices; null where no store is served. */
  readonly firstDay: Day | null;
  /** Last day of the returns of a stored risk model; undefined of one that is not known. */
  readonly observedEndOf: (modelId: string) => string | undefined;
}

/** A warning where the stored risk model of a definition knows returns after its first decision, which a run then refuses. */
export function lookAheadFindings(
  { id, base_date: base, rebalance, derivation }: IndexDocument,
  { calendar, firstDay, observedEndOf }: KnownMarket,
): Finding[] {
  const model = derivation === null ? undefined : storedModelOf(derivation);
  const end = model === undefined ? undefined : observedEndOf(model);
  if (end === undefined) return [];
  const { coverage } = calendar;
  const baseDay = Math.max(dayFrom(base), firstDay ?? dayFrom(base));
  const [first] = rebalanceDates({ rebalance, calendar, baseDay, from: coverage.from, to: coverage.to });
  if (first === undefined || dayFrom(end) <= first.decision) return [];
  const message = `The risk model ${model} is estimated on returns up to ${end}, after the first decision of ${id} on ${formatDay(first.decision)}: a run that decides before ${end} is refused with LOOK_AHEAD.`;
  return [{ severity: 'warning', code: 'LOOK_AHEAD', path: 'derivation.risk_model', message, value: model }];
}
