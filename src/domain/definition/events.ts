import { z } from 'zod';
import { AssetIdentifier, defineObject } from '../base/schema.js';
import { RebalanceSpec } from './schedule.js';

const RESERVE_MAX = 1_000;

/** Maximum rank, larger than any universe. */
const RANK_MAX = 20_000;

const rankSchema = z.int().min(1).max(RANK_MAX);
const fieldSchema = z.string().min(1).max(64).default('FREE_FLOAT_MARKET_CAP');

export const FastEntrySpec = defineObject(() => ({
  rank: rankSchema.meta({ label: 'Rank', help: 'A new security enters if it ranks at or above this rank.' }),
  field: fieldSchema.meta({
    label: 'Ranked by',
    help: 'Datapoint by which constituents and candidates are ranked, largest first.',
  }),
  after_sessions: z.int().min(0).max(250).default(1).meta({
    label: 'After',
    help: 'A new security is ranked at the close of this number of sessions after its first price.',
    unit: 'sessions',
  }),
})).meta({ id: 'FastEntrySpec' });

export const FastExitSpec = defineObject(() => ({
  rank: rankSchema.meta({ label: 'Rank', help: 'A constituent leaves if it ranks below this rank.' }),
  field: fieldSchema.meta({
    label: 'Ranked by',
    help: 'Datapoint by which constituents and candidates are ranked, largest first.',
  }),
  schedule: RebalanceSpec.prefault({ frequency: 'monthly' }).meta({
    label: 'Schedule',
    help: 'Dates on which constituents are ranked, in the form of `rebalance` of the document. Default: monthly.',
  }),
})).meta({ id: 'FastExitSpec' });

/** Changes of an index between its reviews. */
export const EventsSpec = defineObject(() => ({
  share_changes: z.enum(['review', 'effective']).default('review').meta({
    label: 'Share and float changes',
    help: 'Share changes wait for the next review (review), or apply after the close before their date (effective). Index shares are then scaled and the divisor is adjusted. Only for weightings by market value.',
  }),
  threshold: z
    .number()
    .min(0)
    .max(1)
    .default(0.05)
    .meta({
      label: 'Threshold',
      help: 'Smallest change that is applied between reviews, relative to the counts that were adopted last.',
      unit: 'fraction',
      when: [{ share_changes: ['effective'] }],
    }),
  replacement: z.enum(['none', 'next_ranked', 'reserve']).default('none').meta({
    label: 'Replacement',
    help: 'Replacement of a constituent that leaves between reviews: no security (none), the best-ranked security that the last review did not select and that still passes the rules (next_ranked), or the first of a list (reserve).',
  }),
  reserve: z
    .array(AssetIdentifier)
    .min(1)
    .max(RESERVE_MAX)
    .optional()
    .meta({
      label: 'Reserve',
      help: 'Identifiers, in the order in which they enter.',
      when: [{ replacement: ['reserve'] }],
    }),
  fast_entry: FastEntrySpec.optional().meta({
    label: 'Fast entry',
    help: 'New securities can enter between reviews. Each of them replaces the lowest-ranked constituent.',
  }),
  fast_exit: FastExitSpec.optional().meta({
    label: 'Fast exit',
    help: 'Constituents can leave between reviews. The best-ranked security outside the index replaces each of them.',
  }),
  acquirer: z.enum(['convert', 'remove']).default('convert').meta({
    label: 'Acquirer outside the universe',
    help: 'A constituent that merges into a security outside the universe is converted into it (convert), or leaves at its last price (remove).',
  }),
})).meta({ id: 'EventsSpec' });
export type EventsSpec = z.infer<typeof EventsSpec>;

/** Returns true if constituents of an index may change between reviews for reasons other than corporate actions. */
export function changesMembers(events: EventsSpec | undefined): events is EventsSpec {
  if (events === undefined) return false;
  return events.replacement !== 'none' || events.fast_entry !== undefined || events.fast_exit !== undefined;
}
