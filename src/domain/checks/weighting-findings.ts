import { readsConstituents } from '../datapoints/expressions/reads.js';
import { isShaped } from '../datapoints/expressions/expression.js';
import { formatNumber } from '../catalogue/sentence-numbers.js';
import { LadderCaps, PhaseIn } from '../documents/weighting-spec.js';
import type { Finding } from '../refusals/findings.js';
import { createError, isObject, type UncheckedBody } from './index-context.js';
import { findUnknownMembers } from './unknown-members.js';

/** Reports limits of a weighting that contradict each other or have no effect, and unknown members. */
export function checkWeighting(weighting: UncheckedBody, weightingPath: string): Finding[] {
  return [
    ...reportScaling(weighting, weightingPath),
    ...reportFloor(weighting, weightingPath),
    ...reportLadder(weighting, weightingPath),
    ...reportCapBy(weighting, weightingPath),
    ...reportPhase(weighting['phase_in'], weightingPath),
  ];
}

/** Reports given weights of securities that are scaled, because they do not sum to 1. */
function reportScaling({ params }: UncheckedBody, weightingPath: string): Finding[] {
  if (!isObject(params) || params['renormalise'] === false || !isObject(params['weights'])) return [];
  const weights = Object.values(params['weights']);
  const sum = weights.reduce<number>(
    (total, weight) => total + (typeof weight === 'number' && weight >= 0 ? weight : Number.NaN),
    0,
  );
  if (!(Math.abs(sum - 1) > WEIGHTS_TOLERANCE)) return [];
  const path = `${weightingPath}.params.weights`;
  const message = `The weights of ${path} sum to ${formatNumber(sum)}. They are scaled to a sum of 1.`;
  return [{ severity: 'warning', code: 'WEIGHTS_NOT_ONE', path, message, value: formatNumber(sum) }];
}

/** Distance of a sum of weights from 1 that is a rounding error. */
const WEIGHTS_TOLERANCE = 1e-9;

function reportFloor({ floor, cap, cap_by: by }: UncheckedBody, weightingPath: string): Finding[] {
  if (typeof floor !== 'number' || typeof cap !== 'number' || floor <= cap || isPresent(by)) return [];
  return [
    createError('EMPTY_RANGE', `${weightingPath}.floor`, `The floor of ${floor} is above the cap of ${cap}.`, {
      value: floor,
    }),
  ];
}

const isPresent = (value: unknown): boolean => value !== undefined && value !== null;

/** Reports limits that would change the weights set by laddered caps. */
function reportLadder(
  { ladder_caps: ladder, cap, floor, group_caps: groups }: UncheckedBody,
  weightingPath: string,
): Finding[] {
  if (!isObject(ladder)) return [];
  const path = `${weightingPath}.ladder_caps`;
  const { single, group } = LadderCaps.shape;
  const otherLimits = [
    ...(isPresent(cap) ? ['cap'] : []),
    ...(isPresent(floor) ? ['floor'] : []),
    ...(Array.isArray(groups) && groups.length > 0 ? ['group_caps'] : []),
  ];
  return [
    ...findUnknownMembers(ladder, Object.keys(LadderCaps.shape), path),
    ...findUnknownMembers(ladder['single'], Object.keys(single.unwrap().shape), `${path}.single`),
    ...findUnknownMembers(ladder['group'], Object.keys(group.unwrap().shape), `${path}.group`),
    ...otherLimits.map((other) =>
      createError(
        'CAP_INFEASIBLE',
        `${weightingPath}.${other}`,
        `${weightingPath}.${other} cannot be combined with ${path}, because it would move weights beyond the stages.`,
      ),
    ),
  ];
}

function reportCapBy({ cap_by: by, cap, ladder_caps: ladder }: UncheckedBody, weightingPath: string): Finding[] {
  if (!isPresent(by) || isPresent(cap) || isPresent(ladder)) return [];
  const message = `${weightingPath}.cap_by is ${String(by)} and has no effect, because neither cap nor ladder_caps is present.`;
  return [{ severity: 'warning', code: 'NO_EFFECT', path: `${weightingPath}.cap_by`, message }];
}

/**
 * Reports a phase-in field that depends on the constituents. A decision does not know the values of such a field at
 * earlier reviews.
 */
function reportPhase(phaseIn: unknown, weightingPath: string): Finding[] {
  if (!isObject(phaseIn)) return [];
  const path = `${weightingPath}.phase_in`;
  const { field } = phaseIn;
  return [
    ...findUnknownMembers(phaseIn, Object.keys(PhaseIn.shape), path),
    ...(isShaped(field) && readsConstituents(field, new Map())
      ? [
          createError(
            'BAD_EXPRESSION',
            `${path}.field`,
            `${path}.field cannot use is_constituent(), because earlier reviews are also read.`,
          ),
        ]
      : []),
  ];
}
