import { ACTION_KINDS, type MarketData, type ReturnVariant } from './market-data.js';

/**
 * Returns the return variants that prices of a market allow: prices that include dividends allow only a total return.
 */
export function listVariants({ adjustment }: Pick<MarketData, 'adjustment'>): readonly ReturnVariant[] {
  return adjustment === 'total' ? ['total'] : ['price', 'total', 'net'];
}

/** Returns the variant of a level on a market if its treatment requests a variant. */
export function resolveVariant(market: Pick<MarketData, 'adjustment'>, asked: ReturnVariant): ReturnVariant {
  return listVariants(market).includes(asked) ? asked : 'total';
}

/** Equal variant of each one if no tax is withheld. */
export const UNTAXED_TWINS: Readonly<Record<ReturnVariant, ReturnVariant>> = {
  price: 'price',
  total: 'net',
  net: 'total',
};

/** Returns true if a market has any cash action, on any day and with any status. */
export function hasCash({ actions, settledCash = false }: Pick<MarketData, 'actions' | 'settledCash'>): boolean {
  return settledCash || actions.some(({ type }) => ACTION_KINDS[type] === 'cash');
}
