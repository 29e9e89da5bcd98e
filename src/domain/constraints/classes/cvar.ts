import { drawnScenarioParams, readScenarioTerms } from '../../objectives/scenario-terms.js';
import { tailParams } from '../../objectives/tail-params.js';
import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams, createFraction } from '../parameters.js';
import { createParameterLimit } from '../program-row.js';

const { confidence } = tailParams.shape;

export const cvar = defineConstraintClass({
  type: 'CVaR',
  label: 'Conditional value at risk',
  help: 'The average loss of the worst historical or simulated sessions (expected shortfall) is at most a limit.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  readsScenarios: true,
  params: defineConstraintParams({
    limit: createFraction(
      { label: 'Limit', help: 'Largest average loss of one session, as a fraction of value.' },
      { least: -1 },
    ),
    confidence,
    ...drawnScenarioParams,
  }),
  example: { id: 'cvar', type: 'CVaR', params: { limit: 0.02, confidence: 0.95 } },
  toRows: (params, context) => [
    {
      form: 'tail',
      goal: context.tail('loss', params.confidence, readScenarioTerms(params)),
      limit: createParameterLimit(params.limit, 'limit'),
      member: null,
    },
  ],
});
