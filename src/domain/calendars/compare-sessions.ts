import { toCivilDate, type Day } from '../time/days.js';
import type { Calendar } from './calendar.js';
import type { SessionReference } from './session-reference.js';

export interface SessionComparison {
  readonly code: string;
  /** Days that both calendars cover. If there are none, `to` is before `from`. */
  readonly from: Day;
  readonly to: Day;
  readonly years: readonly YearDifference[];
}

/** Differences between a calendar and a reference in one year. */
export interface YearDifference {
  readonly year: number;
  /** Sessions of the reference on which the calendar is closed. */
  readonly missing: readonly Day[];
  /** Sessions of the calendar on which the reference is closed. */
  readonly extra: readonly Day[];
}

/** Returns the years in which a calendar and a reference differ, over the days that both cover. */
export function compareSessions(calendar: Calendar, reference: SessionReference): SessionComparison {
  const from = Math.max(calendar.coverage.from, reference.from);
  const to = Math.min(calendar.coverage.to, reference.to);
  const years = new Map<number, { missing: Day[]; extra: Day[] }>();
  for (let day = from; day <= to; day++) {
    const isOurSession = calendar.isSession(day);
    if (isOurSession === reference.isSession(day)) continue;
    const { year } = toCivilDate(day);
    const difference = years.get(year) ?? { missing: [], extra: [] };
    years.set(year, difference);
    (isOurSession ? difference.extra : difference.missing).push(day);
  }
  return { code: calendar.code, from, to, years: [...years].map(([year, difference]) => ({ year, ...difference })) };
}
