import { z } from 'zod';
import { defineObjectiveClass, createReturnMeasure } from '../objective-class.js';

export const maxReturn = defineObjectiveClass({
  type: 'max_return',
  label: 'Maximum return',
  help: 'The highest expected return within the constraints; a limit of the tracking error or of the volatility limits its risk.',
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
