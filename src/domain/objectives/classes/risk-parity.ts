import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { formatNumber } from '../../catalogue/sentence-numbers.js';
import { useCategory } from '../../datapoints/field-use.js';
import { defineObjectiveClass, createPlainMeasure } from '../objective-class.js';
import { createParityNumerator } from '../parity.js';
import { readBudgets } from '../risk-budgets.js';

/** Maximum number of entries in a set of budgets. */
const BUDGETS_MAX = 20_000;

/** Tolerance of the sum of budgets. */
const SUM_TOLERANCE = 1e-6;

const Budgets = z
  .record(z.string().min(1).max(200), z.number().gt(0).max(1))
  .refine((budgets) => Object.keys(budgets).length <= BUDGETS_MAX, { error: `has more than ${BUDGETS_MAX} keys` })
  .refine((budgets) => Math.abs(sumBudgets(budgets) - 1) <= SUM_TOLERANCE, {
    params: { finding: 'WEIGHTS_NOT_ONE' },
    error: ({ input }) =>
      `has a sum of ${formatNumber(sumBudgets(input as Record<string, number>))}, but must sum to 1`, // a refinement runs on a parsed record
  });

export const riskParity = defineObjectiveClass({
  type: 'risk_parity',
  label: 'Risk parity',
  help: 'Risk contributions that equal the budgets. The solution maximises the ratio of the geometric mean of the weights (weighted by budget) to the volatility.',
  sense: 'minimise',
  needsReturns: false,
  params: defineObject(() => ({
    budgets: Budgets.nullable().default(null).meta({
      label: 'Budgets',
      help: 'Fraction of the variance by identifier or by group, with a sum of 1. Default: equal fractions. A group divides its budget equally among the members without a separate budget.',
    }),
    budget_field: z.string().min(1).max(64).default('SECTOR').meta({
      label: 'Budget field',
      help: 'Reference column with the groups that have budgets. It is not read if every budget is that of an identifier.',
    }),
  })),
  measure: createPlainMeasure('the distance from parity'),
  reads: ({ budgets, budget_field }, isSecurity) =>
    budgets === null || Object.keys(budgets).every(isSecurity) ? [] : [useCategory(budget_field, 'budget_field')],
  unattainable: () =>
    'Every security with a risk budget must be held, but the constraints, the number of securities or the costs allow no such weights.',
  example: { type: 'risk_parity', budgets: { Technology: 0.2, Energy: 0.8 }, budget_field: 'SECTOR' },
  sentence: ({ budgets, budget_field }) =>
    budgets === null
      ? 'equal contributions of all securities to the variance'
      : `contributions to the variance of ${Object.entries(budgets)
          .map(([key, share]) => `${share} for ${key}`)
          .join(', ')} (names, or groups of ${budget_field})`,
  toGoal: (params, context) => ({
    form: 'ratio',
    numerator: createParityNumerator(readBudgets(params, context), context),
  }),
});

function sumBudgets(budgets: Readonly<Record<string, number>>): number {
  return Object.values(budgets).reduce((sum, share) => sum + share, 0);
}
