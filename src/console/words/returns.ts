import type { PerformanceView } from '#clients/typescript/divisor.js';

type Variant = PerformanceView['return_variant'] | 'raw';

const RETURNS: Readonly<Record<Variant, string>> = {
  price: 'price return',
  total: 'total return',
  net: 'net total return',
  raw: 'unadjusted levels',
};

/** `price return`: what is reinvested of the dividends in a series. */
export const returnText = (variant: Variant): string => RETURNS[variant];

/** Formats `EQ, price return`; only the name if the return is unknown. */
export const addReturn = (name: string, variant: Variant | null | undefined): string =>
  variant === null || variant === undefined ? name : `${name}, ${returnText(variant)}`;
