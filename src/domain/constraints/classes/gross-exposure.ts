import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams, createFraction } from '../parameters.js';
import { createParameterLimit } from '../program-row.js';

/** Maximum limit. It is far above any portfolio, and below a limit that is stated in percent. */
const GROSS_MAX = 100;

export const grossExposure = defineConstraintClass({
  type: 'GrossExposure',
  label: 'Gross exposure',
  help: 'The sum of the absolute weights is at most a limit: 1.5 allows short positions of 0.25 if the weights add up to 1. Position bounds with a negative lower bound allow short positions.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  params: defineConstraintParams({
    upper: createFraction({ label: 'Upper', help: 'Largest sum of absolute weights.' }, { most: GROSS_MAX }),
  }),
  example: { id: 'gross', type: 'GrossExposure', params: { upper: 1.5 } },
  toRows: ({ upper }, { identifiers }) => [
    {
      form: 'distance',
      reference: new Float64Array(identifiers.length),
      fixed: 0,
      scale: 1,
      limit: createParameterLimit(upper, 'upper'),
      member: null,
    },
  ],
});
