import { z } from 'zod';
import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams, datapoint, lowerAtMostUpper, hasBound, requireNumber, side } from '../parameters.js';
import { createParameterLimit } from '../program-row.js';
import { createLabel } from '../../datapoints/expressions/print.js';
import { toRequest } from '../../datapoints/field-use.js';

export const factorExposure = defineConstraintClass({
  type: 'FactorExposure',
  label: 'Factor exposure',
  help: 'The exposure of the portfolio, or of its active weights, to a datapoint is between two bounds. A missing value is replaced by the mean.',
  kind: 'ineq',
  unit: 'value',
  convex: true,
  params: defineConstraintParams({
    field: datapoint,
    lower: side.meta({ label: 'Lower', help: 'Smallest exposure.' }),
    upper: side.meta({ label: 'Upper', help: 'Largest exposure.' }),
    standardise: z
      .boolean()
      .default(true)
      .meta({ label: 'Standardise', help: 'If true, exposures are z-scores over the securities.' }),
    active: z.boolean().default(false).meta({ label: 'Active', help: 'If true, the bounds apply to active weights.' }),
  })
    .refine(...lowerAtMostUpper)
    .refine(...hasBound),
  isSymmetric: true,
  example: {
    id: 'momentum',
    type: 'FactorExposure',
    params: { field: 'MOMENTUM', lower: -0.1, upper: 0.1, active: true },
  },
  toRows: ({ field, lower, upper, standardise, active }, context) => {
    const values = context.numbers(field);
    const coefficients = computeExposures(values, standardise);
    context.missing({ field: createLabel(toRequest(field)), values, effect: 'the mean is used instead' });
    let base = 0;
    if (active) for (let i = 0; i < coefficients.length; i++) base += coefficients[i]! * context.index[i]!;
    return [
      {
        form: 'linear',
        coefficients,
        lower: lower === null ? null : createParameterLimit(base + requireNumber(lower), 'lower'),
        upper: upper === null ? null : createParameterLimit(base + requireNumber(upper), 'upper'),
        member: null,
      },
    ];
  },
  measureOf({ field, standardise, active }, { weights, numbers }) {
    if (active) return 0;
    return computeExposures(numbers(field), standardise).reduce((sum, value, i) => sum + value * weights[i]!, 0);
  },
});

/**
 * Returns exposures in which gaps are filled by the mean. Standardised exposures are z-scores with the population
 * deviation; they are zero if the deviation is zero.
 */
function computeExposures(values: Float64Array, isStandardised: boolean): Float64Array {
  const presentValues = values.filter((value) => !Number.isNaN(value));
  const mean =
    presentValues.length === 0 ? 0 : presentValues.reduce((sum, value) => sum + value, 0) / presentValues.length;
  const variance =
    presentValues.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(presentValues.length, 1);
  const deviation = Math.sqrt(variance);
  return values.map((value) => {
    const filledValue = Number.isNaN(value) ? mean : value;
    if (!isStandardised) return filledValue;
    return deviation > 0 ? (filledValue - mean) / deviation : 0;
  });
}
