import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import {
  solveHierarchicalRiskParity,
  LINKAGES,
  TREE_DISTANCES,
  type HierarchyTerms,
} from '#kernels/weighting/hierarchical-risk-parity.js';
import { createLatestRequest } from '../../datapoints/field-request.js';
import { useNumber } from '../../datapoints/field-use.js';
import { LIMITS } from '../../refusals/limits.js';
import { Refusal, type ErrorCode } from '../../refusals/refusal.js';
import { readModelCovariance } from '../../risk/stored-model.js';
import { Id } from '../../schema/shape.js';
import * as parameters from '../parameters.js';
import { defineWeightingClass, type WeightingRefusal, type WeightingScope } from '../weighting-class.js';
import { selectMovingBlock } from './moving-block.js';
import { estimateRisk, type RiskEstimate } from './risk-panel.js';
import { expandSolved } from './solved-weights.js';

export const hierarchicalRiskParityWeight = defineWeightingClass({
  type: 'HierarchicalRiskParityWeight',
  label: 'Hierarchical risk parity weight',
  help: 'Orders securities by a tree of their correlations. The weight is split from the root down, in inverse proportion to the variance of each half.',
  params: defineObject(() => ({
    window: parameters
      .defineWindow(252)
      .meta({ label: 'Window', help: 'Number of trailing returns of the sample covariance.', unit: 'sessions' }),
    linkage: z.enum(LINKAGES).default('single').meta({
      label: 'Linkage',
      help: 'Distance between two clusters: between their nearest members (single), between their farthest members (complete), the mean of all pairs (average), or the increase of the variance within them (ward).',
    }),
    distance: z.enum(TREE_DISTANCES).default('columns').meta({
      label: 'Distance',
      help: 'Euclidean distance between columns of correlation distances, as published (columns), or the correlation distance (correlation).',
    }),
    risk_model: Id.nullable().default(null).meta({
      label: 'Risk model',
      help: 'Stored risk model whose covariance replaces the sample covariance. Default: the sample covariance.',
      format: 'risk_model',
    }),
  })),
  example: { type: 'HierarchicalRiskParityWeight', params: { window: 252, linkage: 'single', distance: 'columns' } },
  behaviour(params) {
    const { window, linkage, distance, risk_model: modelId } = params;
    const covariancePhrase =
      modelId === null ? `the sample covariance of ${window} returns` : `the covariance of the risk model ${modelId}`;
    return {
      reads: modelId === null ? [useNumber(createLatestRequest('RETURN', { aggregate: 'std', window }))] : [],
      sentence: `Constituents are weighted by hierarchical risk parity on ${covariancePhrase}: a tree by ${linkage} linkage of ${DISTANCE_WORDS[distance]}, then recursive bisection of its order of leaves by inverse-variance cluster variances.`,
      formula: 'product of (1 - variance / (variance + variance of the other half)) from the root to the leaf',
      weigh(scope) {
        const { columns } = scope;
        const securitiesMax = LIMITS.MAX_HIERARCHY_SECURITIES;
        if (columns.length > securitiesMax) return refuseTooMany(columns.length, securitiesMax);
        const risk = modelId === null ? estimateSampleRisk(scope, window) : createStoredRisk(scope, modelId);
        if (risk.kind === 'refused') return risk;
        return computeWeights(risk, { linkage, distance }, columns.length);
      },
    };
  },
});

const DISTANCE_WORDS: Readonly<Record<HierarchyTerms['distance'], string>> = {
  columns: 'the Euclidean distance between columns of correlation distances',
  correlation: 'the correlation distance',
};

function computeWeights(risk: RiskEstimate, terms: HierarchyTerms, count: number) {
  const { covariance, positions } = selectMovingBlock(risk);
  const weights = new Float64Array(positions.length);
  solveHierarchicalRiskParity(covariance, terms, weights);
  return expandSolved({ weights, positions, count, covariance });
}

const estimateSampleRisk = (scope: WeightingScope, window: number): RiskEstimate | WeightingRefusal =>
  estimateRisk(scope, { window, target: 'constant_correlation', intensity: 0 });

/** Refusals of a stored model for which the rebalance is suspended. */
const MODEL_REFUSALS: ReadonlySet<ErrorCode> = new Set(['LOOK_AHEAD', 'MODEL_LACKS_NAMES']);

function createStoredRisk(
  { cross, columns, identifiers, riskModel }: WeightingScope,
  modelId: string,
): RiskEstimate | WeightingRefusal {
  const request = { identifiers: Array.from(columns, (column) => identifiers[column]!), day: cross.day };
  try {
    const covariance = readModelCovariance(riskModel(modelId), request);
    return { kind: 'estimated', positions: Int32Array.from(columns.keys()), covariance };
  } catch (refusal) {
    if (!(refusal instanceof Refusal) || !MODEL_REFUSALS.has(refusal.code)) throw refusal;
    const code = refusal.code === 'LOOK_AHEAD' ? refusal.code : 'MODEL_LACKS_NAMES';
    return { kind: 'refused', code, finding: { code, message: refusal.message, path: 'params.risk_model' } };
  }
}

function refuseTooMany(count: number, most: number): WeightingRefusal {
  const message = `Hierarchical risk parity was requested for ${count} securities; the maximum is ${most}.`;
  return { kind: 'refused', code: 'VALIDATION_FAILED', finding: { code: 'OUT_OF_RANGE', message, path: 'type' } };
}
