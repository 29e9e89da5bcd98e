import { toCivilDate, toDay, formatDay, toWeekday, type Day } from '#domain/time/days.js';

export interface DateTick {
  readonly day: Day;
  readonly label: string;
}

export interface DateSpan {
  readonly first: Day;
  readonly last: Day;
}

export const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const;

/** Steps between ticks, finest first: weeks starting on Mondays, or months counted from January. */
const STEPS = [
  { unit: 'week', count: 1 },
  { unit: 'week', count: 2 },
  { unit: 'month', count: 1 },
  { unit: 'month', count: 3 },
  { unit: 'month', count: 6 },
  { unit: 'month', count: 12 },
  { unit: 'month', count: 24 },
  { unit: 'month', count: 60 },
  { unit: 'month', count: 120 },
  { unit: 'month', count: 240 },
] as const;
type Step = (typeof STEPS)[number];

/**
 * Returns ticks at the starts of weeks, months, quarters or years, depending on the span. A label leaves out what the
 * previous label already shows. The year is printed at the first tick and at each January.
 * @param labelsFit returns true if the labels of the ticks do not overlap
 * @returns the ticks of the finest step that fits, or the two ends if none fits
 */
export function createDateTicks(span: DateSpan, labelsFit: (ticks: readonly DateTick[]) => boolean): DateTick[] {
  for (const step of STEPS) {
    if (countTicks(span, step) > TICKS_MAX) continue;
    const ticks = listTicks(span, step);
    if (ticks.length >= 2 && labelsFit(ticks)) return ticks;
  }
  const endTicks = [...new Set([span.first, span.last])].map((day) => ({ day, label: formatDay(day) }));
  return labelsFit(endTicks) ? endTicks : endTicks.slice(0, 1);
}

/** Maximum number of labels that fit on a page. */
const TICKS_MAX = 60;
const DAYS_OF = { week: 7, month: 30.4 } as const;

function countTicks({ first, last }: DateSpan, { unit, count: length }: Step): number {
  return (last - first) / (DAYS_OF[unit] * length);
}

function listTicks(span: DateSpan, step: Step): DateTick[] {
  const days = step.unit === 'week' ? listMondays(span, step.count) : listMonthStarts(span, step.count);
  return days.map((day, i) => ({ day, label: formatLabel(day, step, i === 0 ? null : days[i - 1]!) }));
}

function listMondays({ first, last }: DateSpan, weeks: number): Day[] {
  const days: Day[] = [];
  for (let day = first + ((7 - toWeekday(first)) % 7); day <= last; day += 7 * weeks) days.push(day);
  return days;
}

/**
 * Maximum number of days between the start of a year or month and the first date of a line. If the line starts within
 * these days, it counts as starting with the year or month. The first session is rarely the first day.
 */
const LATE_DAYS = 6;

function listMonthStarts({ first, last }: DateSpan, months: number): Day[] {
  const { year } = toCivilDate(first);
  const startYear = months > 12 ? Math.floor(year / (months / 12)) * (months / 12) : year;
  const days: Day[] = [];
  for (let month = 0; ; month += months) {
    const day = toDay({ year: startYear + Math.floor(month / 12), month: (month % 12) + 1, day: 1 });
    if (day > last) return days;
    if (day >= first - LATE_DAYS) days.push(Math.max(day, first));
  }
}

function formatLabel(day: Day, { unit, count: length }: Step, previousDay: Day | null): string {
  const { year, month, day: dayOfMonth } = toCivilDate(day);
  if (unit === 'month' && length >= 12) return String(year);
  const isNewYear = previousDay === null || toCivilDate(previousDay).year !== year;
  const name = MONTHS[month - 1]!;
  if (unit === 'month') return isNewYear ? `${name} ${year}` : name;
  return isNewYear ? `${dayOfMonth} ${name} ${year}` : `${dayOfMonth} ${name}`;
}
