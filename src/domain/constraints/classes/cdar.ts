import { readScenarioTerms } from '../../objectives/scenario-terms.js';
import { tailParams } from '../../objectives/tail-params.js';
import { defineConstraintClass } from '../constraint-class.js';
import { defineConstraintParams, createFraction } from '../parameters.js';
import { createParameterLimit } from '../program-row.js';

const { confidence, scenarios } = tailParams.shape;

export const cdar = defineConstraintClass({
  type: 'CDaR',
  label: 'Conditional drawdown at risk',
  help: 'The average of the worst historical drawdowns is at most a limit. Drawdowns are computed from summed session returns.',
  kind: 'ineq',
  unit: 'fraction',
  convex: true,
  readsScenarios: true,
  params: defineConstraintParams({
    limit: createFraction({ label: 'Limit', help: 'Largest average drawdown, as a fraction of value.' }, { most: 10 }),
    confidence,
    scenarios,
  }),
  example: { id: 'cdar', type: 'CDaR', params: { limit: 0.12, confidence: 0.95 } },
  toRows: (params, context) => [
    {
      form: 'tail',
      goal: context.tail('drawdown', params.confidence, readScenarioTerms(params)),
      limit: createParameterLimit(params.limit, 'limit'),
      member: null,
    },
  ],
});
