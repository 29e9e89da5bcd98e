import { createLossMeasure, defineObjectiveClass } from '../objective-class.js';
import { readScenarioTerms } from '../scenario-terms.js';
import { describeTailShare, tailParams } from '../tail-params.js';
import { createTailGoal } from '../tail.js';

export const minCdar = defineObjectiveClass({
  type: 'min_cdar',
  label: 'Minimum conditional drawdown',
  help: 'Minimum average of the worst drawdowns: the conditional drawdown at risk of historical returns, summed by session.',
  sense: 'minimise',
  needsReturns: false,
  params: tailParams,
  measure: createLossMeasure('the conditional drawdown'),
  example: { type: 'min_cdar', confidence: 0.95, scenarios: 252 },
  sentence: ({ confidence }) => `the least average of the worst ${describeTailShare(confidence)} of drawdowns`,
  toGoal: (params, context) =>
    createTailGoal(
      'drawdown',
      params.confidence,
      context.scenarios(readScenarioTerms(params)),
      context.identifiers.length,
    ),
});
