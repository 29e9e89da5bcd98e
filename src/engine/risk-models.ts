import { createHash } from 'node:crypto';
import {
  type BacktestPlan,
  listUsedModels,
  type PlannedModel,
  toPlannedModel,
} from '#domain/definition/backtest-plan.js';
import type { IndexDocument, TreatmentSpec } from '#domain/definition/index-document.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import type { MarketData } from '#domain/market/market-data.js';
import { compareText, type Finding } from '#domain/base/findings.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { packModel } from '#domain/risk/imported-models.js';
import { readModelBody } from '#domain/risk/model-tables.js';
import {
  listSettingsRead,
  type RiskMeasureModel,
  RiskModelRequest,
  toServedDiagnostics,
} from '#domain/risk/risk-models.js';
import {
  computeVolatilities,
  openPackedMatrix,
  openStoredModel,
  packUpper,
  type StoredModel,
  type StoredModels,
  unpackRow,
} from '#domain/risk/stored-models.js';
import { assertHasDates, assertOrder } from '#domain/base/requested-dates.js';
import { checkShape } from '#domain/base/schema.js';
import type { Engine } from '#kernels/engines/engine.js';
import { createProblems } from '#market/tables/problems.js';
import { type EstimateUniverse, prepareEstimate } from '#views/risk-estimate.js';
import type * as Api from './api.js';

/** Terms of an index that risk estimates use. */
export interface IndexTerms {
  readonly calendar: string;
  readonly currency: string;
  readonly treatment: TreatmentSpec;
  /** Returns the securities held on the last date of its run. */
  readonly listHeldIdentifiers: () => readonly string[];
}

interface LoadedModel {
  readonly planned: PlannedModel;
  readonly stored: StoredModel;
  readonly measuring: RiskMeasureModel;
}

/** Risk models that definitions and optimisations name by id. */
export interface EngineModels {
  estimate(modelId: string, request: object): Api.RiskModel;
  import(modelId: string, body: object): Api.RiskModel;
  readonly stored: StoredModels;
  /** Returns errors for definitions that name a missing model. */
  unknown(documents: Iterable<IndexDocument>): Finding[];
  /** Returns the models that documents use, in the form of a plan. */
  planned(documents: BacktestPlan['documents']): Pick<BacktestPlan, 'models'>;
  /** Returns a model with the window of its returns. @throws Refusal RISK_MODEL_NOT_FOUND */
  measuring(modelId: string): RiskMeasureModel;
  observedEndOf(modelId: string): string | undefined;
}

export interface ModelsDependencies {
  readonly market: MarketData;
  readonly calendars: Calendars;
  readonly engine: Engine;
  /** Returns the terms of an index. @throws Refusal INDEX_NOT_FOUND */
  termsOf(indexId: string): IndexTerms;
}

