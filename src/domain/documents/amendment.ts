import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { IsoDate } from '../schema/shape.js';

/** Members of a document that an amendment can change. */
export const AMENDABLE_MEMBERS = [
  'universe',
  'rebalance',
  'reviews',
  'pipeline',
  'derivation',
  'overlay',
  'events',
  'rounding',
] as const;

/** Members of a treatment that determine the series of an index. */
export const FIXED_TREATMENT = ['dividends', 'reinvestment'] as const;

/** Maximum number of amendments of an index: two per year for half a century. */
const AMENDMENTS_MAX = 100;

/** Change of a methodology from a date on. The history before that date is unchanged. */
export const Amendment = defineObject(() => ({
  effective_from: IsoDate.meta({
    label: 'Effective from',
    help: 'The new version applies from the first review on or after this date. Earlier reviews use the previous version.',
  }),
  announced: IsoDate.optional().meta({ label: 'Announced', help: 'Date on which clients were informed.' }),
  reason: z.string().min(1).max(2_000).optional().meta({ label: 'Reason', help: 'Free text.', format: 'prose' }),
  rebalance: z.boolean().optional().meta({
    label: 'Rebalance',
    help: 'True rebalances on the first session on or after the date, instead of at the next review.',
  }),
  changes: z.record(z.string(), z.unknown()).meta({
    label: 'Changes',
    description: `JSON merge patch (RFC 7396) of the document. It can change the members ${AMENDABLE_MEMBERS.join(', ')}. Arrays are replaced as a whole.`,
  }),
})).meta({ id: 'Amendment' });
export type Amendment = z.infer<typeof Amendment>;

export const Amendments = z.array(Amendment).max(AMENDMENTS_MAX).meta({
  label: 'Amendments',
  description: 'Changes of the methodology by date, earliest first. The history before each date does not change.',
});
