import { z } from 'zod';
import { createLatestRequest } from '#domain/datapoints/fields.js';
import { useNumber } from '#domain/datapoints/expression-tree.js';
import * as parameters from '#domain/definition/rule-parameters.js';
import { defineSelectionClass, describeMissingPolicy, keepWithin, readValues } from '#domain/definition/selection.js';

export const nearHighFilter = defineSelectionClass({
  type: 'NearHighFilter',
  label: 'Near its high',
  help: 'Keeps securities whose close is near the highest of the trailing sessions.',
  params: z.strictObject({
    minimum: z
      .number()
      .gt(0)
      .max(1)
      .meta({ label: 'Minimum', help: 'Least share of the highest close.', unit: 'fraction' }),
    window: parameters.defineWindow(252),
    missing: parameters.missing,
  }),
  example: { id: 'near-high', type: 'NearHighFilter', params: { minimum: 0.8, window: 252 } },
  behaviour({ minimum, window, missing }) {
    const close = useNumber('CLOSE');
    const highest = useNumber(createLatestRequest('CLOSE', { aggregate: 'max', window }));
    return {
      reads: [close, highest],
      remembers: false,
      sentence: `Keep securities whose close is at least ${minimum} of the highest over ${window} sessions; ${describeMissingPolicy(missing)}.`,
      select(scope) {
        const high = readValues(scope, highest);
        const values = readValues(scope, close).map((price, i) => price / high[i]!);
        return keepWithin(scope, {
          values,
          what: 'close over the highest',
          bounds: { minimum, maximum: null },
          missing,
        });
      },
    };
  },
});
