import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { ISSUER } from '#domain/compliance/breach-watch.js';
import { watchLimits, watchMeasuredDates, type BreachCause, type LimitWatch } from '#domain/compliance/monitor.js';
import { LIMIT_RULE_NAMES, LIMIT_RULES, type LimitRuleName } from '#domain/compliance/rules.js';
import { formatDay } from '#domain/time/days.js';
import type { MarketData } from '#domain/market/market-data.js';
import { createGroupsByDay } from '#domain/market/groups-by-day.js';
import { listIssuerSpells } from '#domain/market/market-groups.js';
import type { FigureCache } from '../exposures/dated-figures.js';
import { measureRules } from './rule-figures.js';
import { yieldWatchedDates } from './watched-dates.js';

export interface WatchedRule extends LimitWatch {
  readonly rule: LimitRuleName;
}

/** Breaches of a rule over a whole run, with their dates. */
export interface WatchedBreaches {
  readonly rule: LimitRuleName;
  readonly breaches: readonly {
    readonly row: string;
    readonly begin: string;
    readonly end: string | null;
    readonly cause: BreachCause;
    readonly worst: { readonly value: number; readonly limit: number };
  }[];
}

/**
 * Returns the breaches of the rule that triggers rebalances of the run's index. They are measured as by `watchRules`.
 * Returns null if there is no such rule.
 */
export function watchBreaches(columns: RunColumns, market: MarketData | null): WatchedBreaches | null {
  const { breach_rule: rule } = columns.header.treatment;
  if (rule === undefined) return null;
  const days = columns.i32('days');
  const formatDate = (position: number) => formatDay(days[position]!);
  const issuers = market?.reference.columns.includes(ISSUER) === true ? listIssuerSpells(market, ISSUER) : null;
  const issuersOn = issuers && createGroupsByDay(columns.header.names, issuers);
  const { rows } = LIMIT_RULES[rule];
  const { breaches } = watchLimits(yieldWatchedDates(columns, days.length - 1, { issuersOn, rowsOn: () => rows }), {
    from: 0,
  });
  return {
    rule,
    breaches: breaches.map(({ row, begin, end, cause, worst }) => ({
      row,
      begin: formatDate(begin),
      end: end === null ? null : formatDate(end),
      cause,
      worst,
    })),
  };
}

export interface WatchedSpan {
  /**
   * Market that contains the issuers of the securities. If it is null or lacks the column, each security is its own
   * issuer.
   */
  readonly market: MarketData | null;
  /** Column that identifies issuers. Default: ISSUER. */
  readonly by?: string | undefined;
  /** Position of the first reported date. */
  readonly from: number;
  /** Position of the last reported date. */
  readonly to: number;
  readonly withDistances?: boolean | undefined;
  /**
   * Returns a cache for figures; absent if there is no memory. The argument is the market if issuers come from it,
   * otherwise null.
   */
  readonly keep?: ((market: MarketData | null) => FigureCache) | undefined;
}

/** Column name with which each security is its own issuer. */
export const OWN_ISSUERS = 'IDENTIFIER';

/**
 * Measures all published rules on the dates of a run, in the order of the rules.
 * @cost reads [n x H] weights once; none if the figures are cached
 */
export function watchRules(
  columns: RunColumns,
  { market, by = ISSUER, from, to, withDistances = false, keep }: WatchedSpan,
): WatchedRule[] {
  const issuers = market?.reference.columns.includes(by) === true ? listIssuerSpells(market, by) : null;
  const issuersOn = issuers && createGroupsByDay(columns.header.names, issuers);
  const issuerNames = issuers === null ? { by: OWN_ISSUERS, keep: keep?.(null) } : { by, keep: keep?.(market) };
  const span = { issuersOn, ...issuerNames, from, to, withDistances };
  return measureRules(columns, LIMIT_RULE_NAMES, span).map((dates, k) => ({
    rule: LIMIT_RULE_NAMES[k]!,
    ...watchMeasuredDates(dates, { from, withDistances }),
  }));
}
