import { callOnce } from '#base/once.js';
import { listReferences } from '#domain/checks/validate-reference.js';
import type { IndexDocument, TreatmentSpec } from '#domain/documents/index-document.js';
import { toCanonicalJson } from '#domain/json/canonical-json.js';
import type { RiskModelPayload } from '#domain/jobs/payloads.js';
import type { MarketData } from '#domain/market/market-data.js';
import { compareText, type Finding } from '#domain/refusals/findings.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import { assertFewSecurities } from '#domain/risk/model-parts.js';
import { RiskModelRequest } from '#domain/risk/risk-model-document.js';
import { getLookup } from '#market/serving/market-lookup.js';
import type { DocumentStore } from '#store/port.js';
import type { RunStates } from '../runs/run-states.js';
import { readRecordedClosures } from '../stored/recorded-closures.js';
import { requireRun } from '../stored/run-documents.js';
import { findIndex } from '../stored/stored-indices.js';
import { requireModel } from '../stored/used-models.js';

/** Requests for risk estimates, and the stored documents that they refer to. */
export interface ModelRequests {
  /**
   * Returns the request to use. A request with default values only stands for the stored request of the model.
   * @throws Refusal UNIVERSE_REQUIRED if there are neither securities nor an index
   */
  settle(modelId: string, request: RiskModelRequest): Promise<RiskModelRequest>;
  /** Returns the payload of an estimate. @throws Refusal VALIDATION_FAILED, DOCUMENT_UNREADABLE, STORE_MISMATCH */
  readPayload(modelId: string, request: RiskModelRequest, market: MarketData): Promise<RiskModelPayload>;
  /** Returns the calendar, currency and treatment that the run of an index uses. */
  readTerms(runId: string): Promise<Omit<NonNullable<RiskModelPayload['run']>, 'run_id'>>;
  /**
   * Returns the store of the run of an index. The index's securities are estimated in that store. Returns undefined for
   * the store of the current call.
   */
  storeOfRun(indexId: string | null): Promise<string | undefined>;
}

/** Request with default values only. A request without a body means the same. */
const getDefaultsText = callOnce(() => toCanonicalJson(RiskModelRequest.parse({})));

export function createModelRequests({
  documents,
  states,
}: {
  readonly documents: DocumentStore;
  readonly states: Pick<RunStates, 'requireMarket' | 'findStore'>;
}): ModelRequests {
  async function resolveRequest(modelId: string, request: RiskModelRequest): Promise<RiskModelRequest> {
    if (request.identifiers.length > 0 || request.index_id !== null) return request;
    const isAbsent = toCanonicalJson(request) === getDefaultsText();
    if (isAbsent && (await documents.get('risk-model', modelId)) !== undefined) {
      const { request: storedRequest } = (await requireModel(documents, modelId)).document;
      if (storedRequest !== undefined) return storedRequest;
    }
    throw new Refusal(
      'UNIVERSE_REQUIRED',
      `The risk model ${modelId} needs identifiers or an index_id (--identifiers or --index).`,
    );
  }

  async function readPayload(
    modelId: string,
    request: RiskModelRequest,
    market: MarketData,
  ): Promise<RiskModelPayload> {
    const runId = findIndexId(request);
    if (runId === null) {
      const identifiers = [...new Set(request.identifiers)].toSorted(compareText);
      assertFewSecurities(identifiers.length, 'identifiers');
      assertKnownSecurities(market, request.identifiers);
      return { model_id: modelId, request, identifiers, run: null };
    }
    return { model_id: modelId, request, identifiers: null, run: { run_id: runId, ...(await readTerms(runId)) } };
  }

  async function readTerms(runId: string) {
    const document = await readRunIndex(runId);
    const { calendar, currency } = document;
    const closures = await readRecordedClosures(documents);
    return { calendar, ...(closures && { closures }), currency, treatment: await readTreatment(document) };
  }

  async function readRunIndex(runId: string): Promise<IndexDocument> {
    const createFinding = (message: string) =>
      refuseWithFindings('request', [
        { severity: 'error', code: 'RUN_NOT_FOUND', message, path: 'index_id', value: runId },
      ]);
    if ((await documents.get('run', runId)) === undefined)
      throw createFinding(`${runId} has no stored run to take names from: run its backtest first.`);
    const run = await requireRun(documents, runId);
    await states.requireMarket(run); // Securities of another store would otherwise be missing without notice.
    const document = await findIndex(documents, run.index_id);
    if (document === undefined) throw createFinding(`The index of the run of ${runId} was deleted.`);
    return document;
  }

  /** Returns the treatment of an index. A derived index has the treatment of its source. */
  async function readTreatment(document: IndexDocument): Promise<TreatmentSpec> {
    if (document.pipeline) return document.pipeline.treatment;
    const [parentId] = listReferences(document);
    const parent = parentId === undefined ? undefined : await findIndex(documents, parentId);
    if (parent === undefined)
      throw new Refusal('INDEX_NOT_FOUND', `The index ${parentId}, from which ${document.id} derives, is not stored.`);
    return readTreatment(parent);
  }

  async function findStoreOfRun(indexId: string | null): Promise<string | undefined> {
    if (indexId === null) return undefined;
    await readRunIndex(indexId);
    return states.findStore(await requireRun(documents, indexId));
  }

  return { settle: resolveRequest, readPayload, readTerms, storeOfRun: findStoreOfRun };
}

/**
 * Returns the index whose securities a model uses. Returns null if the request lists securities, because these have
 * priority.
 */
export function findIndexId({ identifiers, index_id: indexId }: RiskModelRequest): string | null {
  return identifiers.length > 0 ? null : indexId;
}

/** Refuses securities that the store lacks, with one finding per security. @throws Refusal VALIDATION_FAILED */
function assertKnownSecurities(market: MarketData, identifiers: readonly string[]): void {
  const lookup = getLookup(market);
  const findings = identifiers.flatMap((identifier, i): Finding[] => {
    if (lookup.positionOf(identifier) !== undefined) return [];
    return [
      {
        severity: 'error',
        code: 'UNKNOWN_IDENTIFIER',
        message: `The data contains no prices for ${identifier}.`,
        path: `identifiers[${i}]`,
        value: identifier,
      },
    ];
  });
  if (findings.length > 0) throw refuseWithFindings('request', findings);
}
