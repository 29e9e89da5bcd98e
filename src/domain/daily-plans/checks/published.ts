import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { formatDay } from '../../time/days.js';
import { defineCheckKind, LEVEL_VARIANTS, defineSeverity } from './check-kind.js';

const help = 'The levels of the run equal the published levels.';

export const publishedCheck = defineCheckKind({
  schema: defineObject(() => ({
    check: z.literal('published'),
    severity: defineSeverity('block'),
    tolerance_bps: z
      .number()
      .min(0)
      .max(10_000)
      .default(0)
      .meta({ description: 'Largest difference, in basis points of the level.' }),
  })).meta({ id: 'PublishedCheck', description: help }),
  help,
  needsRun: true,
  reads: ['levels', 'published'],
  judge({ levels, published: publishedLevels }, { tolerance_bps: tolerance }) {
    let largest = { bps: 0, day: Number.NaN };
    let count = 0;
    for (const [day, entry] of publishedLevels) {
      const level = levels.get(day);
      if (level === undefined) continue;
      const bps = Math.max(
        ...LEVEL_VARIANTS.map((variant) => {
          const [now, then] = [level[variant], entry[variant]];
          return now === null || then === null ? 0 : Math.abs(1e4 * (now / then - 1));
        }),
      );
      if (bps <= tolerance) continue;
      count++;
      if (bps > largest.bps) largest = { bps, day };
    }
    if (count === 0) return [];
    const closesText = `${count} published ${count === 1 ? 'close' : 'closes'}`;
    const message = `The run differs from ${closesText}. The largest difference is ${Number(largest.bps.toPrecision(4))} bp, on ${formatDay(largest.day)}.`;
    return [{ identifier: null, message, measure: { value: largest.bps, limit: tolerance, unit: 'bp' } }];
  },
});
