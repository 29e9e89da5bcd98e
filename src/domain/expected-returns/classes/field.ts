import { z } from 'zod';
import { FieldNode, requestText } from '../../rules/datapoints/field-request.js';
import { numeric } from '../../rules/field-use.js';
import { returnsClass } from '../returns-class.js';

export const fieldReturns = returnsClass({
  type: 'field',
  label: 'Datapoint',
  help: 'A datapoint of the store as of the decision, as a fraction a year. A missing value counts as the mean of the others.',
  params: z.strictObject({
    field: FieldNode.meta({ label: 'Field', help: 'Datapoint that holds the expected returns.', ref: 'FieldNode' }),
  }),
  example: { type: 'field', field: { node: 'field', name: 'EXPECTED_RETURN' } },
  reads: ({ field }) => [numeric(field, 'field')],
  sentence: ({ field }) => `the datapoint ${requestText(field)}`,
  returns({ field }, { identifiers, numbers, warn }) {
    const values = numbers(field);
    const known = values.filter((value) => !Number.isNaN(value));
    if (known.length === values.length) return values;
    const mean = known.length === 0 ? 0 : known.reduce((sum, value) => sum + value, 0) / known.length;
    const missing = identifiers.filter((_, i) => Number.isNaN(values[i]!));
    warn(
      `${missing.length} of ${values.length} names have no ${field.name} (${missing.slice(0, 3).join(', ')}${missing.length > 3 ? ', ...' : ''}); the mean of the others, ${mean}, stands for theirs.`,
    );
    return values.map((value) => (Number.isNaN(value) ? mean : value));
  },
});
