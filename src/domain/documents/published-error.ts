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
    description: 'Sessions, with the last one, within which a material error is restated; an older one is announced.',
    example: 10,
  }),
})).meta({
  id: 'ErrorPolicy',
  description:
    'Differences below the threshold are left, material ones are restated within the window and announced after it.',
});
export type ErrorPolicy = z.infer<typeof ErrorPolicy>;

export const ERROR_DECISIONS = ['restated', 'announced', 'left'] as const;
export type ErrorDecision = (typeof ERROR_DECISIONS)[number];

/** Change of a level at one close. */
export const LevelChange = defineObject(() => ({
  date: z.string(),
  variant: z.enum(['price', 'total', 'net']).meta({ description: 'Level.' }),
  published: z.number().meta({ description: 'Index points.' }),
  run: z.number().meta({ description: 'Index points of the run.' }),
  change: z.number().meta({ description: 'Run less published, index points.' }),
  change_bps: z.number().meta({ description: 'The change over the published level, in basis points.' }),
})).meta({ id: 'LevelChange' });
export type LevelChange = z.infer<typeof LevelChange>;

/** Difference between published closes and a run, with the decision; a stored entry never changes. */
export const PublishedError = defineObject(() => ({
  seq: z.int().min(1).meta({ description: 'From 1, without a gap, by index.' }),
  index_id: z.string(),
  at: z.string().meta({ description: 'Time of the decision, ISO-8601 UTC with offset.' }),
  author: z.string().meta({ description: 'Name of the key; of a schedule, its author.' }),
  decision: z.enum(ERROR_DECISIONS).meta({
    description: '`restated`: closes were published again. `announced` and `left`: published closes stand.',
  }),
  policy: ErrorPolicy.nullable().meta({ description: 'Policy that decided; null for a decision of a person.' }),
  first: z.string().meta({ description: 'First date that differs.' }),
  last: z.string().meta({ description: 'Last date that differs.' }),
  dates: z.int().min(1).meta({ description: 'Dates that differ.' }),
  material_from: z
    .string()
    .nullable()
    .meta({ description: 'First date with a material difference; null if none is, or without a policy.' }),
  restated: z.int().min(0).meta({ description: 'Closes that were published again.' }),
  largest: LevelChange.nullable().meta({
    description: 'Largest change of a level; null if only divisor or composition differ.',
  }),
  run_id: z.string().meta({ description: 'Run that differs.' }),
  reason: z.string().meta({ description: 'Reason for the decision.' }),
  notice: z.string().meta({ description: 'Notice for clients.' }),
  digest: z.string().meta({ description: 'SHA-256 of the differences: the same ones are registered once.' }),
})).meta({ id: 'PublishedError', description: 'An entry of the register of errors.' });
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
  const size = `The largest difference is ${formatNumber(Number(largest >= 1 ? largest.toFixed(2) : largest.toPrecision(3)))} bp`;
  if (first === undefined)
    return { decision: 'left', materialFrom: null, reason: `${size}, below the threshold of ${materiality} bp.` };
  const age = `began ${first.age} session${first.age === 1 ? '' : 's'} ago`;
  const isRecent = first.age <= window;
  return {
    decision: isRecent ? 'restated' : 'announced',
    materialFrom: first.date,
    reason: `${size}, at or above the threshold of ${materiality} bp, and ${age}, ${isRecent ? 'within' : 'outside'} the window of ${window} sessions.`,
  };
}
