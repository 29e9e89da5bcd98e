import { z } from 'zod';
import { solveEqualRiskWeights } from '#kernels/weighting/equal-risk.js';
import { useNumber } from '../../datapoints/field-use.js';
import { createLatestRequest } from '../../datapoints/field-request.js';
import { expandSolved, refuseSolver } from './solved-weights.js';
import { defineWeightingClass } from '../weighting-class.js';
import { selectMovingBlock } from './moving-block.js';
import { estimateRisk } from './risk-panel.js';
import { riskParameters, describeRiskEstimate } from './risk-parameters.js';

export const equalRiskWeight = defineWeightingClass({
  type: 'EqualRiskWeight',
  label: 'Equal risk weight',
  help: 'Weights with equal risk contributions of all constituents.',
  params: z.strictObject(riskParameters),
  example: { type: 'EqualRiskWeight', params: { window: 252, target: 'constant_correlation' } },
  behaviour(params) {
    return {
      reads: [useNumber(createLatestRequest('RETURN', { aggregate: 'std', window: params.window }))],
      sentence: `Constituents are weighted so that each contributes the same risk, by ${describeRiskEstimate(params)}.`,
      formula: 'variance / (count * marginal), marginal = (covariance * weights) of the security',
      weigh(scope) {
        const risk = estimateRisk(scope, params);
        if (risk.kind === 'refused') return risk;
        const { covariance, positions } = selectMovingBlock(risk);
        const weights = new Float64Array(positions.length);
        if (solveEqualRiskWeights(covariance, weights).status !== 'solved') return refuseSolver('equal risk weights');
        return expandSolved({ weights, positions, count: scope.columns.length, covariance });
      },
    };
  },
});
