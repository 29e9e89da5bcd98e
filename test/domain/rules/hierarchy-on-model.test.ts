import { expect, test } from 'vitest';
import { createDecider } from '#domain/decide/rule-decider.js';
import type { StoredModel } from '#domain/risk/stored-models.js';
import { computePlainOrder, computePlainWeights, createPoints } from '../../kernels/weighting/plain-hierarchy.js';
import { alignDays, createRuleDocument, createGeneratedMarket } from './rule-market.js';

const sm = alignDays(createGeneratedMarket({ names: 25, sessions: 40, seed: 4 }));
const t = 39;

test('hierarchical risk parity on a stored model uses only its covariance, and reports what the model lacks', () => {
  const names = ['N0000', 'N0001', 'N0002'];
  const listing = { kind: 'list', identifiers: names };
  const upper = Float64Array.of(0.04, 0.01, 0, 0.16, 0, 0.09);
  const createModel = (modelNames: readonly string[], observedEnd: number): StoredModel => ({
    modelId: 'OURS',
    names: modelNames,
    observedEnd,
    covariance: () => ({ order: 3, upper }),
  });
  const decide = (model: StoredModel) =>
    createDecider({
      document: createRuleDocument(
        { weighting: { type: 'HierarchicalRiskParityWeight', params: { risk_model: 'OURS' } } },
        { universe: listing },
      ),
      market: sm,
      universe: () => Int32Array.from(names, (name) => sm.columnOf(name)),
      riskModel: () => model,
    }).decide(t, null);
  const decision = decide(createModel(names, sm.sessions[0]!));
  if (decision.kind !== 'decided') throw new Error(decision.finding.message);
  const sigma = [
    [0.04, 0.01, 0],
    [0.01, 0.16, 0],
    [0, 0, 0.09],
  ];
  const plainWeights = computePlainWeights(sigma, computePlainOrder(createPoints(null, sigma, 'columns'), 'single'));
  expect(Array.from(decision.weights)).toEqual(plainWeights.map((weight) => expect.closeTo(weight, 12)));
  for (const [model, code] of [
    [createModel(['N0000', 'N0001', 'OTHER'], sm.sessions[0]!), 'MODEL_LACKS_NAMES'],
    [createModel(names, sm.sessions[t]! + 1), 'LOOK_AHEAD'],
  ] as const)
    expect(decide(model)).toMatchObject({
      kind: 'refused',
      finding: { code, path: 'pipeline.weighting.params.risk_model' },
    });
});
