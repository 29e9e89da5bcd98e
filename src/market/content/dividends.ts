import { addMonths, type Day } from '#domain/time/days.js';
import { ACTION_KINDS, type CorporateAction, type MarketData } from '#domain/market/market-data.js';

/** Returns the product of the ratios of all split actions that are not cancelled. */
export function computeCumulativeRatio(actions: readonly CorporateAction[]): number {
  return actions.reduce(
    (product, { type, value, status }) =>
      ACTION_KINDS[type] === 'ratio' && status !== 'cancelled' ? product * value : product,
    1,
  );
}

/**
 * Returns the ordinary dividends per share over the twelve calendar months that end on a day. Each dividend is divided
 * by the splits between it and that day. If prices are adjusted for splits, the amounts are already on one basis.
 */
export function computeTrailingDividend(
  actions: readonly CorporateAction[],
  asOf: Day,
  adjustment: MarketData['adjustment'],
): number {
  const from = addMonths(asOf, -12);
  const corporateActions = actions.filter(({ exDay, status }) => exDay <= asOf && status !== 'cancelled');
  let sum = 0;
  for (const dividend of corporateActions) {
    if (dividend.type !== 'DIVIDEND' || dividend.exDay <= from) continue;
    const laterActions = adjustment === 'none' ? corporateActions.filter(({ exDay }) => exDay > dividend.exDay) : [];
    sum += dividend.value / computeCumulativeRatio(laterActions);
  }
  return sum;
}
