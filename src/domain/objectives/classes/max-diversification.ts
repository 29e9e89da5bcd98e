import { z } from 'zod';
import { computeMetricDiagonal } from '#kernels/optimisation/program/metric.js';
import { formatForSentence, defineObjectiveClass, createPlainMeasure } from '../objective-class.js';

export const maxDiversification = defineObjectiveClass({
  type: 'max_diversification',
  label: 'Maximum diversification',
  help: 'Maximum diversification ratio, which is the weighted average of the volatilities divided by the volatility of the portfolio.',
  sense: 'maximise',
  needsReturns: false,
  params: z.strictObject({}),
  unattainable: (_, most) =>
    `For all weights within the constraints, costs exceed the average volatility${most === null ? '' : `, by ${formatForSentence(-most)} at least`}.`,
  measure: createPlainMeasure('the diversification ratio'),
  example: { type: 'max_diversification' },
  sentence: () => 'the largest ratio of average volatility to volatility',
  toGoal: (_, { metric }) => ({
    form: 'ratio',
    numerator: {
      kind: 'linear',
      slopes: computeMetricDiagonal(metric).map((variance) => Math.sqrt(Math.max(variance, 0))),
    },
  }),
});
