import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { defineObjectiveClass, createReturnMeasure } from '../objective-class.js';

export const maxUtility = defineObjectiveClass({
  type: 'max_utility',
  label: 'Maximum utility',
  help: 'Maximum expected return, less half the risk aversion times the variance, less the costs of the trades.',
  sense: 'maximise',
  needsReturns: true,
  uncertain: ['returns', 'covariance'],
  params: defineObject(() => ({
    risk_aversion: z.number().gt(0).max(1e9).default(2.5).meta({
      label: 'Risk aversion',
      help: 'Half of this number is the price of one unit of variance.',
    }),
  })),
  measure: createReturnMeasure('the utility'),
  example: { type: 'max_utility', risk_aversion: 4 },
  sentence: ({ risk_aversion }) => `the largest expected return less ${risk_aversion}/2 times the variance`,
  toGoal: ({ risk_aversion }, context) => ({
    form: 'quadratic',
    metric: 'covariance',
    curvature: risk_aversion,
    centre: new Float64Array(context.index.length),
    linear: context.expectedReturns().map((value) => -value),
  }),
});
