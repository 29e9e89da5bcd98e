import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { formatForSentence, defineObjectiveClass, createPlainMeasure } from '../objective-class.js';

export const maxSharpe = defineObjectiveClass({
  type: 'max_sharpe',
  label: 'Maximum Sharpe ratio',
  help: 'Maximum expected return in excess of the risk-free rate per unit of volatility. Cash earns the risk-free rate.',
  sense: 'maximise',
  needsReturns: true,
  uncertain: ['returns', 'covariance'],
  params: defineObject(() => ({
    risk_free_rate: z.number().min(-1).max(1).default(0).meta({
      label: 'Risk-free rate',
      help: 'Annual risk-free rate that is subtracted from the return.',
      unit: 'fraction per year',
    }),
  })),
  cash: ({ risk_free_rate }) => risk_free_rate,
  unattainable: ({ risk_free_rate: rate }, most) =>
    `No weights within the constraints have an expected return above the risk-free rate of ${rate} after costs${most === null ? '' : `; the most that any are is ${formatForSentence(most + rate)}`}.`,
  measure: createPlainMeasure('the Sharpe ratio'),
  example: { type: 'max_sharpe', risk_free_rate: 0.02 },
  sentence: ({ risk_free_rate }) =>
    `the largest ratio of expected return above a rate of ${risk_free_rate} to volatility`,
  toGoal: ({ risk_free_rate }, context) => ({
    form: 'ratio',
    numerator: { kind: 'linear', slopes: context.expectedReturns().map((value) => value - risk_free_rate) },
  }),
});
