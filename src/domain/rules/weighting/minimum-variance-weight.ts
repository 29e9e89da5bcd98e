import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { solveMinimumVarianceWeights } from '#kernels/weighting/minimum-variance.js';
import { createLatestRequest } from '../../datapoints/field-request.js';
import { useNumber } from '../../datapoints/field-use.js';
import { defineWeightingClass } from '../weighting-class.js';
import { estimateRisk } from './risk-panel.js';
import { riskParameters, describeRiskEstimate } from './risk-parameters.js';
import { expandSolved, refuseSolver } from './solved-weights.js';
import { formatShare } from '../../catalogue/sentence-numbers.js';

export const minimumVarianceWeight = defineWeightingClass({
  type: 'MinimumVarianceWeight',
  label: 'Minimum variance weight',
  help: 'Long-only weights with minimum variance.',
  params: defineObject(() => ({
    ...riskParameters,
    upper: z.number().gt(0).max(1).default(1).meta({
      label: 'Upper',
      help: 'Maximum weight in the minimisation. If the maximum is too low for full investment, the weights are equal.',
      unit: 'fraction',
    }),
  })),
  example: { type: 'MinimumVarianceWeight', params: { window: 252, upper: 0.05 } },
  behaviour(params) {
    return {
      reads: [useNumber(createLatestRequest('RETURN', { aggregate: 'std', window: params.window }))],
      sentence: `Weight constituents for the least variance, long only and at most ${formatShare(params.upper)} each, by ${describeRiskEstimate(params)}.`,
      formula: 'argmin of weights * covariance * weights',
      weigh(scope) {
        const risk = estimateRisk(scope, params);
        if (risk.kind === 'refused') return risk;
        const weights = new Float64Array(risk.positions.length);
        if (solveMinimumVarianceWeights(risk.covariance, params.upper, weights).status !== 'solved')
          return refuseSolver('minimum variance weights');
        return expandSolved({
          weights,
          positions: risk.positions,
          count: scope.columns.length,
          covariance: risk.covariance,
        });
      },
    };
  },
});
