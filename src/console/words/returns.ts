import type { PerformanceView } from '#clients/typescript/divisor.js';

type Variant = PerformanceView['return_variant'] | 'raw';

const RETURNS: Readonly<Record<Variant, string>> = {
  price: 'price return',
  total: 'total return',
  net: 'net total return',
  raw: 'unadjusted levels',
};

/** Returns the label of a return variant, for example `price return`. */
export const returnText = (variant: Variant): string => RETURNS[variant];

/**
 * Formats a name with its return variant, for example `EQ, price return`. If the variant is unknown, returns only the
 * name.
 */
export const addReturn = (name: string, variant: Variant | null | undefined): string =>
  variant === null || variant === undefined ? name : `${name}, ${returnText(variant)}`;
