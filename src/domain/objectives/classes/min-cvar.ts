import { defineObject } from '../../schema/define-object.js';
import { lossMeasure, objectiveClass } from '../objective-class.js';
import { drawnParams, scenarioTerms } from '../scenario-terms.js';
import { share, tailParams } from '../tail-params.js';
import { tailGoal } from '../tail.js';

export const minCvar = objectiveClass({
  type: 'min_cvar',
  label: 'Minimum conditional value at risk',
  help: 'Minimum average loss of the worst sessions: the conditional value at risk (expected shortfall) of historical or simulated returns.',
  sense: 'minimise',
  needsReturns: false,
  params: defineObject(() => ({ ...tailParams.shape, ...drawnParams })),
  measure: lossMeasure('the conditional value at risk'),
  example: { type: 'min_cvar', confidence: 0.95, scenarios: 252 },
  sentence: ({ confidence }) => `the least average loss of the worst ${share(confidence)} of sessions`,
  toGoal: (params, context) =>
    tailGoal('loss', params.confidence, context.scenarios(scenarioTerms(params)), context.identifiers.length),
});
