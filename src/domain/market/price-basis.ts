import { ACTION_KINDS, type MarketData, type ReturnVariant } from './market-data.js';

/**
 * Returns the return variants that can be computed from the prices of a market. Prices that include dividends permit
 * only the total return.
 */
export function listVariants({ adjustment }: Pick<MarketData, 'adjustment'>): readonly ReturnVariant[] {
  return adjustment === 'total' ? ['total'] : ['price', 'total', 'net'];
}

/** Returns the variant of a level on a market for a requested variant. */
export function resolveVariant(market: Pick<MarketData, 'adjustment'>, requestedVariant: ReturnVariant): ReturnVariant {
  return listVariants(market).includes(requestedVariant) ? requestedVariant : 'total';
}

/** Variant that each return variant equals if no tax is withheld. */
export const UNTAXED_VARIANTS: Readonly<Record<ReturnVariant, ReturnVariant>> = {
  price: 'price',
  total: 'net',
  net: 'total',
};

/** Returns true if a market has any cash action, on any day and with any status. */
export function hasCash({ actions, settledCash = false }: Pick<MarketData, 'actions' | 'settledCash'>): boolean {
  return settledCash || actions.some(({ type }) => ACTION_KINDS[type] === 'cash');
}
