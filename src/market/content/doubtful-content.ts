import type { Calendars } from '#domain/calendars/calendar.js';
import { formatDay, type Day } from '#domain/time/days.js';
import { keepSmallValue, sortFindings, type Finding } from '#domain/refusals/findings.js';
import type { Adjustment } from '#domain/market/market-data.js';
import { findActionWarnings } from './doubtful-actions.js';
import type { MarketContent } from './market-content.js';
import { warnOfMissingDays } from './market-holes.js';
import { warnOfMarket } from './market-warnings.js';
import { findPartialDates } from './partial-dates.js';
import { warnOfFutureDays, warnOfSimilarIdentifiers } from './implausible-keys.js';
import { createProblems, type Problem, type Problems } from '../tables/problems.js';
import { warnOfSessions } from './session-warnings.js';
import { findUnknownCurrencies } from './unknown-currencies.js';

const MS_PER_DAY = 86_400_000;

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
  /** Current day. Default: the day of the clock. */
  readonly today?: Day;
}

/** Maximum number of warnings of one version that a comparison lists. */
const COMPARED_WARNINGS_MAX = 100_000;

/**
 * Returns the warnings about a market that its previous version did not have. Unlike `findContentWarnings`, similar
 * warnings are compared one by one, so that a store with many warnings does not hide a new one.
 * @cost the checks of both versions
 */
export function findNewContentWarnings(before: MarketContent, content: MarketContent, terms: WarningTerms): Finding[] {
  const earlierKeys = new Set(listContentWarnings(before, terms).map(formatWarningKey));
  const problems = createProblems();
  problems.take(listContentWarnings(content, terms).filter((warning) => !earlierKeys.has(formatWarningKey(warning))));
  return problems.findings();
}

/** Returns every warning about a market. A finding that only counts earlier partial dates is left out. */
function listContentWarnings(content: MarketContent, terms: WarningTerms): Finding[] {
  const warnings: Finding[] = [];
  const warning = (problem: Problem): void => {
    const { code, path, message, value } = problem;
    if (warnings.length < COMPARED_WARNINGS_MAX)
      warnings.push({
        severity: 'warning',
        code,
        path,
        message,
        ...(value === undefined ? {} : keepSmallValue(value)),
      });
  };
  const partialDates = findContentWarnings(content, terms, { ...createProblems(), warning });
  return [...partialDates.filter(({ path }) => path !== 'market'), ...warnings];
}

const formatWarningKey = ({ code, path }: Finding): string => JSON.stringify([code, path]);

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
  warnOfFutureDays(content, terms.today ?? Math.floor(Date.now() / MS_PER_DAY), problems);
  warnOfSimilarIdentifiers(content, problems);
  return sortFindings([...findPartialDates(content, calendars), ...problems.findings()]);
}
