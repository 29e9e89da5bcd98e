import { lossMeasure, objectiveClass } from '../objective-class.js';
import { scenarioTerms } from '../scenario-terms.js';
import { share, tailParams } from '../tail-params.js';
import { tailGoal } from '../tail.js';

export const minCdar = objectiveClass({
  type: 'min_cdar',
  label: 'Minimum conditional drawdown',
  help: 'Minimum average of the worst drawdowns: the conditional drawdown at risk of historical returns, summed by session.',
  sense: 'minimise',
  needsReturns: false,
  params: tailParams,
  measure: lossMeasure('the conditional drawdown'),
  example: { type: 'min_cdar', confidence: 0.95, scenarios: 252 },
  sentence: ({ confidence }) => `the least average of the worst ${share(confidence)} of drawdowns`,
  toGoal: (params, context) =>
    tailGoal('drawdown', params.confidence, context.scenarios(scenarioTerms(params)), context.identifiers.length),
});
