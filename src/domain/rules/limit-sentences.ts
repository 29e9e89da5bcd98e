import { formatShare } from '../catalogue/sentence-numbers.js';
import { toRequest } from '../datapoints/field-use.js';
import { describeExpression } from '../datapoints/expressions/sentences.js';
import type { LadderCaps, WeightingSpec } from '../documents/weighting-spec.js';

/** Describes the phase-in, caps and floor of a weighting, one sentence each. */
export function describeLimits(weighting: WeightingSpec): string[] {
  const { floor, group_caps: groupCaps, ladder_caps: ladder, phase_in: phaseIn } = weighting;
  return [
    ...(phaseIn === undefined
      ? []
      : [
          `Raw weights are multiplied by ${describeExpression(toRequest(phaseIn.field))}, whose changes are phased in over ${phaseIn.steps} reviews in equal steps; a security without a value at an earlier review counts with its next one.`,
        ]),
    ...describeCap(weighting),
    ...(floor === null
      ? []
      : [
          `No constituent's weight is below ${formatShare(floor)} (or one over the number of constituents, if that is less).`,
        ]),
    ...groupCaps.map(
      ({ field, cap: limit, groups }) =>
        `No group of ${field}${groups === null ? '' : ` among ${groups.join(', ')}`} has a total weight above ${formatShare(limit)}.`,
    ),
    ...(ladder === undefined ? [] : describeLadder(ladder, weighting.cap_by)),
  ];
}

function describeCap({ cap, cap_by: by }: WeightingSpec): string[] {
  if (cap === null) return [];
  const spread = 'the excess is distributed over the others in proportion to their weights';
  if (typeof cap === 'number')
    return [
      by === undefined
        ? `No weight is above ${formatShare(cap)} (or one over the number of constituents, if that is more); ${spread}.`
        : `No group of ${by} has a total weight above ${formatShare(cap)} (or one over the number of groups, if that is more); ${spread}.`,
    ];
  const text = describeExpression(toRequest(cap));
  return [
    by === undefined
      ? `No weight is above ${text} of its constituent; ${spread}. A constituent whose cap is 0 or less is not held.`
      : `No group of ${by} has a total weight above the least ${text} among its constituents; ${spread}. A constituent whose cap is 0 or less is not held.`,
  ];
}

function describeLadder({ single, group }: LadderCaps, by: string | undefined): string[] {
  const [weight, weights] = by === undefined ? ['weight', 'weights'] : [`weight of a ${by}`, `weights of a ${by}`];
  return [
    ...(single === undefined
      ? []
      : [
          `If any ${weight} is above ${formatShare(single.above)}, no ${weight} is above ${formatShare(single.to)}; the excess is distributed over the others in proportion to their weights.`,
        ]),
    ...(group === undefined
      ? []
      : [
          `If the ${weights} above ${formatShare(group.each_above)} exceed ${formatShare(group.together_above)} in total, they are scaled to a total of ${formatShare(group.to)}; the others take the excess in proportion to their weights, each at most ${formatShare(group.each_above)}.`,
        ]),
  ];
}
