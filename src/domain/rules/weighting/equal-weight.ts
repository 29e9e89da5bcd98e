import { z } from 'zod';
import { createWeights, defineWeightingClass } from '../weighting-class.js';

export const equalWeight = defineWeightingClass({
  type: 'EqualWeight',
  label: 'Equal weight',
  help: 'Every constituent has the same weight.',
  params: z.strictObject({}),
  example: { type: 'EqualWeight', params: {} },
  behaviour: () => ({
    reads: [],
    sentence: 'Every constituent has the same weight.',
    formula: '1',
    weigh: ({ columns }) => createWeights(new Float64Array(columns.length).fill(1)),
  }),
});
