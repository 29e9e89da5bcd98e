import type { Calendar } from '../calendars/calendar.js';
import { formatDay, type Day } from '../time/days.js';
import type { Finding } from '../refusals/findings.js';
import { formatPath } from '../schema/shape.js';
import type { RebalanceSpec } from './rebalance-spec.js';
import { countPhaseCloses } from './phase.js';
import { findReviewPositions, type EffectiveDate, type ReviewPositions } from './review-dates.js';
import { listEffectiveDates } from './schedule.js';

/** Cadence on its calendar, with its path in the document. */
export interface CadenceOnCalendar {
  readonly rebalance: RebalanceSpec;
  readonly calendar: Calendar;
  readonly baseDay: Day;
  readonly path: string;
}

/** Required order of the dates of every rebalance. */
interface DateOrder {
  readonly member: 'reference' | 'announcement' | 'pricing_date';
  /** Returns how the dates of a review violate the order. Returns undefined if they are in order. */
  readonly broken: (dates: ReviewPositions, effective: number) => OrderViolation | undefined;
}

/** Violation of an order: position of the date, and the position with which it is compared. */
interface OrderViolation {
  readonly at: number;
  readonly than: number;
  readonly words: string;
}

const DATE_ORDERS: readonly DateOrder[] = [
  {
    member: 'reference',
    broken: ({ reference }, effective) => findOrderViolation(reference, effective, 'is after the effective date'),
  },
  {
    member: 'announcement',
    broken: ({ announcement, reference }) =>
      findOrderViolation(reference, announcement, 'is before the reference date', 'second'),
  },
  {
    member: 'announcement',
    broken: ({ announcement }, effective) =>
      findOrderViolation(announcement, effective - 1, 'is not before the effective date', 'first', effective),
  },
  {
    member: 'pricing_date',
    broken: ({ pricing, reference }) =>
      findOrderViolation(reference, pricing, 'is before the reference date', 'second'),
  },
  {
    member: 'pricing_date',
    broken: ({ pricing }, effective) => findOrderViolation(pricing, effective, 'is after the effective date'),
  },
];

/** Returns a violation if the first position is after the second. @param named position that the member determines */
function findOrderViolation(
  first: number | undefined,
  second: number | undefined,
  words: string,
  named: 'first' | 'second' = 'first',
  shownDate = second,
): OrderViolation | undefined {
  if (first === undefined || second === undefined || first <= second) return undefined;
  return named === 'first' ? { at: first, than: shownDate!, words } : { at: second, than: first, words };
}

/**
 * Reports date rules whose dates are out of order on the calendar, each with the first affected rebalance. The base
 * rebalance is excluded. Its dates are never after its session.
 */
export function checkDateOrder(cadence: CadenceOnCalendar): Finding[] {
  const { rebalance, calendar, path } = cadence;
  const effectiveDates = listEffectiveDates(cadence).slice(1);
  const orders = DATE_ORDERS.filter(({ member }) => rebalance[member] !== undefined);
  return orders.flatMap(({ member, broken }): Finding[] => {
    const violations = effectiveDates.flatMap((effectiveDate): (OrderViolation & EffectiveDate)[] => {
      const result = broken(findReviewPositions(rebalance, effectiveDate, calendar), effectiveDate.position);
      return result === undefined ? [] : [{ ...result, ...effectiveDate }];
    });
    const [first] = violations;
    if (first === undefined) return [];
    const field = formatPath(path, [member]);
    const formatPosition = (position: number): string => formatDay(calendar.sessions[position]!);
    const count =
      violations.length === 1 ? 'One rebalance is' : `${violations.length} of ${effectiveDates.length} rebalances are`;
    const message = `${field} gives ${formatPosition(first.at)} for the rebalance effective on ${formatDay(first.date)}, which ${first.words} ${formatPosition(first.than)}. ${count} affected.`;
    return [{ severity: 'error', code: 'INVALID_RANGE', message, path: field, value: formatPosition(first.at) }];
  });
}

/**
 * Reports the first rebalance that takes effect on or before the last close of the previous rebalance. The base
 * rebalance takes effect at one close.
 */
export function checkPhase(cadence: CadenceOnCalendar): Finding[] {
  const { rebalance, calendar, path } = cadence;
  const closes = countPhaseCloses(rebalance.phase);
  if (closes === 1) return [];
  const effectiveDates = listEffectiveDates(cadence);
  const position = effectiveDates.findIndex(
    ({ position }, i) => i > 0 && (effectiveDates[i + 1]?.position ?? Infinity) < position + closes,
  );
  if (position < 0) return [];
  const field = formatPath(path, ['phase']);
  const [start, next] = [effectiveDates[position]!, effectiveDates[position + 1]!];
  const message = `${field} spreads the rebalance of ${formatDay(start.date)} over ${closes} closes, up to ${formatDay(calendar.sessions[start.position + closes - 1]!)}, but the next one takes effect on ${formatDay(next.date)}.`;
  return [{ severity: 'error', code: 'INVALID_RANGE', message, path: field }];
}
