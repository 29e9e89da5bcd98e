import { randomBytes } from 'node:crypto';
import { countRetainedBytes } from '#base/memory/retained-memory.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import { assertDecides } from '#domain/checks/validate-overlay.js';
import { checkOnMarket } from '#domain/checks/index-on-market.js';
import { checkConstraintSet, readConstraintSet, type ConstraintSet } from '#domain/documents/constraint-set.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import type { OptimisationRequest } from '#domain/documents/optimisation-request.js';
import type { OptimisationSpec } from '#domain/documents/optimisation-spec.js';
import { toPlannedModel, readStoredModelId, type PlannedModels } from '#domain/documents/used-models.js';
import type { MarketData } from '#domain/market/market-data.js';
import { findFirstAtLeast } from '#domain/numbers/search.js';
import { checkConstraintFields, checkSpecFields } from '#domain/optimisation/field-uses.js';
import { assertNoErrors, Refusal } from '#domain/refusals/refusal.js';
import { assertHasDates, assertOrder } from '#domain/schema/assert-order.js';
import { parseValidDay } from '#domain/time/days.js';
import type { Markets, ServedMarket } from '#market/serving/markets.js';
import type { DocumentReader, StoredDocument } from '#store/port.js';
import { readStored } from '#store/read-stored.js';
import { resolveReached } from '../indices/reached-documents.js';
import { requireIndex, type StoredIndex } from '../stored/stored-indices.js';
import { planModels, requireModelOnStore } from '../stored/used-models.js';

type Reader = Pick<DocumentReader, 'get'>;
type ComputedRequest = Pick<OptimisationRequest, 'as_of' | 'start' | 'end'> & OptimisationSpec;

export interface OptimisationPlansDependencies {
  readonly documents: Reader;
  readonly markets: Markets;
  readonly calendars: Calendars;
}

/** Checks for the data that an optimisation needs. They run before any work starts. */
export interface OptimisationPlans {
  /**
   * Returns a market that has the data for the index of a request, and all documents that the index refers to.
   * @throws Refusal VALIDATION_FAILED, INVALID_RANGE, NO_DATA_IN_RANGE, NO_DATA_AT_DATE, NO_DATA_SOURCE
   */
  prepare(
    target: StoredIndex,
    request: ComputedRequest,
  ): Promise<ServedMarket & { readonly reached: Readonly<Record<string, IndexDocument>> }>;
  /**
   * Returns an index and all documents that it refers to. @throws Refusal VALIDATION_FAILED if the market lacks data
   */
  reachedOn(target: StoredIndex, market: MarketData): Promise<Readonly<Record<string, IndexDocument>>>;
  /** Checks the dates of a request. @throws Refusal VALIDATION_FAILED, INVALID_RANGE, NO_DATA_IN_RANGE */
  assertRequest(request: ComputedRequest, market: MarketData): void;
  /**
   * Checks the rows of a stored constraint set. A row is an error if it is invalid or if it needs data that the market
   * lacks.
   */
  assertRows(constraintSet: ConstraintSet, market: MarketData): void;
  /**
   * Returns the stored risk models that requests and their documents use.
   * @throws Refusal RISK_MODEL_NOT_FOUND, DOCUMENT_UNREADABLE, VALIDATION_FAILED
   */
  readModels(
    requests: readonly OptimisationRequest[],
    target: { readonly reached: Readonly<Record<string, IndexDocument>>; readonly storeId: string },
  ): Promise<{ readonly models?: PlannedModels }>;
}

