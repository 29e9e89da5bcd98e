import type { ReturnVariant } from '#domain/market/market-data.js';

/** What is reinvested of the dividends, as reports name it. */
export const RETURN_NAMES: Readonly<Record<ReturnVariant, string>> = {
  price: 'price return',
  total: 'total return',
  net: 'net total return',
};
