import type { Calendars } from '#domain/calendars/calendar.js';
import { orderFindings, type Finding } from '#domain/findings.js';
import type { MarketContent } from './market-content.js';
import { warnOfMarket } from './market-warnings.js';
import { partialDates } from './partial-dates.js';
import type { Problems } from './problems.js';
import { warnOfSessions } from './session-warnings.js';

/**
 * What is doubtful in a whole market, with the problems that were met before: every check of a store that is read,
 * refreshed or repaired. Partial dates are listed however many other warnings there are.
 * @param calendars codes of those of the stored indices, and what opens the calendars of the service
 * @returns findings in served order
 * @cost a few passes over CLOSE
 */
export function doubtsOf(
  content: MarketContent,
  calendars: { readonly codes: readonly string[]; readonly open: () => Calendars },
  problems: Problems,
): Finding[] {
  warnOfMarket(content, problems);
  warnOfSessions(content, calendars, problems);
  return orderFindings([...partialDates(content, calendars), ...problems.findings()]);
}