export function createModels({ market, calendars, engine, termsOf }: ModelsDependencies): EngineModels {
  const models = new Map<string, LoadedModel>();

  function requireModel(modelId: string): LoadedModel {
    const model = models.get(modelId);
    if (model !== undefined) return model;
    const message = `No risk model ${modelId} was estimated or imported.`;
    throw new Refusal('RISK_MODEL_NOT_FOUND', message, { model_id: modelId });
  }

  function getUniverse(request: RiskModelRequest): EstimateUniverse {
    const identifiers = [...new Set(request.identifiers)].toSorted(compareText);
    if (identifiers.length > 0) return { kind: 'names', identifiers };
    if (request.index_id !== null) return { kind: 'run', ...termsOf(request.index_id) };
    throw new Refusal('UNIVERSE_REQUIRED', 'A risk model needs identifiers or an index_id.');
  }

  return {
    estimate(modelId, requestBody) {
      const { value: request, findings } = checkShape(RiskModelRequest, requestBody);
      if (request === undefined) throw refuseWithFindings('request', findings);
      assertOrder(request);
      assertHasDates(market, { start: request.start, end: request.end });
      const estimate = prepareEstimate({ market, calendars, universe: getUniverse(request), request });
      const {
        covariance,
        factors: _,
        ...model
      } = engine.scope(() => {
        const result = estimate.whole(engine);
        return { ...result, covariance: packUpper(result.covariance, result.assetIds.length) };
      });
      const { assetIds: names, observedEnd, observedStart, diagnostics } = model;
      const storedModel = openStoredModel(modelId, {
        names,
        observedEnd,
        matrix: () => openPackedMatrix(covariance, names.length),
        numbers: () => covariance,
      });
      models.set(modelId, {
        planned: { asset_ids: names, observed_end: observedEnd, covariance: computeSha256(covariance) },
        stored: storedModel,
        measuring: {
          modelId,
          estimator: request.estimator,
          settings: listSettingsRead(request),
          start: observedStart,
          end: observedEnd,
          sessions: diagnostics.observations,
        },
      });
      return {
        ...toApi(modelId, storedModel),
        diagnostics: toServedDiagnostics(diagnostics),
        ...(model.factorModel === null ? {} : { factor_model: model.factorModel }),
        excluded: model.excluded,
        observed_start: observedStart,
        observed_end: observedEnd,
        findings: [],
      };
    },
    import(modelId, body) {
      const problems = createProblems();
      const parsedModel = readModelBody(body, problems);
      const packedModel =
        parsedModel && problems.errors === 0 ? engine.scope(() => packModel(engine, parsedModel, problems)) : undefined;
      if (packedModel === undefined || problems.errors > 0) throw refuseWithFindings('risk model', problems.findings());
      const { assetIds: names, dates, covariance } = packedModel;
      const [first, last] = [dates[0]!.date, dates.at(-1)!.date]; // a model has at least one date
      const content = { names, observedEnd: last, dates, numbers: () => covariance };
      const storedModel = openStoredModel(modelId, {
        ...content,
        matrix: () => openPackedMatrix(covariance, names.length),
      });
      const importedModel = { ...packedModel.terms, dates: [...dates] };
      models.set(modelId, {
        planned: toPlannedModel({
          asset_ids: [...names],
          observed_end: last,
          covariance: { name: '', bytes: covariance.byteLength, sha256: computeSha256(covariance) },
          imported: importedModel,
        } as unknown as Parameters<typeof toPlannedModel>[0]), // toPlannedModel reads only these members
        stored: storedModel,
        measuring: { modelId, estimator: 'imported', settings: {}, start: first, end: last, sessions: 0 },
      });
      return {
        ...toApi(modelId, storedModel),
        diagnostics: {
          assets: storedModel.names.length,
          observations: 0,
          average_correlation: packedModel.newest.averageCorrelation,
          condition_number: packedModel.newest.conditionNumber,
          intensity: 0,
          positive_semi_definite: true,
          repaired: dates.at(-1)!.repaired,
          smallest_eigenvalue: packedModel.newest.smallestEigenvalue,
          target: 'none',
        },
        excluded: {},
        observed_start: first,
        observed_end: last,
        findings: problems.findings() as Api.RiskModel['findings'], // The contract declares the same findings.
      };
    },
    stored: (modelId) => requireModel(modelId).stored,
    unknown: (documents) =>
      [...listUsedModels(documents)].flatMap(([modelId, { indexId, path }]): Finding[] => {
        if (models.has(modelId)) return [];
        const message = `The index ${indexId} is measured by the risk model ${modelId}, which was not estimated or imported.`;
        return [{ severity: 'error', code: 'RISK_MODEL_NOT_FOUND', path, message, value: modelId }];
      }),
    planned(documents) {
      const usedModelIds = [...listUsedModels(Object.values(documents)).keys()];
      if (usedModelIds.length === 0) return {};
      return { models: Object.fromEntries(usedModelIds.map((modelId) => [modelId, requireModel(modelId).planned])) };
    },
    measuring: (modelId) => requireModel(modelId).measuring,
    observedEndOf: (modelId) => models.get(modelId)?.planned.observed_end,
  };
}

const computeSha256 = ({ buffer, byteOffset, byteLength }: Float64Array): string =>
  createHash('sha256')
    .update(new Uint8Array(buffer, byteOffset, byteLength))
    .digest('hex');

/** Returns the id, the securities, the newest covariance as a dense matrix, and the volatilities of a model. */
function toApi(modelId: string, { names, covariance }: StoredModel) {
  const packedCovariance = covariance();
  const n = names.length;
  const matrix = new Float64Array(n * n);
  for (let i = 0; i < n; i++) unpackRow(packedCovariance, i, matrix.subarray(i * n, (i + 1) * n));
  return {
    model_id: modelId,
    asset_ids: names,
    covariance: matrix,
    volatilities: computeVolatilities(packedCovariance),
  };
}
