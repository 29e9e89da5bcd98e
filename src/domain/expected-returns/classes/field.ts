import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { FieldNode } from '../../datapoints/field-request.js';
import { useNumber, toRequest } from '../../datapoints/field-use.js';
import { defineReturnsClass } from '../returns-class.js';
import { describeExpression } from '../../datapoints/expressions/sentences.js';
import { NumberExpression } from '../../datapoints/expressions/expression.js';
import { createLabel } from '../../datapoints/expressions/print.js';

export const fieldReturns = defineReturnsClass({
  type: 'field',
  label: 'Datapoint',
  help: 'Datapoint of the store, as known at the decision, as a fraction per year. A missing value is replaced by the mean of the other values.',
  params: defineObject(() => ({
    field: z.union([z.string().min(1).max(64), FieldNode, NumberExpression]).meta({
      label: 'Field',
      help: 'Datapoint with the expected returns: its name, or an expression of datapoints as text or as nodes.',
      ref: 'FieldNode',
      format: 'expression',
    }),
  })),
  example: { type: 'field', field: 'EXPECTED_RETURN' },
  reads: ({ field }) => [useNumber(field, 'field')],
  sentence: ({ field }) => `the datapoint ${describeExpression(toRequest(field))}`,
  returns({ field: requestedField }, { identifiers, numbers, warn }) {
    const field = toRequest(requestedField);
    const values = numbers(field);
    const presentValues = values.filter((value) => !Number.isNaN(value));
    if (presentValues.length === values.length) return values;
    const mean =
      presentValues.length === 0 ? 0 : presentValues.reduce((sum, value) => sum + value, 0) / presentValues.length;
    const missingIdentifiers = identifiers.filter((_, i) => Number.isNaN(values[i]!));
    warn(
      `${missingIdentifiers.length} of ${values.length} securities have no ${createLabel(field)} (${missingIdentifiers.slice(0, 3).join(', ')}${missingIdentifiers.length > 3 ? ', ...' : ''}); the mean of the other values, ${mean}, is used instead.`,
      '.field',
    );
    return values.map((value) => (Number.isNaN(value) ? mean : value));
  },
});
