import { toWeekday, type Day } from '../time/days.js';
import { parseWeekday } from './weekdays.js';

/** Rule that moves a holiday, depending on its weekday. */
export interface Observance {
  /** Days to move by weekday, 0 Monday to 6 Sunday. */
  readonly shifts: readonly number[];
  /** Weekdays from which the holiday moves to the next free business day. */
  readonly toNextFree: ReadonlySet<number>;
  /** True if the holiday moves to the next free business day when it coincides with another holiday. */
  readonly onClash: boolean;
}

/**
 * Parses the movement of a holiday. @param text as in the rule files: `sat-1 sun+1`, `sun> same>`. Undefined if the
 * holiday never moves.
 */
export function parseObservance(text: string | undefined): Observance {
  const shifts = [0, 0, 0, 0, 0, 0, 0];
  const toNextFree = new Set<number>();
  let isOnClash = false;
  for (const item of text?.split(' ') ?? []) {
    const weekday = item.slice(0, 3);
    if (item === 'same>') isOnClash = true;
    else if (item.endsWith('>')) toNextFree.add(parseWeekday(weekday));
    else shifts[parseWeekday(weekday)] = Number(item.slice(3));
  }
  return { shifts, toNextFree, onClash: isOnClash };
}

export interface Holiday {
  /** Day of the holiday after its fixed shift. */
  readonly day: Day;
  readonly observance: Observance;
  readonly name: string;
}

/**
 * Returns the days closed by holidays, with the name of the first holiday on each. Holidays that move only on a clash
 * with another holiday are placed last, in list order. Then each holiday that needs a free day takes the next business
 * day without a holiday, in date order.
 * @param isBusinessDay must depend only on the weekday
 */
export function listObservedDays(holidays: readonly Holiday[], isBusinessDay: (day: Day) => boolean): Map<Day, string> {
  const closedDays = new Map<Day, string>();
  const movedHolidays: Pick<Holiday, 'day' | 'name'>[] = [];
  const closeDay = (day: Day, name: string) => closedDays.has(day) || closedDays.set(day, name);
  const fixedHolidays = holidays.filter(({ observance }) => !observance.onClash);
  const laterHolidays = holidays.filter(({ observance }) => observance.onClash);
  for (const { day, observance, name } of [...fixedHolidays, ...laterHolidays]) {
    if (observance.toNextFree.has(toWeekday(day)) || (observance.onClash && closedDays.has(day)))
      movedHolidays.push({ day, name });
    closeDay(day, name);
  }
  for (const { day, name } of movedHolidays.toSorted((a, b) => a.day - b.day)) {
    let freeDay = day + 1;
    while (closedDays.has(freeDay) || !isBusinessDay(freeDay)) freeDay++;
    closeDay(freeDay, name);
  }
  return closedDays;
}
