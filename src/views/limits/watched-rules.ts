import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { ISSUER } from '#domain/compliance/breach-watch.js';
import { watchLimits, type BreachCause, type Watch } from '#domain/compliance/monitor.js';
import { LIMIT_RULE_NAMES, LIMIT_RULES, type LimitRuleName } from '#domain/compliance/rules.js';
import { formatDay } from '#domain/days.js';
import type { MarketData } from '#domain/market/market-data.js';
import { groupsByDay } from '#domain/market/groups-by-day.js';
import { issuerSpells } from '#domain/market/market-groups.js';
import { watchedDates } from './watched-dates.js';

export interface WatchedRule extends Watch {
  readonly rule: LimitRuleName;
}

/** Breaches of one rule over a whole run, with their dates. */
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

/** Breaches of the rule that calls for rebalances of a run's index, as `watchedRules`; null where none does. */
export function watchedBreaches(columns: RunColumns, market: MarketData | null): WatchedBreaches | null {
  const { breach_rule: rule } = columns.header.treatment;
  if (rule === undefined) return null;
  const days = columns.i32('days');
  const dateOf = (at: number) => formatDay(days[at]!);
  const issuers = market?.reference.columns.includes(ISSUER) === true ? issuerSpells(market, ISSUER) : null;
  const issuersOn = issuers && groupsByDay(columns.header.names, issuers);
  const { rows } = LIMIT_RULES[rule];
  const { breaches } = watchLimits(watchedDates(columns, days.length - 1, { issuersOn, rowsOn: () => rows }), {
    from: 0,
  });
  return {
    rule,
    breaches: breaches.map(({ row, begin, end, cause, worst }) => ({
      row,
      begin: dateOf(begin),
      end: end === null ? null : dateOf(end),
      cause,
      worst,
    })),
  };
}

export interface WatchedSpan {
  /** Says the issuers of names; without it, or the column, each name is its own. */
  readonly market: MarketData | null;
  /** Column of issuers, ISSUER unless given. */
  readonly by?: string | undefined;
  /** Position of the first date that is reported. */
  readonly from: number;
  /** Of the last. */
  readonly to: number;
  readonly withDistances?: boolean | undefined;
}

/**
 * Every published rule on the dates of a run, in their order.
 * @cost reads [n x H] weights for each rule
 */
export function watchedRules(
  columns: RunColumns,
  { market, by = ISSUER, from, to, withDistances }: WatchedSpan,
): WatchedRule[] {
  const issuers = market?.reference.columns.includes(by) === true ? issuerSpells(market, by) : null;
  return LIMIT_RULE_NAMES.map((rule) => {
    const issuersOn = issuers && groupsByDay(columns.header.names, issuers);
    const rows = LIMIT_RULES[rule].rows;
    const dates = watchedDates(columns, to, { issuersOn, rowsOn: () => rows });
    return { rule, ...watchLimits(dates, { from, withDistances }) };
  });
}
