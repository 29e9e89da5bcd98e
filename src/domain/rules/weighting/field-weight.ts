import { raiseToPower } from '#kernels/power.js';
import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { useNumber } from '../../datapoints/field-use.js';
import * as parameters from '../parameters.js';
import { nameUsedField, readValues } from '../verdicts.js';
import { createWeights, defineWeightingClass } from '../weighting-class.js';
import { createLabel } from '../../datapoints/expressions/print.js';

export const fieldWeight = defineWeightingClass({
  type: 'FieldWeight',
  label: 'Field weight',
  help: 'Weights in proportion to a power of a datapoint.',
  params: defineObject(() => ({
    field: parameters.field,
    power: z
      .number()
      .min(-16)
      .max(16)
      .default(1)
      .meta({ label: 'Power', help: 'Exponent of the value. -1 uses the inverse of the value.' }),
    negative: z.enum(['zero', 'abs', 'fail']).default('zero').meta({
      label: 'Negative values',
      help: 'Treatment of a security with a negative value: it is not held, its absolute value is used, or the decision fails.',
    }),
  })),
  example: { type: 'FieldWeight', params: { field: 'DIVIDEND_YIELD', power: 1 } },
  behaviour({ field, power, negative }) {
    const value = useNumber(field, 'field');
    const onNegative = {
      zero: 'securities with a negative value are not held',
      abs: 'a negative value counts with its absolute value',
      fail: 'a negative value fails the decision',
    }[negative];
    return {
      reads: [value],
      sentence: `Constituents are weighted in proportion to ${nameUsedField(value)} to the power of ${power}; ${onNegative}.`,
      formula: `${nameUsedField(value)}^${power}`,
      weigh(scope) {
        const values = readValues(scope, value);
        const negativePosition = values.findIndex((found) => found < 0);
        if (negative === 'fail' && negativePosition >= 0) {
          const name = scope.identifiers[scope.columns[negativePosition]!]!;
          return {
            kind: 'refused',
            code: 'VALIDATION_FAILED',
            finding: {
              code: 'OUT_OF_RANGE',
              message: `${nameUsedField(value)} of ${name} is ${values[negativePosition]!}; it must be at least 0.`,
              path: 'params.negative',
            },
          };
        }
        const sizes = negative === 'abs' ? values.map(Math.abs) : values;
        return createWeights(
          sizes.map((size) => (size > 0 ? raiseToPower(size, power) : 0)),
          (position) => ({ [createLabel(value.field)]: values[position]!, power }),
        );
      },
    };
  },
});
