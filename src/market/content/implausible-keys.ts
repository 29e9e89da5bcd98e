import { formatDay, type Day } from '#domain/time/days.js';
import { findFirstAtLeast } from '#domain/numbers/search.js';
import type { Problems } from '../tables/problems.js';
import type { MarketContent } from './market-content.js';

/** Maximum number of days by which a bar may be later than the current day: weeks, for clocks and test data. */
const BAR_DAYS_MAX = 31;

/** Maximum number of days by which an announced action may be later than the current day. */
const ACTION_DAYS_MAX = 3 * 366;

/** Maximum number of identifiers in a finding. */
const LISTED_MAX = 5;

/** Warns of bars and values of series in the future, and of actions in the far future: their dates are mistaken. */
export function warnOfFutureDays(content: MarketContent, today: Day, problems: Problems): void {
  const { dates, actions, series } = content;
  const warn = (path: string, what: string, day: Day): void =>
    problems.warning({
      code: 'BAD_DATE',
      path,
      column: 'date',
      message: `${what} is on ${formatDay(day)}, after the current day ${formatDay(today)}. The date, or the date format, is probably wrong.`,
      value: formatDay(day),
    });
  for (let t = findFirstAtLeast(dates, today + BAR_DAYS_MAX + 1); t < dates.length; t++) {
    const [first, ...others] = listSecurities(content, t);
    if (first === undefined) continue;
    const what =
      others.length === 0 ? `A bar of ${first}` : `A bar of ${first} and of ${others.length} more securities`;
    warn(`market[${first} ${formatDay(dates[t]!)}].date`, what, dates[t]!);
  }
  for (const { identifier, days } of series?.values() ?? []) {
    const day = days.at(-1);
    if (day !== undefined && day > today + BAR_DAYS_MAX)
      warn(`series[${identifier} ${formatDay(day)}].date`, `The last value of ${identifier}`, day);
  }
  for (const { identifier, type, exDay } of actions)
    if (exDay > today + ACTION_DAYS_MAX)
      warn(`corporate_actions[${identifier} ${formatDay(exDay)}].ex_date`, `The ${type} of ${identifier}`, exDay);
}

function listSecurities({ identifiers, fields }: MarketContent, t: number): readonly string[] {
  const row = t * identifiers.length;
  const panels = [...fields.values()];
  return identifiers.filter((_, n) => panels.some((panel) => !Number.isNaN(panel[row + n]!)));
}

/**
 * Warns of identifiers that differ only in case. They are two securities for the service, but more often one security
 * with two spellings.
 */
export function warnOfSimilarIdentifiers(content: MarketContent, problems: Problems): void {
  const { identifiers, reference, actions } = content;
  const spellings = new Map<string, Set<string>>();
  const names = new Set([...identifiers, ...reference.rows.keys(), ...actions.map(({ identifier }) => identifier)]);
  for (const name of names) {
    const key = name.toLowerCase();
    const known = spellings.get(key);
    if (known === undefined) spellings.set(key, new Set([name]));
    else known.add(name);
  }
  for (const known of spellings.values()) {
    if (known.size < 2) continue;
    const [first, ...others] = [...known].toSorted();
    const listed = others.slice(0, LISTED_MAX).join(', ');
    problems.warning({
      code: 'DUPLICATE_ID',
      path: `market.${first}`,
      column: 'identifier',
      message: `The identifiers ${first} and ${listed} differ only in upper and lower case. They are separate securities.`,
      value: first,
    });
  }
}
