import type { ActionsQuery, CorporateActionsResponse } from '#contract/data.js';
import { type Day, parseValidDay, formatDay } from '#domain/time/days.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { type CorporateAction, type MarketData, ACTION_KINDS } from '#domain/market/market-data.js';
import { computeCumulativeRatio, computeTrailingDividend } from '#market/content/dividends.js';
import { getLookup, findValueAt } from '#market/serving/market-lookup.js';
import type { ServedMarket } from '#market/serving/markets.js';
import { LAST_DAY, refuseUnknownIdentifier, parseWindow } from './window.js';

/**
 * Returns the corporate actions of a security in a window, and its dividends of the year up to a day. The day is by
 * default the last close of the security.
 */
export function listCorporateActions(
  { market, handle }: ServedMarket,
  identifier: string,
  query: ActionsQuery,
): CorporateActionsResponse {
  if (!getLookup(market).holds(identifier)) throw refuseUnknownIdentifier(identifier, handle.datasetId);
  const { start, end } = parseWindow(query);
  const actions = getLookup(market).actionsOf(identifier);
  const actionsInRange = actions.filter(
    ({ exDay }) => (start === null || exDay >= start) && (end === null || exDay <= end),
  );
  const asOf =
    query.as_of === undefined
      ? (getLookup(market).datesOf(identifier)?.end ?? market.dates.at(-1) ?? LAST_DAY)
      : parseValidDay(query.as_of);
  const trailingDividend = computeTrailingDividend(actions, asOf, market.adjustment);
  const close = findCloseAt(market, identifier, asOf);
  return {
    identifier,
    actions: actionsInRange.map(createActionView),
    cumulative_split_ratio: computeCumulativeRatio(actionsInRange),
    as_of: formatDay(asOf),
    trailing_dividend: trailingDividend,
    trailing_dividend_yield: Number.isNaN(close) ? null : trailingDividend / close,
  };
}

function findCloseAt(market: MarketData, identifier: string, day: Day): number {
  const position = getLookup(market).positionOf(identifier);
  return position === undefined ? Number.NaN : findValueAt(market, 'CLOSE', position, day, LIMITS.MAX_STALE_SESSIONS);
}

function createActionView({
  type,
  value,
  exDay,
  payDay,
  status,
  announcedDay,
  related,
  subscriptionPrice,
  cash,
  scripRatio,
  electionDay,
  electionDefault,
  isUnpriced,
}: CorporateAction): CorporateActionsResponse['actions'][number] {
  return {
    type,
    kind: ACTION_KINDS[type],
    value: isUnpriced ? null : value,
    ex_date: formatDay(exDay),
    pay_date: payDay === null ? null : formatDay(payDay),
    status,
    announced: announcedDay === null ? null : formatDay(announcedDay),
    related,
    subscription_price: subscriptionPrice,
    cash: cash ?? null,
    scrip_ratio: scripRatio ?? null,
    election_date: electionDay === undefined ? null : formatDay(electionDay),
    election_default: electionDefault ?? null,
  };
}
