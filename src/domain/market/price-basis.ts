import { ACTION_KINDS, type MarketData, type ReturnVariant } from './market-data.js';

/**
 * Return variants of which a level can be made from the prices of a market: those that include dividends already give a
 * total return alone.
 */
export function variantsOn({ adjustment }: Pick<MarketData, 'adjustment'>): readonly ReturnVariant[] {
  return adjustment === 'total' ? ['total'] : ['price', 'total', 'net'];
}

/** The return that a level has on a market when its treatment asks for a variant. */
export function variantOn(market: Pick<MarketData, 'adjustment'>, asked: ReturnVariant): ReturnVariant {
  return variantsOn(market).includes(asked) ? asked : 'total';
}

/** The variant that each one equals where nothing is withheld. */
export const UNTAXED_TWINS: Readonly<Record<ReturnVariant, ReturnVariant>> = {
  price: 'price',
  total: 'net',
  net: 'total',
};

/** Whether a market has any cash action, of whatever day and status. */
export function hasCash({ actions, settledCash = false }: Pick<MarketData, 'actions' | 'settledCash'>): boolean {
  return settledCash || actions.some(({ type }) => ACTION_KINDS[type] === 'cash');
}
