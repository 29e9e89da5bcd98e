import { z } from 'zod';
import { AssetIdentifier } from '../../schema/shape.js';
import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams, notEmpty, notVacuous } from '../parameters.js';
import { state } from '../program-row.js';

const side = z.number().nullable().default(null);

export const linearConstraint = defineConstraintClass({
  type: 'LinearConstraint',
  label: 'Linear constraint',
  help: 'A weighted sum of weights is between two bounds; securities without a coefficient count as zero.',
  kind: 'ineq',
  unit: 'value',
  convex: true,
  params: defineConstraintParams({
    coefficients: z
      .record(AssetIdentifier, z.number().min(-1e9).max(1e9))
      .meta({ label: 'Coefficients', help: 'Coefficient of each security.' }),
    lower: side.meta({ label: 'Lower', help: 'Smallest sum.' }),
    upper: side.meta({ label: 'Upper', help: 'Largest sum.' }),
  })
    .refine(...notEmpty)
    .refine(...notVacuous),
  example: {
    id: 'pair',
    type: 'LinearConstraint',
    params: { coefficients: { AAPL: 1, MSFT: -1 }, lower: -0.01, upper: 0.01 },
  },
  toRows: ({ coefficients, lower, upper }, { identifiers }) => {
    const given = new Map(Object.entries(coefficients));
    return [
      {
        form: 'linear',
        coefficients: Float64Array.from(identifiers, (identifier) => given.get(identifier) ?? 0),
        lower: lower === null ? null : state(lower, 'lower'),
        upper: upper === null ? null : state(upper, 'upper'),
        member: null,
      },
    ];
  },
});
