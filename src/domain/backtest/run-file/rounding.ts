import type { Block } from './block.js';
import { byDate, series } from './parts.js';

/** What rounding the divisor at a close did: index shares are those of the divisor before it. */
export const exactDivisor: Block<'f64'> = {
  ...series({
    axes: ['index dates'],
    meaning: 'divisor before over that after it was rounded at each close; absent where it is not rounded',
    compare: byDate(24),
    whole: ({ run }) => run.index.book.exactDivisor ?? null,
    added: ({ continuation }) => continuation.index.book.exactDivisor ?? null,
  }),
  upgrade: 'absent',
};
