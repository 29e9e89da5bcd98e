import type { RenderResult } from '#contract/reports.js';
import { readIndex } from '#domain/checks/validate-index.js';
import type { RenderDocument } from '#domain/documents/render-document.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { MarketIdentity } from '#domain/market/market-identity.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { listBoundIndices, needsMarket } from '#domain/reports/block-kinds.js';
import { createTerms } from '#domain/reports/run-terms.js';
import type { ReportTemplateDocument } from '#domain/reports/template-document.js';
import type { RenderPayload } from '#domain/jobs/payloads.js';
import { createJobKind, type Attempt, type JobKind } from '#jobs/job-kind.js';
import type { PortableTaskName } from '#jobs/tasks.js';
import type { RenderOutput } from '#jobs/tasks/outputs.js';
import type { RenderedRunOrder } from '#jobs/tasks/references.js';
import type { Markets } from '#market/serving/markets.js';
import { loadVersion } from '#store/history/history.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import { findIndex } from '../stored/stored-indices.js';
import { assertUndamaged } from '../stored/damaged-runs.js';
import { getColumns, toHashedReference, requireRun, type RequestedRun } from '../stored/run-documents.js';
import type { RunStates } from '../runs/run-states.js';

export interface RenderJobDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: Pick<ArtifactStore, 'damaged'>;
  readonly markets: Pick<Markets, 'settled'>;
  /** Finds the market from which the risk of a run is estimated. */
  readonly states: Pick<RunStates, 'findStaleState' | 'findMarket'>;
  readonly timestamp: () => string;
  /** Name and version of the program. They are written to the metadata of files. */
  readonly creator: string;
}

interface RenderedReport extends RenderOutput {
  /** Runs that the report shows. */
  readonly runs: readonly RunDocument[];
}

/** Maximum number of attempts to read a run. A run may be replaced between look-up and reading. */
const READS_MAX = 3;

/** Creates the kind of job that renders reports. An attempt uses the runs that are the latest when it starts. */
export function createRenderJob({
  documents,
  artifacts,
  markets,
  states,
  timestamp,
  creator,
}: RenderJobDependencies): JobKind<RenderPayload> {
  async function renderReport(
    { template, run_ids: ids = {} }: RenderPayload,
    renderedAt: string,
    attempt: Attempt<PortableTaskName>,
  ): Promise<RenderedReport> {
    if (listBoundIndices(template).some((indexId) => needsMarket(template, indexId))) await markets.settled(); // A rendering that the previous process left waits until the data is loaded.
    const outputs = attempt.outputs(['pdf']);
    for (let read = 1; ; read++) {
      const runs = await readRuns(template, ids);
      try {
        const output = await attempt.compute('render', {
          template,
          runs: await Promise.all(runs.map((run) => toRendered(run, template))),
          renderedAt,
          creator,
          outputs,
        });
        return { ...output, runs };
      } catch (failure) {
        const isReplaced =
          failure instanceof Refusal &&
          failure.code === 'DOCUMENT_UNREADABLE' &&
          JSON.stringify(await readRuns(template, ids)) !== JSON.stringify(runs);
        if (!isReplaced || read === READS_MAX) throw failure;
      }
    }
  }

  async function readMarketFor(run: RunDocument, template: ReportTemplateDocument): Promise<MarketIdentity | null> {
    return needsMarket(template, run.run_id) ? ((await states.findMarket(run))?.identity ?? null) : null;
  }

  function readRuns(template: ReportTemplateDocument, ids: Readonly<Record<string, string>>): Promise<RunDocument[]> {
    return Promise.all(listBoundIndices(template).map((subject) => requireRunNow({ subject, id: ids[subject] })));
  }

  async function toRendered(run: RunDocument, template: ReportTemplateDocument): Promise<RenderedRunOrder> {
    await assertUndamaged(artifacts, run);
    const state = { stale: await states.findStaleState(run), market: await readMarketFor(run, template) };
    const { overview, plan } = run.artifacts;
    const files = {
      // a run without a stored overview has a stored plan
      overview: overview ? { stored: toHashedReference(overview) } : { plan: toHashedReference(plan!) },
      columns: getColumns(run),
    };
    return { indexId: run.run_id, terms: createTerms(run, await readDefinition(run)), ...files, ...state };
  }

  /**
   * Returns the definition from which the run of an index was made. If it is not stored, or if the run belongs to a
   * strategy, returns the current definition of the index.
   */
  async function readDefinition({ run_id: id, index_id: indexId, index_version: number }: RunDocument) {
    const version =
      id === indexId && typeof number === 'number'
        ? await loadVersion(documents, { kind: 'index', id: indexId }, number)
        : undefined;
    if (typeof version !== 'object' || version.content === null) return findIndex(documents, indexId);
    return readIndex(JSON.parse(version.content));
  }

  async function requireRunNow(name: RequestedRun): Promise<RunDocument> {
    const { subject } = name;
    try {
      return await requireRun(documents, name);
    } catch (failure) {
      const isDeleted = failure instanceof Refusal && failure.code === 'INDEX_NOT_FOUND';
      throw isDeleted
        ? new Refusal('INDEX_DELETED', `${subject} was deleted before its report was rendered.`, { index_id: subject })
        : failure;
    }
  }

  return createJobKind('render', async (payload, attempt) => {
    const { render_id, template, index_id } = payload;
    const rendered_at = timestamp();
    const { pdf: artifact, pages, runs } = await renderReport(payload, rendered_at, attempt);
    const asOf = runs.map(({ end }) => end).toSorted()[0];
    const { template_id, name, blocks } = template;
    const result: RenderResult = {
      render_id,
      template_id,
      name,
      index_id,
      index_ids: listBoundIndices(template),
      ...(asOf === undefined ? {} : { as_of: asOf }),
      blocks: blocks.length,
      bytes: artifact.bytes,
      rendered_at,
      pages,
    };
    const document: RenderDocument = { ...result, artifact };
    return { result: { value: result }, effect: async (tx) => void (await tx.put('render', render_id, document)) };
  });
}
