import { defineObject } from '../../schema/define-object.js';
import { createLossMeasure, defineObjectiveClass } from '../objective-class.js';
import { drawnScenarioParams, readScenarioTerms } from '../scenario-terms.js';
import { describeTailShare, tailParams } from '../tail-params.js';
import { createTailGoal } from '../tail.js';

export const minCvar = defineObjectiveClass({
  type: 'min_cvar',
  label: 'Minimum conditional value at risk',
  help: 'Minimum average loss of the worst sessions: the conditional value at risk (expected shortfall) of historical or simulated returns.',
  sense: 'minimise',
  needsReturns: false,
  params: defineObject(() => ({ ...tailParams.shape, ...drawnScenarioParams })),
  measure: createLossMeasure('the conditional value at risk'),
  example: { type: 'min_cvar', confidence: 0.95, scenarios: 252 },
  sentence: ({ confidence }) => `the least average loss of the worst ${describeTailShare(confidence)} of sessions`,
  toGoal: (params, context) =>
    createTailGoal('loss', params.confidence, context.scenarios(readScenarioTerms(params)), context.identifiers.length),
});
