import { z } from 'zod';
import { defineObjectiveClass, createRootMeasure } from '../objective-class.js';

export const minVariance = defineObjectiveClass({
  type: 'min_variance',
  label: 'Minimum variance',
  help: 'The lowest forecast volatility of the portfolio.',
  sense: 'minimise',
  needsReturns: false,
  uncertain: ['covariance'],
  params: z.strictObject({}),
  measure: createRootMeasure('the volatility'),
  example: { type: 'min_variance' },
  sentence: () => 'the least variance',
  toGoal: (_, { index }) => ({
    form: 'quadratic',
    metric: 'covariance',
    curvature: 2,
    centre: new Float64Array(index.length),
    linear: new Float64Array(index.length),
  }),
});
