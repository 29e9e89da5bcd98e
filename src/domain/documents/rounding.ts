import { z } from 'zod';

/** Digits of a float64. */
const DECIMALS_MAX = 15;

const decimals = (label: string, help: string) =>
  z.int().min(0).max(DECIMALS_MAX).optional().meta({ label, help, unit: 'decimals' });

/** Decimals of an index, a half away from zero; what is not named is not rounded. */
export const RoundingSpec = z
  .strictObject({
    level: decimals('Level', 'Of published, exported and printed levels. They are computed in full.'),
    divisor: decimals('Divisor', 'Of the divisor, in the calculation: whenever it changes.'),
    shares: decimals(
      'Index shares',
      'Of index shares, in the calculation: whenever they change. It needs base_market_value.',
    ),
    weights: decimals('Weights', 'Of published, exported and printed weights. They are computed in full.'),
  })
  .meta({ id: 'RoundingSpec' });
export type RoundingSpec = z.infer<typeof RoundingSpec>;
