import { z } from 'zod';
import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams, datapoint, lowerAtMostUpper, hasBound, requireNumber, side } from '../parameters.js';
import { createParameterLimit, type LinearRow } from '../program-row.js';
import { createLabel } from '../../datapoints/expressions/print.js';
import { toRequest } from '../../datapoints/field-use.js';

export const weightedAverage = defineConstraintClass({
  type: 'WeightedAverage',
  label: 'Weighted average',
  help: 'The weighted average of a datapoint over the invested weight is between two bounds, or between two multiples of the average of the index.',
  kind: 'ineq',
  unit: 'value',
  convex: true,
  params: defineConstraintParams({
    field: datapoint,
    lower: side.meta({ label: 'Lower', help: 'Smallest average, or multiple of the average of the index.' }),
    upper: side.meta({ label: 'Upper', help: 'Largest average, or multiple of the average of the index.' }),
    relative: z
      .boolean()
      .default(false)
      .meta({ label: 'Relative', help: 'If true, the bounds are multiples of the average of the index.' }),
    missing: z.enum(['zero', 'renormalise']).default('zero').meta({
      label: 'Missing values',
      help: 'Treatment of a security without a value: it is excluded from the average (renormalise), or its value is zero (zero).',
      stated: 'renormalise',
    }),
  })
    .refine(...lowerAtMostUpper)
    .refine(...hasBound),
  example: { id: 'carbon', type: 'WeightedAverage', params: { field: 'CARBON_INTENSITY', upper: 0.5, relative: true } },
  toRows: ({ field, lower, upper, relative, missing }, context) => {
    const values = context.numbers(field);
    context.missing({
      field: createLabel(toRequest(field)),
      values,
      effect: missing === 'zero' ? 'their value is zero' : 'they are excluded',
    });
    const numerator = values.map((value) => (Number.isNaN(value) ? 0 : value));
    const denominator = values.map((value) => (missing === 'renormalise' && Number.isNaN(value) ? 0 : 1));
    const scale = relative ? computeAverage(context.index, numerator, denominator) : 1;
    const createRow = (bound: number, parameter: 'lower' | 'upper'): LinearRow => ({
      form: 'linear',
      coefficients: numerator.map((value, i) => value - bound * scale * denominator[i]!),
      lower: parameter === 'lower' ? createParameterLimit(0, parameter, scale) : null,
      upper: parameter === 'upper' ? createParameterLimit(0, parameter, scale) : null,
      member: null,
      average: { numerator, denominator, scale },
    });
    return [
      ...(lower === null ? [] : [createRow(requireNumber(lower), 'lower')]),
      ...(upper === null ? [] : [createRow(requireNumber(upper), 'upper')]),
    ];
  },
  measureOf({ field, missing, relative }, { weights, numbers }) {
    if (relative) return 1;
    const values = numbers(field);
    const numerator = values.map((value) => (Number.isNaN(value) ? 0 : value));
    const denominator = values.map((value) => (missing === 'renormalise' && Number.isNaN(value) ? 0 : 1));
    return computeAverage(weights, numerator, denominator);
  },
});

function computeAverage(weights: Float64Array, numerator: Float64Array, denominator: Float64Array): number {
  let numeratorSum = 0;
  let denominatorSum = 0;
  for (let i = 0; i < weights.length; i++) {
    numeratorSum += weights[i]! * numerator[i]!;
    denominatorSum += weights[i]! * denominator[i]!;
  }
  return denominatorSum === 0 ? 0 : numeratorSum / denominatorSum;
}
