import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';

/** Maximum number of decimals: the digits of a float64. */
const DECIMALS_MAX = 15;

const defineDecimals = (label: string, help: string) =>
  z.int().min(0).max(DECIMALS_MAX).optional().meta({ label, help, unit: 'decimals' });

/** Numbers of decimals to which an index is rounded, halves away from zero. A value without a member is not rounded. */
export const RoundingSpec = defineObject(() => ({
  level: defineDecimals(
    'Level',
    'Decimals of published, exported and printed levels. The calculation uses full precision.',
  ),
  divisor: defineDecimals('Divisor', 'Decimals of the divisor in the calculation. It is rounded whenever it changes.'),
  shares: defineDecimals(
    'Index shares',
    'Decimals of index shares in the calculation. They are rounded whenever they change. Requires base_market_value.',
  ),
  weights: defineDecimals(
    'Weights',
    'Decimals of published, exported and printed weights. The calculation uses full precision.',
  ),
})).meta({ id: 'RoundingSpec' });
export type RoundingSpec = z.infer<typeof RoundingSpec>;
