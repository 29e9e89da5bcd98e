import type { Block } from './block.js';
import { compareByDate, createSeriesBlock } from './parts.js';

/**
 * Ratio of the divisor before rounding to the rounded divisor at each close. Index shares refer to the divisor before
 * rounding.
 */
export const exactDivisor: Block<'f64'> = {
  ...createSeriesBlock({
    axes: ['index dates'],
    meaning: 'divisor before over divisor after its rounding at each close; absent if it is not rounded',
    compare: compareByDate(24),
    whole: ({ run }) => run.index.book.exactDivisor ?? null,
    added: ({ continuation }) => continuation.index.book.exactDivisor ?? null,
  }),
  upgrade: 'absent',
};
