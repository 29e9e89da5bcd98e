import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { defineReturnsClass } from '../returns-class.js';

export const historicalReturns = defineReturnsClass({
  type: 'historical',
  label: 'Historical means',
  help: 'Annualised arithmetic means over the window of the risk model, shrunk towards the mean of all securities.',
  params: defineObject(() => ({
    shrinkage: z.number().min(0).max(1).default(0).meta({
      label: 'Shrinkage',
      help: 'Weight of the mean of all securities. With 1, all expected returns are equal.',
      unit: 'fraction',
    }),
  })),
  example: { type: 'historical', shrinkage: 0.5 },
  sentence: ({ shrinkage }) =>
    `the historical means of the window of the risk model${shrinkage > 0 ? `, shrunk by ${shrinkage} towards their mean` : ''}`,
  returns({ shrinkage }, context) {
    const means = context.means();
    const mean = means.reduce((sum, value) => sum + value, 0) / Math.max(means.length, 1);
    return means.map((value) => shrinkage * mean + (1 - shrinkage) * value);
  },
});
