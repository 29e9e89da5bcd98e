import { RiskModelRequest, type Estimator } from '#domain/risk/risk-model-document.js';
import { compareText } from '#domain/refusals/findings.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { estimateRiskModel } from '#domain/risk/estimate-risk-model.js';
import { computeActiveByName, computeModelShares } from '#domain/risk/model-shares.js';
import { openPackedMatrix, packUpper } from '#domain/risk/packed-matrix.js';
import { findModelInForce, type StoredModel } from '#domain/risk/stored-model.js';
import { formatDay } from '#domain/time/days.js';
import type { MeasuringModel } from '#jobs/tasks/views.js';
import type { Engine } from '#kernels/engines/engine.js';
import type { ActiveRisk, HeldRisk, HeldWeights } from '#views/weights-view.js';
import {
  listHoldingsByName,
  createHoldingDatapoints,
  findHoldingPositions,
  getPositions,
  readRiskWindow,
  formatWindowDates,
  type ComparedWeights,
  type MeasuredHoldings,
  type MeasureInput,
} from './holding-risk.js';
import { openModels } from '../input/opened-models.js';

/**
 * Measures the risk of the holdings by a stored model, and active risk if there is a benchmark.
 * @throws Refusal MODEL_LACKS_NAMES if the model has none of the securities, because the risk is unknown, not 0
 */
export function measureByModel(
  measuring: MeasuringModel,
  { names, held, day }: Pick<HeldWeights, 'names' | 'held' | 'day'>,
  benchmark: ComparedWeights | null,
): MeasuredHoldings {
  const { modelId } = measuring;
  const model = findModelInForce(openModels({ [modelId]: measuring })(modelId), day);
  const modelDate = formatDay(model.observedEnd);
  const weights = listHoldingsByName(names, held);
  assertKnownSecurities(model, weights);
  return measureWithModel(model, {
    weights,
    benchmark,
    span: {
      risk_model: modelId,
      risk_estimator: null,
      window_start: model.isImported === true ? modelDate : measuring.observedStart,
      window_end: modelDate,
      observations: null,
    },
  });
}

/**
 * Measures risk by an estimate over the window of the run, for the securities of the run and its benchmark.
 * @throws Refusal RISK_INSUFFICIENT_DATA
 * @cost of `estimateRiskModel`
 */
export function measureByEstimate(
  engine: Engine,
  estimator: Estimator,
  { runHoldings, market, benchmark }: MeasureInput,
): MeasuredHoldings {
  const returns = readRiskWindow(runHoldings, market);
  const window = { ...returns, datapoints: createHoldingDatapoints(returns, runHoldings.header) };
  const { sm, to } = window;
  const weights = listHoldingsByName(runHoldings.weights.names, runHoldings.weights.held);
  const columns = new Set(findHoldingPositions(sm, weights).keys());
  if (benchmark !== null) for (const column of getPositions(sm, benchmark.weights).keys()) columns.add(column);
  return engine.scope(() => {
    const sortedColumns = Int32Array.from(columns).toSorted();
    const { coverage, covariance } = estimateRiskModel(
      engine,
      window,
      sortedColumns,
      RiskModelRequest.parse({ estimator }),
    );
    const order = coverage.columns.length;
    const packedMatrix = openPackedMatrix(packUpper(covariance, order), order);
    const model: StoredModel = {
      modelId: estimator,
      names: Array.from(coverage.columns, (column) => sm.identifiers[column]!),
      observedEnd: sm.sessions[to]!,
      covariance: () => packedMatrix,
    };
    return measureWithModel(model, {
      weights,
      benchmark,
      span: {
        risk_model: null,
        risk_estimator: estimator,
        observations: coverage.sessions.length,
        ...formatWindowDates(runHoldings),
      },
    });
  });
}

function measureWithModel(
  model: StoredModel,
  { weights, benchmark, span }: Omit<ActiveInput, 'benchmark'> & { readonly benchmark: ComparedWeights | null },
): MeasuredHoldings {
  const { volatility, contributions, uncovered } = computeModelShares(model, weights);
  const covered_weight = [...contributions.keys()].reduce((sum, name) => sum + weights.get(name)!, 0);
  const risk: HeldRisk = {
    payload: { volatility, covered_weight, uncovered: [...uncovered], ...span },
    findContribution: (name) => contributions.get(name) ?? null,
  };
  return { risk, active: benchmark === null ? null : computeActiveRisk(model, { weights, benchmark, span }) };
}

interface ActiveInput {
  readonly weights: ReadonlyMap<string, number>;
  readonly benchmark: ComparedWeights;
  readonly span: Pick<
    ActiveRisk['payload'],
    'risk_model' | 'risk_estimator' | 'window_start' | 'window_end' | 'observations'
  >;
}

function computeActiveRisk(
  model: StoredModel,
  { weights: own, benchmark: { id, weights }, span }: ActiveInput,
): ActiveRisk {
  const activeWeights = computeActiveByName(own, weights);
  const unionNames = [...activeWeights.keys()];
  const { volatility, contributions, uncovered } = computeModelShares(model, activeWeights);
  const computeGross = (names: Iterable<string>) =>
    [...names].reduce((sum, name) => sum + Math.abs(activeWeights.get(name)!), 0);
  const total = computeGross(unionNames);
  const notHeld = unionNames.filter((name) => !own.has(name) && contributions.has(name));
  return {
    payload: {
      benchmark: id,
      tracking_error: volatility,
      covered_weight: total === 0 ? 1 : computeGross(contributions.keys()) / total,
      contributions_not_held: Object.fromEntries(notHeld.map((name) => [name, contributions.get(name)!])),
      uncovered: [...uncovered],
      ...span,
    },
    findContribution: (name) => contributions.get(name) ?? null,
  };
}

/**
 * Checks that a stored model covers at least one of the holdings. Otherwise the risk is unknown and not 0.
 * @throws Refusal MODEL_LACKS_NAMES
 */
export function assertKnownSecurities(
  { modelId, names }: Pick<StoredModel, 'modelId' | 'names'>,
  weights: ReadonlyMap<string, number>,
): void {
  if (weights.size === 0 || names.some((name) => weights.has(name))) return;
  const identifiers = [...weights.keys()].toSorted(compareText);
  throw new Refusal(
    'MODEL_LACKS_NAMES',
    `The risk model ${modelId} has no estimate of any of the ${identifiers.length} holdings.`,
    { model_id: modelId, identifiers },
  );
}
