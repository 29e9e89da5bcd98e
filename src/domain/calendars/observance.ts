import { toWeekday, type Day } from '../time/days.js';
import { parseWeekday } from './weekdays.js';

/** Rule that moves a holiday, depending on its weekday. */
export interface Observance {
  /** Days to move by weekday, 0 Monday to 6 Sunday. */
  readonly shifts: readonly number[];
  /** Weekdays from which it moves to the next free business day. */
  readonly toNextFree: ReadonlySet<number>;
  /** True if it moves to the next free business day when it coincides with another holiday. */
  readonly onClash: boolean;
}

/** @param text as in the rule files: `sat-1 sun+1`, `sun> same>`; undefined keeps the day. */
export function parseObservance(text: string | undefined): Observance {
  const shifts = [0, 0, 0, 0, 0, 0, 0];
  const toNextFree = new Set<number>();
  let onClash = false;
  for (const item of text?.split(' ') ?? []) {
    const weekday = item.slice(0, 3);
    if (item === 'same>') onClash = true;
    else if (item.endsWith('>')) toNextFree.add(parseWeekday(weekday));
    else shifts[parseWeekday(weekday)] = Number(item.slice(3));
  }
  return { shifts, toNextFree, onClash };
}

export interface Holiday {
  /** Due day, after its fixed shift. */
  readonly day: Day;
  readonly observance: Observance;
  readonly name: string;
}

/**
 * Returns the days closed by the holidays, with the name of the first one on each. Holidays that move when they clash are placed after all others, in list
 * order; then each holiday that needs a free day takes the next one without a holiday, in date order.
 * @param isBusinessDay depends on the weekday only
 */
export function listObservedDays(holidays: readonly Holiday[], isBusinessDay: (day: Day) => boolean): Map<Day, string> {
  const closed = new Map<Day, string>();
  const movers: Pick<Holiday, 'day' | 'name'>[] = [];
  const close = (day: Day, name: string) => closed.has(day) || closed.set(day, name);
  const firm = holidays.filter(({ observance }) => !observance.onClash);
  const yielding = holidays.filter(({ observance }) => observance.onClash);
  for (const { day, observance, name } of [...firm, ...yielding]) {
    if (observance.toNextFree.has(toWeekday(day)) || (observance.onClash && closed.has(day)))
      movers.push({ day, name });
    close(day, name);
  }
  for (const { day, name } of movers.toSorted((a, b) => a.day - b.day)) {
    let free = day + 1;
    while (closed.has(free) || !isBusinessDay(free)) free++;
    close(free, name);
  }
  return closed;
}
