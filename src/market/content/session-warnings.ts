import type { Calendar, Calendars } from '#domain/calendars/calendar.js';
import { formatDay, toWeekday, type Day } from '#domain/time/days.js';
import type { MarketContent } from './market-content.js';
import type { Problems } from '../tables/problems.js';

/** Maximum number of days listed individually; further days are counted. */
const DAYS_MAX = 20;

/** Maximum number of securities and of days listed in one finding. */
const LISTED_MAX = 3;

/** Minimum number and share of days without a session at which a shift of all days is tested. */
const SHIFTED_DAYS_MIN = 2;
const SHIFTED_SHARE_MIN = 0.1;

/**
 * Describes a shift by one day if the days are sessions one day later or earlier. Days of another time zone are shifted
 * in this way.
 */
function describeShift(dates: readonly Day[], closedCount: number, calendars: readonly Calendar[]): string {
  if (closedCount < SHIFTED_DAYS_MIN || closedCount < SHIFTED_SHARE_MIN * dates.length) return '';
  const shift = [1, -1].find((by) => dates.every((day) => !isNoSession(day + by, calendars)));
  if (shift === undefined) return '';
  return ` Every date is a session one day ${shift > 0 ? 'later' : 'earlier'}: the dates are probably days of another time zone.`;
}

/** Names of weekdays, Monday first. */
const WEEKDAY_NAMES = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];

/**
 * Warns of bars on days that are not a session of any calendar in use: NOT_A_SESSION. The calendars in use are those of
 * the stored indices and of the reference column EXCHANGE. Days that none of them covers are ignored.
 * @param codes of the calendars of the stored indices
 * @param open opens the calendars of the service; called only if any calendar is in use
 * @cost one pass over the days, and over the bars of days without a session
 */
export function warnOfSessions(
  content: MarketContent,
  { codes, open }: { readonly codes: readonly string[]; readonly open: () => Calendars },
  problems: Problems,
): void {
  const exchangeCodes = [...new Set([...codes, ...collectExchanges(content)])];
  if (exchangeCodes.length === 0) return;
  const exchangeCalendars = open();
  const calendars = exchangeCodes.flatMap((code) => exchangeCalendars.get(code) ?? []);
  const days = [...content.dates]
    .flatMap((day, t) => (isNoSession(day, calendars) ? [{ day, names: listIdentifiers(content, t) }] : []))
    .filter(({ names }) => names.length > 0);
  const shiftText = describeShift([...content.dates], days.length, calendars);
  const usedCalendars = calendars
    .map(({ code }) => code)
    .toSorted()
    .join(', ');
  if (days.length > DAYS_MAX) {
    const listText = days
      .slice(0, LISTED_MAX)
      .map(({ day }) => formatDay(day))
      .join(', ');
    const bars = days.reduce((sum, { names }) => sum + names.length, 0);
    problems.warning({
      code: 'NOT_A_SESSION',
      path: 'market',
      message: `${bars} bars are on ${days.length} days that are not sessions of ${usedCalendars}: ${listText} and more. Indices with these calendars do not use them.${shiftText}`,
    });
    return;
  }
  for (const { day, names } of days) {
    const listText = names.length > LISTED_MAX ? `${names.slice(0, LISTED_MAX).join(', ')} and more` : names.join(', ');
    const message = `${names.length} ${names.length === 1 ? 'bar is' : 'bars are'} on ${formatDay(day)}, a ${WEEKDAY_NAMES[toWeekday(day)]}, which is not a session of ${usedCalendars}: ${listText}. Indices with these calendars do not use ${names.length === 1 ? 'it' : 'them'}.${shiftText}`;
    problems.warning({ code: 'NOT_A_SESSION', path: `market[${formatDay(day)}]`, message });
  }
}

/** Returns the calendar codes in the reference column EXCHANGE. */
function collectExchanges({ reference: { columns, rows } }: MarketContent): Set<string> {
  const column = columns.indexOf('EXCHANGE');
  const values = column < 0 ? [] : [...rows.values()].flatMap((spells) => spells.map((row) => row.values[column]));
  return new Set(values.filter((value) => typeof value === 'string'));
}

function isNoSession(day: Day, calendars: readonly Calendar[]): boolean {
  const coveringCalendars = calendars.filter(({ coverage }) => day >= coverage.from && day <= coverage.to);
  return coveringCalendars.length > 0 && coveringCalendars.every((calendar) => !calendar.isSession(day));
}

/** Returns the securities with a CLOSE in a row of the panels. */
function listIdentifiers({ identifiers, fields }: MarketContent, t: number): string[] {
  const close = fields.get('CLOSE')!;
  return identifiers.filter((_, n) => !Number.isNaN(close[t * identifiers.length + n]!));
}
