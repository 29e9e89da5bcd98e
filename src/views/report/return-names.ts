import type { ReturnVariant } from '#domain/market/market-data.js';

/** Names of the return variants in reports, by their reinvestment of dividends. */
export const RETURN_NAMES: Readonly<Record<ReturnVariant, string>> = {
  price: 'price return',
  total: 'total return',
  net: 'net total return',
};