export function createOptimisationPlans({
  documents,
  markets,
  calendars,
}: OptimisationPlansDependencies): OptimisationPlans {
  /** Returns an index and its documents. If the served market lacks data, that is an error before any work starts. */
  async function readReachedOn({ document }: StoredIndex, market: MarketData) {
    const reachedDocuments = await resolveReached(documents, document);
    for (const indexDocument of Object.values(reachedDocuments))
      assertNoErrors(
        `index document ${indexDocument.id}`,
        checkOnMarket(indexDocument, market, { severity: 'error', indexOf: (id) => reachedDocuments[id] }),
      );
    return reachedDocuments;
  }

  function assertRequest(request: ComputedRequest, market: MarketData): void {
    assertOrder(request);
    assertHasDates(market, request);
    assertNoErrors('request', checkSpecFields(request, market, { path: '', severity: 'error' }));
  }

  /** Checks that the index can have a rebalance on or before a day. @throws Refusal NO_DATA_AT_DATE */
  function assertReached(document: IndexDocument, asOf: string | null, market: MarketData): void {
    if (asOf === null) return;
    const calendar = calendars.get(document.calendar);
    const from = Math.max(parseValidDay(document.base_date), market.dates[0] ?? 0);
    const firstSession = calendar?.sessions[findFirstAtLeast(calendar.sessions, from)];
    if (firstSession !== undefined && firstSession <= parseValidDay(asOf)) return;
    throw new Refusal('NO_DATA_AT_DATE', `The index ${document.id} has no rebalance on or before ${asOf}.`, {
      as_of: asOf,
    });
  }

  return {
    reachedOn: readReachedOn,
    assertRequest,
    async prepare(target, request) {
      assertOrder(request);
      const servedMarket = markets.require();
      const { market } = servedMarket;
      assertHasDates(market, request);
      const reachedDocuments = await readReachedOn(target, market);
      assertRequest(request, market);
      assertReached(target.document, request.as_of, market);
      return { ...servedMarket, reached: reachedDocuments };
    },
    assertRows(constraintSet, market) {
      assertNoErrors(`constraint set ${constraintSet.id}`, [
        ...checkConstraintSet(constraintSet).findings,
        ...checkConstraintFields(constraintSet.constraints, market, { path: 'constraints', severity: 'error' }),
      ]);
    },
    async readModels(requests, { reached: reachedDocuments, storeId }) {
      const modelPlan = await planModels(documents, reachedDocuments, storeId);
      const modelIds = new Set(requests.flatMap((request) => readStoredModelId(request) ?? []));
      if (modelIds.size === 0) return modelPlan;
      const ownModels = await Promise.all(
        [...modelIds].map(
          async (id) => [id, toPlannedModel(await requireModelOnStore(documents, id, storeId))] as const,
        ),
      );
      return { models: { ...modelPlan.models, ...Object.fromEntries(ownModels) } };
    },
  };
}

/** Returns an index if its weights can be optimised. @throws Refusal INDEX_NOT_FOUND, VALIDATION_FAILED */
export async function requireTarget(documents: Reader, indexId: string): Promise<StoredIndex> {
  const storedIndex = await requireIndex(documents, indexId);
  assertDecides(storedIndex.document);
  return storedIndex;
}

/** Returns a stored constraint set. @throws Refusal CONSTRAINT_SET_NOT_FOUND, DOCUMENT_UNREADABLE */
export async function requireSet(
  documents: Reader,
  setId: string,
): Promise<{ readonly set: ConstraintSet; readonly etag: string }> {
  const storedDocument = await documents.get('constraint-set', setId);
  if (storedDocument === undefined) throw refuseMissingSet(setId);
  const constraintSet = readStored(storedDocument, readConstraintSet);
  if (constraintSet === undefined)
    throw new Refusal('DOCUMENT_UNREADABLE', `The constraint set ${setId} cannot be read; it can still be deleted.`);
  return { set: constraintSet, etag: (storedDocument as StoredDocument).etag }; // readable, because its document was readable
}

export function refuseMissingSet(setId: string): Refusal {
  return new Refusal('CONSTRAINT_SET_NOT_FOUND', `No constraint set is stored under the id ${setId}.`, {
    constraint_set_id: setId,
  });
}

/** Creates an id from the time in UTC and a random part: `{yyyymmddThhmmss}-{8 hex}`. */
export function createOptimisationId(now: number): string {
  const timestamp = new Date(now).toISOString().slice(0, 19).replaceAll(/[-:]/g, '');
  return `${timestamp}-${randomBytes(4).toString('hex')}`;
}

/**
 * Estimates the memory of an optimisation. It needs the growth factors twice, and a few matrices over the securities of
 * a large index.
 */
export function estimateOptimisationBytes({ dates, identifiers }: MarketData): number {
  const names = Math.min(identifiers.length, 3000);
  return 128 * 2 ** 20 + 2 * countRetainedBytes(8 * dates.length * identifiers.length) + 8 * 4 * names * names;
}
