import { randomBytes } from 'node:crypto';
import type { BacktestPlan } from '#domain/documents/backtest-plan.js';
import { assertOwnName } from '../operations/access.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import { marketFindings } from '#domain/checks/index-on-market.js';
import { validateIndex } from '#domain/checks/validate-index.js';
import { lateRates } from '#domain/checks/late-rates.js';
import type { PlannedModel } from '#domain/documents/used-models.js';
import type { Finding } from '#domain/refusals/findings.js';
import type { MarketData } from '#domain/market/market-data.js';
import { assertNoErrors, Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import { refusedVariants } from '#domain/sweeps/refused-variants.js';
import type { SweepRequest } from '#domain/sweeps/sweep-request.js';
import {
  applyPatch,
  patchesOf,
  sizeFindings,
  type DocumentCheck,
  type Patch,
  type SweepBase,
} from '#domain/sweeps/variants.js';
import type { JobKind, Jobs } from '#jobs/job-kind.js';
import type { Origin } from '#jobs/origin.js';
import type { JobStatus } from '#jobs/status.js';
import type { DocumentStore } from '#store/port.js';
import { reachedBy } from '../indices/index-questions.js';
import { versionOf, type DataVersions } from '../datasets/data-versions.js';
import { assertAnyKnown } from './known-decisions.js';
import { withStoredParts } from '../indices/stored-parts.js';
import { requireIndex, storedIndices, type IndexLookup } from '../stored/stored-indices.js';
import type { SweepPayload } from '#domain/jobs/payloads.js';
import { plannedModels } from '../stored/used-models.js';

export interface SweepsDependencies {
  readonly documents: DocumentStore;
  readonly jobs: Jobs;
  readonly dataVersions: Pick<DataVersions, 'at' | 'before'>;
  readonly calendars: Calendars;
  readonly kind: JobKind<SweepPayload>;
  readonly engineVersion: string;
  /** Largest memory a backtest on the served market needs. */
  readonly estimatedBytes: () => number;
  /** Threads of the pool. */
  readonly workers: number;
  readonly now: () => number;
}

export interface Sweeps {
  /**
   * Queues a sweep after every variant was checked as if it had been sent by itself.
   * @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE, VALIDATION_FAILED, NO_DATA_SOURCE, JOB_RUNNING, OVERLOADED
   */
  start(request: SweepRequest, origin: Origin | null): Promise<JobStatus>;
}

/** Longest run of checks before other work has its turn, milliseconds. */
const BATCH_MS = 10;

export function createSweeps({
  documents,
  jobs,
  dataVersions,
  calendars,
  kind,
  engineVersion,
  estimatedBytes,
  workers,
  now,
}: SweepsDependencies): Sweeps {
  const checkWith =
    (indexOf: IndexLookup): DocumentCheck =>
    (body) =>
      validateIndex(body, { calendars: calendars.list(), calendarOf: calendars.get, indexOf });

  async function baseOf({ index_id: indexId, document: body, request, strategy }: SweepRequest): Promise<SweepBase> {
    if (indexId !== null) {
      const { document: stored } = await requireIndex(documents, indexId);
      return { document: await withStoredParts(documents, stored), request, strategy };
    }
    const { document, findings } = await storedIndices(documents).answer((indexOf) => checkWith(indexOf)(body!));
    if (document === undefined)
      throw refuseWithFindings(
        'body',
        findings.map((finding) => ({
          ...finding,
          path: finding.path === '' ? 'document' : `document.${finding.path}`,
        })),
      );
    return { document: await withStoredParts(documents, document), request, strategy };
  }

  /**
   * Documents that variants reach besides themselves, and the stored risk models of all.
   * @throws Refusal VALIDATION_FAILED when a variant is not fit to be run
   */
  async function checkVariants(
    base: SweepBase,
    patches: readonly Patch[],
    { market, member }: { readonly market: MarketData; readonly member: 'grid' | 'patches' },
  ): Promise<Pick<BacktestPlan, 'documents' | 'models'>> {
    const reached = new Map<string, IndexDocument>();
    const models = new Map<string, PlannedModel>();
    const refused = refusedVariants(member, patches);
    const indices = storedIndices(documents);
    let since = performance.now();
    for (const [i, patch] of patches.entries()) {
      const { variant, findings } = await indices.answer((indexOf) =>
        applyPatch(base, patch, { path: '', check: checkWith(indexOf) }),
      );
      refused.add(i, findings);
      if (variant !== undefined)
        try {
          const found = await needsOf(variant.document, market);
          refused.add(i, found.findings);
          for (const [id, document] of Object.entries(found.reached)) reached.set(id, document);
          for (const [id, model] of Object.entries(found.models)) models.set(id, model);
        } catch (refusal) {
          refused.add(i, findingsIn(refusal));
        }
      if (performance.now() - since < BATCH_MS) continue;
      await new Promise(setImmediate);
      since = performance.now();
    }
    refused.assertNone();
    reached.delete(base.document.id);
    return {
      documents: Object.fromEntries(reached),
      ...(models.size > 0 ? { models: Object.fromEntries(models) } : {}),
    };
  }

  /**
   * What the run of a variant needs, and what the market lacks for it.
   * @throws Refusal VALIDATION_FAILED when a document that it reaches is missing
   */
  async function needsOf(document: IndexDocument, market: MarketData) {
    const reached = await reachedBy(documents, document);
    const lacking = (one: IndexDocument): readonly Finding[] => [
      ...marketFindings(one, market, { severity: 'error', indexOf: (id) => reached[id] }),
      ...lateRates(one.id, { documents: reached, market, calendars }),
    ];
    const findings = Object.values(reached).flatMap((one) =>
      lacking(one)
        .filter(({ severity }) => severity === 'error')
        .map((finding) =>
          one.id === document.id
            ? { ...finding, path: `/document.${finding.path}` }
            : { ...finding, path: '/document', message: `The index ${one.id} beneath: ${finding.message}` },
        ),
    );
    return { reached, findings, models: (await plannedModels(documents, reached)).models ?? {} };
  }

  return {
    async start(request, origin) {
      const base = await baseOf(request);
      assertNoErrors('sweep', sizeFindings(request));
      const known = await dataVersions.at(request.as_known_on);
      const { market } = known.served;
      if (request.request.as_known !== undefined)
        assertAnyKnown(await dataVersions.before(known.version), {
          market,
          end: request.request.end,
          documents: { base: base.document },
        });
      const patches = patchesOf(request);
      const reached = await checkVariants(base, patches, {
        market,
        member: request.patches === null ? 'grid' : 'patches',
      });
      if (request.sweep_id != null) assertOwnName(request.sweep_id);
      const sweepId = request.sweep_id ?? newSweepId(now());
      return jobs.submit({
        kind,
        payload: {
          sweep_id: sweepId,
          base,
          stored_id: request.index_id,
          patches,
          ...reached,
          rank_by: request.rank_by,
          partitions: request.partitions,
          folds: request.folds,
          ...versionOf(request, known),
          engine_version: engineVersion,
        },
        request,
        estimatedBytes: workers * estimatedBytes() + LEVEL_BYTES * market.dates.length * patches.length,
        message: 'waiting for a worker',
        origin,
      });
    },
  };
}

/** A day, a level and a return of each variant. */
const LEVEL_BYTES = 3 * 8;

/** Findings of a refusal about the document of a variant. @throws what is no such refusal */
function findingsIn(refusal: unknown): Finding[] {
  if (!(refusal instanceof Refusal) || !Array.isArray(refusal.detail?.['findings'])) throw refusal;
  const findings = refusal.detail['findings'] as readonly Finding[]; // As `refuseWithFindings` puts them there.
  return findings.map((finding) => ({ ...finding, path: `/document.${finding.path}` }));
}

/** `{yyyymmddThhmmss}-{8 hex}`. */
function newSweepId(now: number): string {
  const stamp = new Date(now).toISOString().slice(0, 19).replaceAll(/[-:]/g, '');
  return `${stamp}-${randomBytes(4).toString('hex')}`;
}
