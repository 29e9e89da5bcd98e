import { lossMeasure, objectiveClass } from '../objective-class.js';
import { share, tailParams } from '../tail-params.js';
import { tailGoal } from '../tail.js';

export const minCvar = objectiveClass({
  type: 'min_cvar',
  label: 'Least conditional value at risk',
  help: 'The least average loss of the worst sessions: the conditional value at risk (expected shortfall) of historical returns.',
  sense: 'minimise',
  needsReturns: false,
  takesImpact: false,
  params: tailParams,
  measure: lossMeasure('the conditional value at risk'),
  example: { type: 'min_cvar', confidence: 0.95, scenarios: 252 },
  sentence: ({ confidence }) => `the least average loss of the worst ${share(confidence)} of sessions`,
  toGoal: ({ confidence, scenarios }, context) =>
    tailGoal('loss', confidence, context.scenarios(scenarios), context.identifiers.length),
});
