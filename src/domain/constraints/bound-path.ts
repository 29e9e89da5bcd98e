import { powerOf } from '#kernels/power.js';
import { z } from 'zod';
import type { Day } from '../time/days.js';
import { dayFrom } from '../time/days.js';
import { IsoDate } from '../schema/shape.js';

/** Mean length of a year, days. */
const YEAR_DAYS = 365.25;

export const BoundPath = z
  .strictObject({
    base: z.union([z.number(), IsoDate]).meta({
      description:
        'Value at the base, or the base date: the value then is that of the source index at its review on or before it.',
    }),
    yearly: z.number().gt(-1).max(10).meta({
      description: 'Change a year, a fraction: -0.07 lowers the bound by 7 % a year. Years are days over 365.25.',
      unit: 'fraction',
    }),
    times: z.number().default(1).meta({ description: 'Multiple of the value at the base: 0.5 begins at half of it.' }),
    from: IsoDate.optional().meta({
      description: 'Day from which years count where `base` is a value. Default: the base date of the index.',
    }),
  })
  .meta({ id: 'BoundPath', description: 'A bound that changes by a fraction a year.' });
export type BoundPath = z.infer<typeof BoundPath>;

export const isBoundPath = (bound: unknown): bound is BoundPath =>
  typeof bound === 'object' && bound !== null && 'yearly' in bound;

export interface PathTerms {
  /** Of the decision. */
  readonly day: Day;
  /** Base date of the index. */
  readonly baseDay: Day;
  /** Value of the source index at its review on or before a day. */
  readonly valueAt: (day: Day) => number;
}

/** The value of a path on the day of a decision: that at the base up to its day. */
export function valueOnPath({ base, yearly, times, from }: BoundPath, { day, baseDay, valueAt }: PathTerms): number {
  const start = typeof base === 'string' ? dayFrom(base) : from === undefined ? baseDay : dayFrom(from);
  const value = typeof base === 'string' ? valueAt(Math.min(start, day)) : base;
  const years = Math.max(0, day - start) / YEAR_DAYS;
  return times * value * powerOf(1 + yearly, years);
}
