import { randomBytes } from 'node:crypto';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import { assertOwnName, prefixName } from '../operations/access.js';
import { limitJobs } from '../operations/reachable-jobs.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import { validateIndex } from '#domain/checks/validate-index.js';
import type { PlannedModel } from '#domain/documents/used-models.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { MarketData } from '#domain/market/market-data.js';
import { assertNoErrors, Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { findFirstAtLeast } from '#domain/numbers/search.js';
import { createRefusedVariants } from '#domain/sweeps/refused-variants.js';
import { computeTrialFigureBytes } from '#domain/sweeps/trial-figures.js';
import { selectCheckedFirst, findLackingVariantData } from '#domain/sweeps/variant-needs.js';
import { findStore } from '#domain/documents/store-of-documents.js';
import { parseValidDay } from '#domain/time/days.js';
import type { SweepRequest } from '#domain/sweeps/sweep-request.js';
import {
  applyPatch,
  checkLevels,
  createPatch,
  checkVariantCount,
  countVariants,
  type DocumentCheck,
  type SweepBase,
  type Variation,
} from '#domain/sweeps/variants.js';
import type { JobKind } from '#jobs/job-kind.js';
import type { JobSystem } from '#jobs/job-system.js';
import type { Origin } from '#jobs/origin.js';
import type { JobStatus } from '#jobs/status.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import { resolveReached } from '../indices/reached-documents.js';
import { selectVersion, type DataVersions } from '../datasets/data-versions.js';
import type { StoreMarkets } from '../datasets/store-markets.js';
import { assertSomeVersion } from './known-decisions.js';
import { addStoredParts } from '../indices/stored-parts.js';
import { requireIndex, createStoredIndices, type IndexLookup } from '../stored/stored-indices.js';
import type { SweepPayload } from '#domain/jobs/payloads.js';
import { planModels } from '../stored/used-models.js';
import { readRows } from './result-rows.js';

export interface SweepsDependencies {
  readonly documents: DocumentStore;
  readonly jobs: JobSystem;
  readonly artifacts: Pick<ArtifactStore, 'read'>;
  readonly dataVersions: Pick<DataVersions, 'at' | 'before'>;
  readonly stores: Pick<StoreMarkets, 'within'>;
  readonly calendars: Calendars;
  readonly kind: JobKind<SweepPayload>;
  readonly engineVersion: string;
  /** Returns the maximum memory of a backtest on the served market, in bytes. */
  readonly estimatedBytes: () => number;
  /** Number of threads of the pool. */
  readonly workers: number;
  readonly now: () => number;
}

export interface Sweeps {
  /**
   * Queues a sweep. First checks every variant like a separate request; in a large sweep, only some variants are
   * checked.
   * @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE, VALIDATION_FAILED, NO_DATA_SOURCE, JOB_RUNNING, OVERLOADED
   */
  start(request: SweepRequest, origin: Origin | null): Promise<JobStatus>;
  /**
   * Returns a block of the rows of a succeeded sweep as JSON.
   * @throws Refusal JOB_NOT_FOUND; VALIDATION_FAILED after the last block; DOCUMENT_UNREADABLE
   */
  rows(sweepId: string, block: number): Promise<Uint8Array<ArrayBuffer>>;
}

/** Maximum time in ms of consecutive checks. After that, other work can run. */
const BATCH_MS = 10;

export function createSweeps({
  documents,
  artifacts,
  jobs,
  dataVersions,
  stores,
  calendars,
  kind,
  engineVersion,
  estimatedBytes,
  workers,
  now,
}: SweepsDependencies): Sweeps {
  const checkWith =
    (lookUpIndex: IndexLookup): DocumentCheck =>
    (body) =>
      validateIndex(body, { calendars: calendars.list(), calendarOf: calendars.get, indexOf: lookUpIndex });

  async function readBase({ index_id: indexId, document: body, request, strategy }: SweepRequest): Promise<SweepBase> {
    if (indexId !== null) {
      const { document: storedIndex } = await requireIndex(documents, indexId);
      return { document: await addStoredParts(documents, storedIndex), request, strategy };
    }
    const { document, findings } = await createStoredIndices(documents).answer((lookUpIndex) =>
      checkWith(lookUpIndex)(body!),
    );
    if (document === undefined) throw refuseWithFindings('body', findings.map(prefixDocumentPath));
    return { document: await addStoredParts(documents, document), request, strategy };
  }

  /**
   * Returns the documents that variants refer to, and the stored risk models that all documents use.
   * @throws Refusal VALIDATION_FAILED if a variant cannot be run
   */
  async function checkVariants(
    base: SweepBase,
    variation: Variation,
    { market, variants }: { readonly market: MarketData; readonly variants: readonly number[] },
  ): Promise<Pick<BacktestPlan, 'documents' | 'models'>> {
    const reachedDocuments = new Map<string, IndexDocument>();
    const models = new Map<string, PlannedModel>();
    const refusedVariants = createRefusedVariants(variation);
    const indices = createStoredIndices(documents);
    let turnStart = performance.now();
    for (const i of variants) {
      const { variant, findings } = await indices.answer((lookUpIndex) =>
        applyPatch(base, createPatch(variation, i), { path: '', check: checkWith(lookUpIndex) }),
      );
      refusedVariants.add(i, findings);
      if (variant !== undefined)
        try {
          const variantNeeds = await determineNeeds({ documents, calendars }, variant.document, market);
          refusedVariants.add(i, variantNeeds.findings);
          for (const [id, document] of Object.entries(variantNeeds.reached)) reachedDocuments.set(id, document);
          for (const [id, model] of Object.entries(variantNeeds.models)) models.set(id, model);
        } catch (refusal) {
          refusedVariants.add(i, listFindings(refusal));
        }
      if (performance.now() - turnStart < BATCH_MS) continue;
      await new Promise(setImmediate);
      turnStart = performance.now();
    }
    refusedVariants.assertNone();
    reachedDocuments.delete(base.document.id);
    return {
      documents: Object.fromEntries(reachedDocuments),
      ...(models.size > 0 ? { models: Object.fromEntries(models) } : {}),
    };
  }

  return {
    rows: (ident, block) => readRows({ kind: 'sweep', ident, block }, limitJobs(jobs), artifacts),
    async start(request, origin) {
      const base = await readBase(request);
      assertNoErrors('sweep', [...checkVariantCount(request), ...findStorePointers(request)]);
      const namedStore = findStore(await resolveReached(documents, base.document), request.request.store_id);
      return stores.within(namedStore, () => startOnMarket(base, request, origin));
    },
  };

  async function startOnMarket(base: SweepBase, request: SweepRequest, origin: Origin | null): Promise<JobStatus> {
    const versionedMarket = await dataVersions.at(request.as_known_on);
    const { market } = versionedMarket.served;
    assertNoErrors('sweep', checkLevels(request, countSessions(market, base)));
    if (request.request.as_known !== undefined)
      assertSomeVersion(await dataVersions.before(versionedMarket.version), {
        market,
        end: request.request.end,
        documents: { base: base.document },
      });
    const variants = selectCheckedFirst(request);
    const reachedDocuments = await checkVariants(base, request, { market, variants });
    const count = countVariants(request);
    if (request.sweep_id != null) assertOwnName(request.sweep_id);
    const sweepId = request.sweep_id ?? prefixName(createSweepId(now()));
    return jobs.submit({
      kind,
      payload: {
        sweep_id: sweepId,
        base,
        stored_id: request.index_id,
        grid: request.grid,
        patches: request.patches,
        is_unchecked: variants.length < count,
        ...reachedDocuments,
        rank_by: request.rank_by,
        partitions: request.partitions,
        folds: request.folds,
        ...selectVersion(request, versionedMarket),
        engine_version: engineVersion,
      },
      request,
      estimatedBytes: workers * estimatedBytes() + computeSumBytes(request, market),
      message: 'waiting for a worker',
      origin,
    });
  }
}

function prefixDocumentPath(finding: Finding): Finding {
  return { ...finding, path: finding.path === '' ? 'document' : `document.${finding.path}` };
}

/**
 * Returns the inputs that the run of a variant needs, and those that the market lacks.
 * @throws Refusal VALIDATION_FAILED if a document that the variant refers to is missing
 */
async function determineNeeds(
  { documents, calendars }: Pick<SweepsDependencies, 'documents' | 'calendars'>,
  document: IndexDocument,
  market: MarketData,
) {
  const reachedDocuments = await resolveReached(documents, document);
  findStore(reachedDocuments, market.datasetId);
  const findings = findLackingVariantData(document, reachedDocuments, { market, calendars });
  const { models = {} } = await planModels(documents, reachedDocuments, market.datasetId);
  return { reached: reachedDocuments, findings, models };
}

/** Returns errors for variants that change the data store, because all variants run on one store. */
function findStorePointers({ grid, patches }: SweepRequest): Finding[] {
  const pointers = grid === null ? (patches ?? []).flatMap((patch) => Object.keys(patch)) : Object.keys(grid);
  const storePointers = ['/document/store_id', '/request/store_id'].filter((pointer) => pointers.includes(pointer));
  return storePointers.map((value) => {
    const path = grid === null ? 'patches' : 'grid';
    const message = `${value} cannot vary: all variants of a sweep run on one data store.`;
    return { severity: 'error', code: 'NOT_IN_CHOICES', path, message, value };
  });
}

/** Bytes that each variant needs during ranking: its row, sample, key and sums by block. */
const VARIANT_BYTES = 2000;
/** Maximum number of rows of levels in memory: rows of some parts, and rows that the folds choose. */
const LEVEL_ROWS_MAX = 2 * LIMITS.MAX_SWEEP_SPLITS;
/** Bytes of a row of levels: a day, a level and a return. */
const LEVEL_BYTES = 3 * 8;

/** Returns the memory in bytes that the ranking of all variants needs. */
function computeSumBytes(request: SweepRequest, { dates }: MarketData): number {
  const count = countVariants(request);
  const foldBytes = request.folds === null ? 0 : computeTrialFigureBytes(request.folds.groups);
  return count * (VARIANT_BYTES + foldBytes) + LEVEL_BYTES * dates.length * Math.min(count, LEVEL_ROWS_MAX);
}

/** Counts the sessions of the market from the first possible session of the base index. */
function countSessions({ dates }: MarketData, { document, request }: SweepBase): number {
  const start = request.start !== null && request.start > document.base_date ? request.start : document.base_date;
  const end = request.end === null ? dates.length : findFirstAtLeast(dates, parseValidDay(request.end) + 1);
  return Math.max(0, end - findFirstAtLeast(dates, parseValidDay(start)));
}

/** Returns the findings of a refusal that concern the document of a variant. @throws any other error */
function listFindings(refusal: unknown): Finding[] {
  if (!(refusal instanceof Refusal) || !Array.isArray(refusal.detail?.['findings'])) throw refusal;
  const findings = refusal.detail['findings'] as readonly Finding[]; // `refuseWithFindings` adds the findings to the detail
  return findings.map((finding) => ({ ...finding, path: `/document.${finding.path}` }));
}

/** Creates an id of the form `{yyyymmddThhmmss}-{8 hex}`. */
function createSweepId(now: number): string {
  const stamp = new Date(now).toISOString().slice(0, 19).replaceAll(/[-:]/g, '');
  return `${stamp}-${randomBytes(4).toString('hex')}`;
}
