import { z } from 'zod';
import { AssetIdentifier } from '../../schema/shape.js';
import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams, lowerAtMostUpper, hasBound } from '../parameters.js';
import { createParameterLimit } from '../program-row.js';

const nullableSide = z.number().nullable().default(null);

export const linearConstraint = defineConstraintClass({
  type: 'LinearConstraint',
  label: 'Linear constraint',
  help: 'A weighted sum of weights is between two bounds. Securities without a coefficient have the coefficient 0.',
  kind: 'ineq',
  unit: 'value',
  convex: true,
  params: defineConstraintParams({
    coefficients: z
      .record(AssetIdentifier, z.number().min(-1e9).max(1e9))
      .meta({ label: 'Coefficients', help: 'Coefficient of each security.' }),
    lower: nullableSide.meta({ label: 'Lower', help: 'Smallest sum.' }),
    upper: nullableSide.meta({ label: 'Upper', help: 'Largest sum.' }),
  })
    .refine(...lowerAtMostUpper)
    .refine(...hasBound),
  example: {
    id: 'pair',
    type: 'LinearConstraint',
    params: { coefficients: { AAPL: 1, MSFT: -1 }, lower: -0.01, upper: 0.01 },
  },
  toRows: ({ coefficients, lower, upper }, { identifiers }) => {
    const coefficientByName = new Map(Object.entries(coefficients));
    return [
      {
        form: 'linear',
        coefficients: Float64Array.from(identifiers, (identifier) => coefficientByName.get(identifier) ?? 0),
        lower: lower === null ? null : createParameterLimit(lower, 'lower'),
        upper: upper === null ? null : createParameterLimit(upper, 'upper'),
        member: null,
      },
    ];
  },
});
