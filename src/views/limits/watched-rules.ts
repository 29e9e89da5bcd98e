import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { ISSUER } from '#domain/compliance/breach-watch.js';
import { watchLimits, type Watch } from '#domain/compliance/monitor.js';
import { LIMIT_RULE_NAMES, LIMIT_RULES, type LimitRuleName } from '#domain/compliance/rules.js';
import type { MarketData } from '#domain/market/market-data.js';
import { groupsByDay } from '#domain/market/groups-by-day.js';
import { issuerSpells } from '#domain/market/market-groups.js';
import { watchedDates } from './watched-dates.js';

export interface WatchedRule extends Watch {
  readonly rule: LimitRuleName;
}

/**
 * Every published rule on the dates of a run, in their order.
 * @param market says the issuers of names; without it, or its column ISSUER, each name is its own
 * @param span   positions of the first and last date that are reported
 * @cost         reads [n x H] weights for each rule
 */
export function watchedRules(
  columns: RunColumns,
  market: MarketData | null,
  { from, to }: { readonly from: number; readonly to: number },
): WatchedRule[] {
  const issuers = market?.reference.columns.includes(ISSUER) === true ? issuerSpells(market, ISSUER) : null;
  return LIMIT_RULE_NAMES.map((rule) => {
    const issuersOn = issuers && groupsByDay(columns.header.names, issuers);
    const rows = LIMIT_RULES[rule].rows;
    return { rule, ...watchLimits(watchedDates(columns, to, { issuersOn, rowsOn: () => rows }), from) };
  });
}
