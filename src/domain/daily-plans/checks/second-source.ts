import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { Id } from '../../schema/shape.js';
import { formatDay } from '../../time/days.js';
import { defineCheckKind, LEVEL_VARIANTS, defineSeverity } from './check-kind.js';

const help = 'The level equals the level of a second source, a series of the store.';

export const secondSourceFields = {
  series: z.record(Id, z.string().min(1).max(64)).meta({
    description: 'Series by index. Indices that are not listed have no second source.',
    example: { 'LARGE-100': 'LARGE_100_CALC' },
  }),
  tolerance_bps: z
    .number()
    .min(0)
    .max(10_000)
    .default(1)
    .meta({ description: 'Largest difference, in basis points of the level.' }),
  variant: z.enum(LEVEL_VARIANTS).default('price').meta({ description: 'Return variant of the series.' }),
};

export const secondSourceCheck = defineCheckKind({
  schema: defineObject(() => ({
    check: z.literal('second_source'),
    severity: defineSeverity('block'),
    ...secondSourceFields,
  })).meta({ id: 'SecondSourceCheck', description: help }),
  help,
  needsRun: true,
  reads: ['levels'],
  judge({ indexId, date, levels, seriesOn }, { series, tolerance_bps: tolerance, variant }) {
    const name = series[indexId];
    if (name === undefined) return [];
    const level = levels.get(date)?.[variant];
    if (level == null) return [{ identifier: name, message: `The run has no ${variant} level on ${formatDay(date)}.` }];
    const otherValue = seriesOn(name, date);
    if (Number.isNaN(otherValue)) return [{ identifier: name, message: `${name} has no value on ${formatDay(date)}.` }];
    const bps = 1e4 * (level / otherValue - 1);
    if (Math.abs(bps) <= tolerance) return [];
    const message = `The level is ${level}, and the level of ${name} is ${otherValue}. The difference is ${Number(bps.toPrecision(4))} bp; the tolerance is ${tolerance} bp.`;
    return [{ identifier: name, message, measure: { value: bps, limit: tolerance, unit: 'bp' } }];
  },
});
