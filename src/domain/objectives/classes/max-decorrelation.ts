import { z } from 'zod';
import { defineObjectiveClass, createPlainMeasure } from '../objective-class.js';

export const maxDecorrelation = defineObjectiveClass({
  type: 'max_decorrelation',
  label: 'Maximum decorrelation',
  help: 'Minimum weighted average correlation, which is the minimum variance if every volatility were one.',
  sense: 'minimise',
  needsReturns: false,
  params: z.strictObject({}),
  measure: createPlainMeasure('the weighted correlation'),
  example: { type: 'max_decorrelation' },
  sentence: () => 'the least weighted average correlation',
  toGoal: (_, { index }) => ({
    form: 'quadratic',
    metric: 'correlation',
    curvature: 2,
    centre: new Float64Array(index.length),
    linear: new Float64Array(index.length),
  }),
});
