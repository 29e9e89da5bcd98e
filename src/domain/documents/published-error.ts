import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { formatNumber } from '../catalogue/sentence-numbers.js';

/** Maximum number of sessions of a correction window: four years. */
const WINDOW_MAX = 1040;

/** Policy for published closes that differ from a later run. */
export const ErrorPolicy = defineObject(() => ({
  materiality_bps: z
    .number()
    .positive()
    .max(10_000)
    .meta({ description: 'Smallest difference of a level that is material, in basis points.', example: 5 }),
  correction_window: z.int().min(1).max(WINDOW_MAX).meta({
    description: 'Number of latest sessions within which a material error is restated. An older error is announced.',
    example: 10,
  }),
})).meta({
  id: 'ErrorPolicy',
  description:
    'Differences below the threshold are left unchanged. Material differences are restated within the window, and announced after it.',
});
export type ErrorPolicy = z.infer<typeof ErrorPolicy>;

export const ERROR_DECISIONS = ['restated', 'announced', 'left'] as const;
export type ErrorDecision = (typeof ERROR_DECISIONS)[number];

/** Change of a level at one close. */
export const LevelChange = defineObject(() => ({
  date: z.string(),
  variant: z.enum(['price', 'total', 'net']).meta({ description: 'Level.' }),
  published: z.number().meta({ description: 'Index points.' }),
  run: z.number().meta({ description: 'Level of the run in index points.' }),
  change: z.number().meta({ description: 'Level of the run less published level, in index points.' }),
  change_bps: z.number().meta({ description: 'Change relative to the published level, in basis points.' }),
})).meta({ id: 'LevelChange' });
export type LevelChange = z.infer<typeof LevelChange>;

/** Difference between published closes and a run, with the decision about it. A stored entry never changes. */
export const PublishedError = defineObject(() => ({
  seq: z.int().min(1).meta({ description: 'Number, from 1 without gaps, counted by index.' }),
  index_id: z.string(),
  at: z.string().meta({ description: 'Time of the decision, ISO-8601 UTC with offset.' }),
  author: z.string().meta({ description: 'Name of the key; for a schedule, its author.' }),
  decision: z.enum(ERROR_DECISIONS).meta({
    description: '`restated`: closes were published again. `announced` and `left`: published closes did not change.',
  }),
  policy: ErrorPolicy.nullable().meta({ description: 'Policy of the decision; null for a decision of a person.' }),
  first: z.string().meta({ description: 'First date with a difference.' }),
  last: z.string().meta({ description: 'Last date that differs.' }),
  dates: z.int().min(1).meta({ description: 'Number of dates with a difference.' }),
  material_from: z.string().nullable().meta({
    description: 'First date with a material difference. Null if there is none, and for a decision without a policy.',
  }),
  restated: z.int().min(0).meta({ description: 'Closes that were published again.' }),
  largest: LevelChange.nullable().meta({
    description: 'Largest change of a level; null if only divisor or composition differ.',
  }),
  run_id: z.string().meta({ description: 'Run with the difference.' }),
  reason: z.string().meta({ description: 'Reason for the decision.' }),
  notice: z.string().meta({ description: 'Notice for clients.' }),
  digest: z.string().meta({ description: 'SHA-256 of the differences. Equal differences are registered once.' }),
})).meta({ id: 'PublishedError', description: 'Entry of the register of errors.' });
export type PublishedError = z.infer<typeof PublishedError>;

/** Size of the difference on a published date. */
export interface DatedDifference {
  readonly date: string;
  /** Largest absolute change of a level, in basis points. */
  readonly bps: number;
  /** Number of sessions from this date to the last close, both inclusive. */
  readonly age: number;
}

export interface DecidedError {
  readonly decision: ErrorDecision;
  /** First date with a material difference; null if no difference is material. */
  readonly materialFrom: string | null;
  readonly reason: string;
}

/** Decides on differences according to a policy. @param differences by date, ascending */
export function decideError(
  { materiality_bps: materiality, correction_window: window }: ErrorPolicy,
  differences: readonly DatedDifference[],
): DecidedError {
  const first = differences.find(({ bps }) => bps >= materiality);
  const largest = Math.max(0, ...differences.map(({ bps }) => bps));
  const sizeText = `The largest difference is ${formatNumber(Number(largest >= 1 ? largest.toFixed(2) : largest.toPrecision(3)))} bp`;
  if (first === undefined)
    return { decision: 'left', materialFrom: null, reason: `${sizeText}, below the threshold of ${materiality} bp.` };
  const ageText = `began ${first.age} session${first.age === 1 ? '' : 's'} ago`;
  const isRecent = first.age <= window;
  return {
    decision: isRecent ? 'restated' : 'announced',
    materialFrom: first.date,
    reason: `${sizeText}, at or above the threshold of ${materiality} bp, and ${ageText}, ${isRecent ? 'within' : 'outside'} the window of ${window} sessions.`,
  };
}
