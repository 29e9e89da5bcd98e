import type { Calendars } from '#domain/calendars/calendar.js';
import { formatDay } from '#domain/time/days.js';
import { sortFindings, type Finding } from '#domain/refusals/findings.js';
import type { Adjustment } from '#domain/market/market-data.js';
import { findActionWarnings } from './doubtful-actions.js';
import type { MarketContent } from './market-content.js';
import { warnOfMissingDays } from './market-holes.js';
import { warnOfMarket } from './market-warnings.js';
import { findPartialDates } from './partial-dates.js';
import type { Problems } from '../tables/problems.js';
import { warnOfSessions } from './session-warnings.js';
import { findUnknownCurrencies } from './unknown-currencies.js';

/** Inputs of the checks of a market in addition to its values. */
export interface WarningTerms {
  /** Price basis of CLOSE. */
  readonly adjustment: Adjustment;
  readonly calendars: {
    /** Codes of the calendars of the stored indices. */
    readonly codes: readonly string[];
    /** Opens the calendars of the service. */
    readonly open: () => Calendars;
  };
}

/**
 * Returns all warnings about a whole market, including problems found earlier. Every store is checked when it is read,
 * refreshed or repaired. Partial dates are always listed, even if there are many other warnings.
 * @returns findings in the order of responses
 * @cost a few passes over CLOSE
 */
export function findContentWarnings(content: MarketContent, terms: WarningTerms, problems: Problems): Finding[] {
  const { adjustment, calendars } = terms;
  warnOfMarket(content, adjustment, problems);
  warnOfMissingDays(content.dates, problems);
  for (const { code, message, action } of findActionWarnings(content, adjustment))
    problems.warning({ code, path: `corporate_actions[${action.identifier} ${formatDay(action.exDay)}]`, message });
  for (const { identifier, table, currency, message } of findUnknownCurrencies(content))
    problems.warning({ code: 'UNKNOWN_CURRENCY', path: `${table}[${identifier}].CURRENCY`, message, value: currency });
  warnOfSessions(content, calendars, problems);
  return sortFindings([...findPartialDates(content, calendars), ...problems.findings()]);
}
