import type { ReturnVariant } from '#domain/market/market-data.js';

/** Labels of the return variants in reports. */
export const RETURN_NAMES: Readonly<Record<ReturnVariant, string>> = {
  price: 'price return',
  total: 'total return',
  net: 'net total return',
};
