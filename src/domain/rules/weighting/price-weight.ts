import { z } from 'zod';
import { numeric } from '../../datapoints/field-use.js';
import { valuesOf } from '../verdicts.js';
import { weighed, weightingClass } from '../weighting-class.js';

export const priceWeight = weightingClass({
  type: 'PriceWeight',
  label: 'Price weight',
  help: 'Weights in proportion to the price of one share in index currency, as in a Dow style average.',
  params: z.strictObject({}),
  example: { type: 'PriceWeight', params: {} },
  behaviour() {
    const value = numeric('CLOSE', '', true);
    return {
      reads: [value],
      sentence: 'Weigh constituents in proportion to the price of one share in index currency.',
      formula: 'CLOSE',
      weigh: (scope) => weighed(valuesOf(scope, value)),
    };
  },
});
