import { raiseToPower } from '#kernels/power.js';
import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import type { Day } from '../time/days.js';
import { parseValidDay } from '../time/days.js';
import { IsoDate } from '../schema/shape.js';

/** Mean length of a year in days. */
const YEAR_DAYS = 365.25;

export const BoundPath = defineObject(() => ({
  base: z.union([z.number(), IsoDate]).meta({
    description:
      'Value at the base, or a base date. With a date, the value is that of the parent at its latest review on or before this date.',
  }),
  yearly: z.number().gt(-1).max(10).meta({
    description:
      'Change per year, a fraction: -0.07 lowers the bound by 7% per year. The number of years is the number of days divided by 365.25.',
    unit: 'fraction',
  }),
  times: z
    .number()
    .default(1)
    .meta({ description: 'Multiple of the value at the base. With 0.5, the bound starts at half of this value.' }),
  from: IsoDate.optional().meta({
    description: 'Start of the first year if `base` is a value. Default: the base date of the index.',
  }),
})).meta({ id: 'BoundPath', description: 'Bound that changes by a fraction every year.' });
export type BoundPath = z.infer<typeof BoundPath>;

export const isBoundPath = (bound: unknown): bound is BoundPath =>
  typeof bound === 'object' && bound !== null && 'yearly' in bound;

export interface PathTerms {
  /** Day of the decision. */
  readonly day: Day;
  /** Base date of the index. */
  readonly baseDay: Day;
  /** Returns the value of the source index at the latest source review on or before a day. */
  readonly valueAt: (day: Day) => number;
}

/** Returns the value of a bound path on the decision day. */
export function computeValueOnPath(
  { base, yearly, times, from }: BoundPath,
  { day, baseDay, valueAt }: PathTerms,
): number {
  const start = typeof base === 'string' ? parseValidDay(base) : from === undefined ? baseDay : parseValidDay(from);
  const value = typeof base === 'string' ? valueAt(Math.min(start, day)) : base;
  const years = Math.max(0, day - start) / YEAR_DAYS;
  return times * value * raiseToPower(1 + yearly, years);
}
