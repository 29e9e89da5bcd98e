import { z } from 'zod';
import { category } from '../../datapoints/field-use.js';
import { objectiveClass, plainMeasure } from '../objective-class.js';
import { parityNumerator } from '../parity.js';
import { budgetsOf } from '../risk-budgets.js';

/** Keys of one set of budgets. */
const BUDGETS_MAX = 20_000;

/** Sums of budgets this far from one are one. */
const SUM_TOLERANCE = 1e-6;

const Budgets = z
  .record(z.string().min(1).max(200), z.number().gt(0).max(1))
  .refine((budgets) => Object.keys(budgets).length <= BUDGETS_MAX, { error: `has more than ${BUDGETS_MAX} keys` })
  .refine((budgets) => Math.abs(sumOf(budgets) - 1) <= SUM_TOLERANCE, {
    params: { finding: 'WEIGHTS_NOT_ONE' },
    error: ({ input }) => `has a sum of ${sumOf(input as Record<string, number>)}, and 1 is needed`, // the refinement runs on a parsed record
  });

export const riskParity = objectiveClass({
  type: 'risk_parity',
  label: 'Risk parity',
  help: 'Shares of the variance equal to the budgets: the largest ratio of the geometric mean of the weights, by budget, to the volatility.',
  sense: 'minimise',
  needsReturns: false,
  params: z.strictObject({
    budgets: Budgets.nullable().default(null).meta({
      label: 'Budgets',
      help: 'Share of the variance by identifier or by group, in all 1; without any every name has the same. A group shares its budget equally among the members that are not named.',
    }),
    budget_field: z
      .string()
      .min(1)
      .max(64)
      .default('SECTOR')
      .meta({ label: 'Budget field', help: 'Reference column whose groups the budgets name.' }),
  }),
  measure: plainMeasure('the distance from parity'),
  reads: ({ budgets, budget_field }) => (budgets === null ? [] : [category(budget_field, 'budget_field')]),
  unattainable: () =>
    'Every name with a budget of risk has to be held, and the rows, the number of names or the costs leave no weights that do.',
  example: { type: 'risk_parity', budgets: { Technology: 0.2, Energy: 0.8 }, budget_field: 'SECTOR' },
  sentence: ({ budgets, budget_field }) =>
    budgets === null
      ? 'equal contributions of all names to the variance'
      : `contributions to the variance of ${Object.entries(budgets)
          .map(([key, share]) => `${share} for ${key}`)
          .join(', ')} (names, or groups of ${budget_field})`,
  toGoal: (params, context) => ({
    form: 'ratio',
    numerator: parityNumerator(budgetsOf(params, context), context),
  }),
});

function sumOf(budgets: Readonly<Record<string, number>>): number {
  return Object.values(budgets).reduce((sum, share) => sum + share, 0);
}
