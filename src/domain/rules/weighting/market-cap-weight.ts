import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { useNumber } from '../../datapoints/field-use.js';
import { readValues } from '../verdicts.js';
import { createWeights, defineWeightingClass } from '../weighting-class.js';
import { createLabel } from '../../datapoints/expressions/print.js';

export const marketCapWeight = defineWeightingClass({
  type: 'MarketCapWeight',
  label: 'Market capitalisation weight',
  help: 'Weights in proportion to market capitalisation.',
  params: defineObject(() => ({
    free_float: z
      .boolean()
      .default(true)
      .meta({ label: 'Free float', help: 'True uses only the shares in free float.' }),
  })),
  example: { type: 'MarketCapWeight', params: { free_float: true } },
  behaviour({ free_float }) {
    const value = useNumber(free_float ? 'FREE_FLOAT_MARKET_CAP' : 'MARKET_CAP');
    return {
      reads: [value],
      sentence: `Weight constituents in proportion to their ${free_float ? 'free-float market capitalisation' : 'full market capitalisation, without free float'}.`,
      formula: createLabel(value.field),
      weigh: (scope) => createWeights(readValues(scope, value)),
    };
  },
});
