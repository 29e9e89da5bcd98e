import { z } from 'zod';
import { stale, type Stateless } from '../run-state.js';

const aDate = (description: string) => z.array(z.number()).meta({ description: `${description} One value a date.` });

export const EXPOSURE_INTERVALS = ['native', 'weekly', 'monthly'] as const;

export const ExposuresView = z
  .strictObject({
    ...stale,
    index_id: z.string(),
    by: z.string().meta({
      description:
        'Reference column, as known on each date, UNCLASSIFIED without a value; IDENTIFIER makes each name its own group.',
    }),
    dates: z.array(z.string()).meta({ description: 'Dates of the run; of a coarser interval the last of each.' }),
    groups: z
      .array(z.strictObject({ group: z.string(), weights: aDate('Sum of the held weights.') }))
      .meta({ description: 'By average weight, largest first; OTHERS last. They sum to the invested weight.' }),
    concentration: z
      .strictObject({
        herfindahl: aDate('Sum of squared weights.'),
        effective: aDate('1 over it; 0 without a weight.'),
        largest: aDate('Largest weight; a short position by its magnitude.'),
      })
      .meta({ id: 'ConcentrationSeries' }),
  })
  .meta({ id: 'ExposuresView' });
export type ExposuresView = Stateless<z.infer<typeof ExposuresView>>;
