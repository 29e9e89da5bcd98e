import { z } from 'zod';
import { equalRiskWeights } from '#kernels/weighting/equal-risk.js';
import { numeric } from '../../datapoints/field-use.js';
import { requestLatest } from '../../datapoints/field-request.js';
import { expandSolved, solverRefusal } from './solved-weights.js';
import { weightingClass } from '../weighting-class.js';
import { movingBlock } from './moving-block.js';
import { estimateRisk } from './risk-panel.js';
import { riskParameters, riskText } from './risk-parameters.js';

export const equalRiskWeight = weightingClass({
  type: 'EqualRiskWeight',
  label: 'Equal risk weight',
  help: 'Weights with equal risk contributions of all constituents.',
  params: z.strictObject(riskParameters),
  example: { type: 'EqualRiskWeight', params: { window: 252, target: 'constant_correlation' } },
  behaviour(params) {
    return {
      reads: [numeric(requestLatest('RETURN', { aggregate: 'std', window: params.window }))],
      sentence: `Weight constituents so that each contributes the same risk, by ${riskText(params)}.`,
      formula: 'variance / (count * marginal), marginal = (covariance * weights) of the security',
      weigh(scope) {
        const risk = estimateRisk(scope, params);
        if (risk.kind === 'refused') return risk;
        const { covariance, positions } = movingBlock(risk);
        const weights = new Float64Array(positions.length);
        if (equalRiskWeights(covariance, weights).status !== 'solved') return solverRefusal('equal risk weights');
        return expandSolved({ weights, positions, count: scope.columns.length, covariance });
      },
    };
  },
});
