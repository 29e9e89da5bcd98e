import { z } from 'zod';
import { defineObjectiveClass, createReturnMeasure } from '../objective-class.js';

export const maxReturn = defineObjectiveClass({
  type: 'max_return',
  label: 'Maximum return',
  help: 'Maximum expected return within the constraints. To limit the risk, add a limit on the tracking error or on the volatility.',
  sense: 'maximise',
  needsReturns: true,
  uncertain: ['returns'],
  params: z.strictObject({}),
  measure: createReturnMeasure('the expected return'),
  example: { type: 'max_return' },
  sentence: () => 'the largest expected return',
  toGoal: (_, context) => ({
    form: 'quadratic',
    metric: 'covariance',
    curvature: 0,
    centre: new Float64Array(context.index.length),
    linear: context.expectedReturns().map((value) => -value),
  }),
});
