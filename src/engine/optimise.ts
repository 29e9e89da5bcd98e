import type { Composer } from '#domain/books/compositions.js';
import { assertDecides } from '#domain/checks/validate-overlay.js';
import { checkConstraintSet } from '#domain/documents/constraint-set.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import { readOptimisationRequest } from '#domain/documents/optimisation-request.js';
import { reportMissingReturns } from '#domain/documents/optimisation-spec.js';
import { readStoredModelId } from '#domain/documents/used-models.js';
import type { MarketData } from '#domain/market/market-data.js';
import { checkConstraintFields, checkSpecFields } from '#domain/optimisation/field-uses.js';
import { runOptimisation, readRequestTerms } from '#domain/optimisation/run.js';
import { assertNoErrors, refuseWithFindings } from '#domain/refusals/refusal.js';
import { assertHasDates, assertOrder } from '#domain/schema/assert-order.js';
import type { Day } from '#domain/time/days.js';
import type { Engine } from '#kernels/engines/engine.js';
import { toOptimisationResult } from '#views/optimisation.js';
import type * as Api from './api.js';
import type { EngineModels } from './risk-models.js';

/** Id of a request's constraints, which take the place of a stored constraint set. */
const REQUEST_SET_ID = 'request';

export interface OptimiseDependencies {
  readonly market: MarketData;
  readonly engine: Engine;
  readonly models: Pick<EngineModels, 'measuring'>;
  /**
   * Returns the index with every index that it refers to, after checking the data. @throws Refusal INDEX_NOT_FOUND,
   * VALIDATION_FAILED
   */
  reached(indexId: string): Readonly<Record<string, IndexDocument>>;
  composerOf(documents: Readonly<Record<string, IndexDocument>>, until: Day): Composer;
}

/**
 * Optimises an index under the constraint rows of a request, like a run of the service. @throws Refusal for the same
 * reasons as that run
 */
export function optimiseIndex(requestBody: object, dependencies: OptimiseDependencies): Api.Optimisation {
  const { market, engine, models, reached, composerOf } = dependencies;
  const { constraints: rows = [], ...rest } = requestBody as { readonly constraints?: unknown };
  const request = readOptimisationRequest({ ...rest, constraint_set_id: REQUEST_SET_ID });
  const { set, findings } = checkConstraintSet({ id: REQUEST_SET_ID, name: REQUEST_SET_ID, constraints: rows });
  if (set === undefined) throw refuseWithFindings('request', findings);
  const { constraints } = set;
  assertOrder(request);
  assertHasDates(market, request);
  const documents = reached(request.index_id);
  assertDecides(documents[request.index_id]!);
  assertNoErrors('request', [
    ...reportMissingReturns(request, constraints, ''),
    ...checkSpecFields(request, market, { path: '', severity: 'error' }),
    ...checkConstraintFields(constraints, market, { path: 'constraints', severity: 'error' }),
  ]);
  const modelId = readStoredModelId(request);
  const measuringModel = modelId === undefined ? null : models.measuring(modelId);
  const terms = readRequestTerms(request);
  const run = engine.scope(() =>
    runOptimisation({
      composer: composerOf(documents, terms.asOf ?? market.dates.at(-1)!),
      engine,
      ...terms,
      constraints,
      report: () => {},
    }),
  );
  const identity = { runId: REQUEST_SET_ID, indexId: request.index_id, constraintSetId: REQUEST_SET_ID };
  const {
    run_id: _run,
    constraint_set_id: _set,
    ...result
  } = toOptimisationResult(run, {
    ...identity,
    measuredBy: measuringModel,
    asked: request.risk_model,
  });
  return result as unknown as Api.Optimisation; // the contract declares this type
}
