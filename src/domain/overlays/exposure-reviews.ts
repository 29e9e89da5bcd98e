import { z } from 'zod';
import type { ExposureStep, OverlayContext, OverlayPath } from './overlay-type.js';
import { reportWithoutEffect, reportIdleMembers, type Remark } from './remarks.js';

/** Schema of the size of a change of exposure. */
const changeOfExposure = z.number().gt(0).max(10).optional();

/**
 * Dates and limits of changes of exposure. All are optional, so that stored documents without them remain unchanged.
 */
export const reviewFields = {
  tolerance: changeOfExposure.meta({
    description:
      'The exposure changes only if the target exposure differs from it by more than this value: 0.05 is 5 percentage points. Default: 0.',
  }),
  max_change: changeOfExposure.meta({
    description: 'Maximum change of the exposure at one review: 0.1 is 10 percentage points. Default: unlimited.',
  }),
  review: z.enum(['daily', 'monthly']).optional().meta({
    description:
      'Dates on which the exposure can change: after every close, or after the last close of a month. Default: daily.',
  }),
};

const schema = z.strictObject(reviewFields);
type Review = z.output<typeof schema>;

/**
 * Target exposures of an overlay, with the volatility of the underlying index, [T] each. The volatility is NaN before
 * the first return is known.
 */
export interface TargetExposures {
  readonly exposure: Float64Array;
  readonly volatility: Float64Array;
}

/** Exposures after each close, with a reason for each exposure, [T] each. */
export interface ReviewedExposures {
  readonly exposure: Float64Array;
  readonly reasons: readonly ExposureStep['reason'][];
}

/**
 * Returns exposures that follow their targets. They change on review dates if the difference exceeds the tolerance, and
 * by no more than the maximum.
 */
export function reviewExposures(
  targets: Float64Array,
  { tolerance, max_change: most, review }: Review,
  { monthEnds }: Pick<OverlayContext, 'monthEnds'>,
): ReviewedExposures {
  const ends = review === 'monthly' ? monthEnds() : null;
  const exposure = targets.slice();
  const reasons = Array.from(targets, (): ExposureStep['reason'] => 'target');
  for (let t = 1; t < targets.length; t++) {
    const before = exposure[t - 1]!;
    const change = targets[t]! - before;
    const isReview = ends === null || ends[t] !== ends[t - 1];
    if (!isReview || (tolerance !== undefined && Math.abs(change) <= tolerance)) {
      exposure[t] = before;
      reasons[t] = isReview ? 'within_tolerance' : 'no_review';
    } else if (most !== undefined && Math.abs(change) > most) {
      exposure[t] = before + Math.sign(change) * most;
      reasons[t] = 'max_change';
    }
  }
  return { exposure, reasons };
}

/** Explains the exposure of an overlay after a close. */
export function explainExposure(
  { exposure: targets, volatility }: TargetExposures,
  { exposure, reasons }: ReviewedExposures,
): NonNullable<OverlayPath['explain']> {
  return (t) => ({
    exposure: exposure[t]!,
    target: targets[t]!,
    before: t === 0 ? null : exposure[t - 1]!,
    volatility: Number.isNaN(volatility[t]) ? null : volatility[t]!,
    reason: reasons[t]!,
  });
}

export function describeReview({ tolerance, max_change: most, review = 'daily' }: Review): string[] {
  const isPlain = tolerance === undefined && most === undefined && review === 'daily';
  if (isPlain) return [];
  const reviewPhrase = review === 'monthly' ? 'after the last close of each month' : 'after each close';
  const exceptionPhrase =
    tolerance === undefined
      ? ''
      : ` if that differs by more than ${formatPoints(tolerance)} from the previous exposure`;
  const limitText = most === undefined ? '' : `, by at most ${formatPoints(most)} at once`;
  return [
    `The exposure is set to that leverage ${reviewPhrase}${exceptionPhrase}${limitText}; otherwise it stays unchanged, restored at each close. The first exposure is that leverage itself.`,
  ];
}

const formatPoints = (exposure: number): string =>
  `${exposure} (${Number((100 * exposure).toPrecision(12))} percentage points)`;

/** Reports settings that can have no effect. Target exposures are above 0 and at most the maximum leverage. */
export function listReviewRemarks({
  max_leverage: largest,
  ...spec
}: Review & { readonly max_leverage: number }): Remark[] {
  const { tolerance, max_change: most, review } = spec;
  if (tolerance !== undefined && tolerance >= largest) {
    const why = `tolerance is ${tolerance} and max_leverage ${largest}, so the first exposure never changes`;
    const reviewRemarks = review === 'monthly' ? [reportWithoutEffect('review', review, why)] : [];
    return [
      { ...reportWithoutEffect('tolerance', tolerance, why), message: describeUnchanged(tolerance, largest) },
      ...reportIdleMembers(schema, spec, { members: ['max_change'], why }),
      ...reviewRemarks,
    ];
  }
  if (most === undefined || most < largest) return [];
  return [reportWithoutEffect('max_change', most, `max_leverage is ${largest}, and no exposure changes by that much`)];
}

const describeUnchanged = (tolerance: number, largest: number): string =>
  `overlay.tolerance is ${tolerance} and max_leverage ${largest}: no target differs by more, and the exposure stays that of the first session.`;
