import type { Finding } from '#domain/base/findings.js';
import { LIMITS } from '#domain/base/limits.js';
import { findFirstAtLeast } from '#domain/base/numbers.js';
import { assertNoErrors, Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { parseValidDay } from '#domain/base/time.js';
import type { BacktestPlan, PlannedModel } from '#domain/definition/backtest-plan.js';
import type { IndexDocument } from '#domain/definition/index-document.js';
import { validateIndex } from '#domain/definition/index-validation.js';
import { findStore } from '#domain/definition/references.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { SweepPayload } from '#domain/outputs/jobs.js';
import { computeTrialFigureBytes } from '#domain/studies/folds.js';
import {
  applyPatch,
  checkLevels,
  checkVariantCount,
  countVariants,
  createPatch,
  type DocumentCheck,
  orderSweepParts,
  type Patch,
  type SweepBase,
  type SweepParts,
  type SweepRequest,
  type Variation,
} from '#domain/studies/sweep.js';
import { createRefusedVariants, findLackingVariantData, selectCheckedFirst } from '#domain/studies/variant-checks.js';
import { createJobKind, type JobKind } from '#jobs/port/job-kind.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import type { JobOrigin } from '#jobs/port/queue.js';
import type { TaskInput } from '#jobs/tasks/catalogue.js';
import {
  addStoredParts,
  createStoredIndices,
  type IndexLookup,
  requireIndex,
  resolveReached,
} from '../indices/documents.js';
import { assertOwnName, limitJobs, prefixName } from '../keys/access.js';
import type { Context } from '../shared/context.js';
import { assertNotDeleted, createTimedId, readResultRows } from '../shared/jobs.js';
import { createModelReferences, findPlannedFiles, planModels } from '../shared/model-documents.js';
import { selectVersion } from '../stores/data-versions.js';
import { assertSomeVersion } from './plans.js';

/** Share of the progress that remains after all variants have run. */
const SUMMING = 0.05;

/**
 * Creates the kind of job that runs sweeps. It has enough parts to keep every thread busy, and other nodes can compute
 * parts. A result depends only on its variant, so all nodes compute bit-identical results.
 */
export function createSweepJob({
  documents,
  artifacts,
  markets,
  dataVersions,
  workers,
}: Context): JobKind<SweepPayload> {
  const listParts = createPartsReader();

  /** Returns the input of a task that runs some of the variants. */
  async function createOrder(payload: SweepPayload): Promise<Omit<TaskInput<'sweep-part'>, 'patches' | 'outputs'>> {
    const { base, documents: reachedDocuments, models, data_version } = payload;
    await markets.settled();
    const content = await dataVersions.at(data_version);
    const knownTerms = hasDatedData(payload) ? { known: await dataVersions.before(content.version) } : {};
    const references = createModelReferences(models, await findPlannedFiles(documents, artifacts, models));
    const { identity: market } = content.served;
    return {
      market,
      base,
      documents: reachedDocuments,
      ...references,
      ...knownTerms,
      areChecked: !payload.is_unchecked,
    };
  }

  const listPatches = (payload: SweepPayload, part: number): Patch[] =>
    listParts(payload)
      .variants(part)
      .map((variant) => createPatch(payload, variant));

  return createJobKind(
    'sweep',
    async (payload, attempt) => {
      const { stored_id: storedId } = payload;
      const order = await createOrder(payload);
      const writtenParts = await attempt.inParts({
        count: listParts(payload).count,
        atOnce: 2 * workers,
        share: 1 - SUMMING,
        async here(part, share) {
          const outputs = attempt.outputs(['outcomes']);
          const patches = listPatches(payload, part);
          return (await attempt.compute('sweep-part', { ...order, patches, outputs }, share)).outcomes;
        },
      });
      const files = writtenParts.map(({ artifact: { name, sha256 }, parts }) => ({ artifact: name, sha256, parts }));
      const { sweep_id: sweepId, base, rank_by: rankBy, partitions, folds, engine_version: engineVersion } = payload;
      const variation = createVariation(payload);
      const sum = { sweepId, indexId: base.document.id, rankBy, partitions, folds, variation, files, engineVersion };
      const outputs = attempt.outputs(['view', 'rows']);
      const { view, rows } = await attempt.compute('sum-sweep', { ...sum, market: order.market, outputs }, SUMMING);
      return {
        result: { artifact: view, rows },
        async effect(tx) {
          if (storedId) await assertNotDeleted(tx, storedId, 'sweep'); // absent in sweeps that waited while an older version was replaced
        },
      };
    },
    async (payload, numbers, attempt) => {
      const patches = numbers.flatMap((part) => listPatches(payload, part));
      const outputs = attempt.outputs(['outcomes']);
      const { outcomes } = await attempt.compute('sweep-part', { ...(await createOrder(payload)), patches, outputs });
      return { result: { artifact: outcomes } };
    },
  );
}

const createVariation = ({ grid, patches }: SweepPayload): Variation => ({ grid, patches });

/** Returns true if some variants make decisions on data as it was known at the time. */
function hasDatedData({ base, grid, patches }: SweepPayload): boolean {
  const pointer = '/request/as_known';
  const isVaried = grid === null ? patches?.some((patch) => pointer in patch) === true : pointer in grid;
  return base.request.as_known !== undefined || isVaried;
}

/** @returns a function that returns the parts of a payload and caches them */
function createPartsReader(): (payload: SweepPayload) => SweepParts {
  const partsByPayload = new WeakMap<SweepPayload, SweepParts>();
  return (payload) => {
    const parts = partsByPayload.get(payload) ?? orderSweepParts(createVariation(payload));
    partsByPayload.set(payload, parts);
    return parts;
  };
}

export interface Sweeps {
  /**
   * Queues a sweep. First checks every variant like a separate request; in a large sweep, only some variants are
   * checked.
   * @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE, VALIDATION_FAILED, NO_DATA_SOURCE, JOB_RUNNING, OVERLOADED
   */
  start(request: SweepRequest, origin: JobOrigin | null): Promise<JobStatus>;
  /**
   * Returns a block of the rows of a succeeded sweep as JSON.
   * @throws Refusal JOB_NOT_FOUND; VALIDATION_FAILED after the last block; DOCUMENT_UNREADABLE
   */
  rows(sweepId: string, query: { readonly block: number }): Promise<Uint8Array<ArrayBuffer>>;
}

/** Maximum time in ms of consecutive checks. After that, other work can run. */
const BATCH_MS = 10;

/** @param estimatedBytes returns the maximum memory of a backtest on the served market, in bytes */
export function createSweeps(context: Context, kind: JobKind<SweepPayload>, estimatedBytes: () => number): Sweeps {
  const { documents, artifacts, jobs, dataVersions, stores, calendars, engineVersion, workers, now } = context;
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
          const variantNeeds = await determineNeeds(context, variant.document, market);
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
    rows: (ident, { block }) => readResultRows({ kind: 'sweep', ident, block }, limitJobs(jobs), artifacts),
    async start(request, origin) {
      const base = await readBase(request);
      assertNoErrors('sweep', [...checkVariantCount(request), ...findStorePointers(request)]);
      const namedStore = findStore(await resolveReached(documents, base.document), request.request.store_id);
      return stores.within(namedStore, () => startOnMarket(base, request, origin));
    },
  };

  async function startOnMarket(base: SweepBase, request: SweepRequest, origin: JobOrigin | null): Promise<JobStatus> {
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
    const sweepId = request.sweep_id ?? prefixName(createTimedId(now()));
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
async function determineNeeds({ documents, calendars }: Context, document: IndexDocument, market: MarketData) {
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
