import type {
  RenderCollection,
  RenderRequest,
  RenderResult,
  reportRoutes,
  ReportTemplateCollection,
  SavedReportTemplate,
} from '#contract/reports.js';
import type { QueryOf } from '#contract/route.js';
import { randomBytes } from 'node:crypto';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { readIndex } from '#domain/definition/index-validation.js';
import type { RunDocument } from '#domain/definition/runs.js';
import type { Authorship } from '#domain/definition/versions.js';
import type { MarketIdentity } from '#domain/market/market-data.js';
import type { RenderPayload } from '#domain/outputs/jobs.js';
import {
  bindTemplate,
  BUILT_IN_IDS,
  createBuiltInTemplate,
  createTerms,
  isBuiltIn,
  listBoundIndices,
  needsDifference,
  needsMarket,
  readTemplate,
  RenderDocument,
  type ReportTemplateDocument,
  requestsIndices,
  validateTemplate,
} from '#domain/outputs/report-templates.js';
import { type Attempt, createJobKind, type JobKind } from '#jobs/port/job-kind.js';
import type { JobStatus } from '#jobs/port/life-cycle.js';
import type { JobOrigin } from '#jobs/port/queue.js';
import type { PortableTaskName, RenderedRunOrder } from '#jobs/tasks/catalogue.js';
import type { RenderOutput } from '#jobs/tasks/runs.js';
import { computeRunId, type DocumentStore, type DocumentTransaction, readStoredBody } from '#store/port.js';
import { loadVersion } from '#store/history/history.js';
import { findIndex } from '../indices/documents.js';
import { findLastDifference } from '../runs/differences.js';
import type { Context } from '../shared/context.js';
import { addUnreadable, assertIdOfPath, assertPrecondition, type Precondition } from '../shared/documents.js';
import {
  assertUndamaged,
  getColumns,
  listEarlierFiles,
  type RequestedRun,
  requireRun,
  toHashedReference,
} from '../shared/run-documents.js';

interface RenderedReport extends RenderOutput {
  readonly runs: readonly RunDocument[];
}

/** Maximum number of attempts to read a run. A run may be replaced between look-up and reading. */
const READS_MAX = 3;

/**
 * Creates the kind of job that renders reports. An attempt uses the runs that are the latest when it starts.
 * @param creator name and version of the program, for the metadata of files
 */
export function createRenderJob(
  { jobs, documents, artifacts, markets, states, timestamp }: Context,
  creator: string,
): JobKind<RenderPayload> {
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
    const last = needsDifference(template, run.run_id) ? await findLastDifference(jobs, run.run_id) : undefined;
    const difference = last === undefined ? null : { ...last, isOfRun: last.run_id === computeRunId(run) };
    return { indexId: run.run_id, terms: createTerms(run, await readDefinition(run)), ...files, ...state, difference };
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

export interface StoredTemplate {
  readonly template: ReportTemplateDocument;
  readonly etag: string | undefined;
}

interface ReportTemplates {
  listTemplates(query: {
    readonly limit?: number | undefined;
    readonly after?: string | undefined;
  }): Promise<ReportTemplateCollection>;
  /**
   * Returns a template. A built-in template has no etag, because it changes only when the engine changes.
   * @throws Refusal TEMPLATE_NOT_FOUND, DOCUMENT_UNREADABLE
   */
  getTemplate(templateId: string): Promise<StoredTemplate>;
  /** Creates or replaces a template. @throws Refusal TEMPLATE_BUILT_IN, ID_MISMATCH, VALIDATION_FAILED, PRECONDITION_FAILED */
  putTemplate(
    templateId: string,
    body: Readonly<Record<string, unknown>>,
    ifMatch: Precondition | undefined,
    by?: Authorship,
  ): Promise<{ readonly saved: SavedReportTemplate; readonly etag: string }>;
  /** Deletes a template. @throws Refusal TEMPLATE_BUILT_IN, TEMPLATE_NOT_FOUND, PRECONDITION_FAILED */
  removeTemplate(templateId: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
}

function createReportTemplates(documents: DocumentStore): ReportTemplates {
  async function requireTemplate(templateId: string): Promise<StoredTemplate> {
    if (isBuiltIn(templateId)) return { template: createBuiltInTemplate(templateId), etag: undefined };
    const storedDocument = await documents.get('template', templateId);
    if (storedDocument === undefined) throw refuseMissingTemplate(templateId);
    const template = readStoredBody(storedDocument, readTemplate);
    if (template === undefined || 'unreadable' in storedDocument)
      throw new Refusal(
        'DOCUMENT_UNREADABLE',
        `The report template ${templateId} cannot be read; it can still be deleted.`,
      );
    return { template, etag: storedDocument.etag };
  }

  return {
    async listTemplates({ limit, after }) {
      const { documents: templates, skipped, skipped_causes } = await documents.list('template', readTemplate);
      const remainingTemplates =
        after === undefined ? templates : templates.filter(({ template_id }) => template_id > after);
      return {
        templates: remainingTemplates.slice(0, limit ?? remainingTemplates.length),
        built_in: [...BUILT_IN_IDS],
        skipped,
        skipped_causes: { ...skipped_causes },
      };
    },

    getTemplate: requireTemplate,

    async putTemplate(templateId, body, ifMatch, authorship) {
      assertEditable(templateId);
      assertIdOfPath(templateId, body, 'template_id');
      const { document, findings } = validateTemplate(body);
      if (document === undefined) throw refuseWithFindings('report template', findings);
      const write = async (tx: DocumentTransaction): Promise<string> => {
        await assertPrecondition(tx, 'template', templateId, ifMatch);
        return tx.put('template', templateId, document);
      };
      const etag = await documents.transaction(write, { by: authorship });
      // findings are read-only lists in the service and mutable lists in the contract
      return { saved: (findings.length === 0 ? document : { ...document, findings }) as SavedReportTemplate, etag };
    },

    async removeTemplate(templateId, ifMatch, authorship) {
      assertEditable(templateId);
      const deleteTemplate = async (tx: DocumentTransaction): Promise<void> => {
        if ((await tx.get('template', templateId)) === undefined) throw refuseMissingTemplate(templateId);
        await assertPrecondition(tx, 'template', templateId, ifMatch);
        await tx.delete('template', templateId);
      };
      await documents.transaction(deleteTemplate, { by: authorship });
    },
  };
}

/** Refuses to change a built-in template. @throws Refusal TEMPLATE_BUILT_IN */
function assertEditable(templateId: string): void {
  if (isBuiltIn(templateId))
    throw new Refusal('TEMPLATE_BUILT_IN', `The template ${templateId} is built in: it can be rendered, not changed.`, {
      template_id: templateId,
    });
}

function refuseMissingTemplate(templateId: string): Refusal {
  return new Refusal('TEMPLATE_NOT_FOUND', `No report template is stored under the id ${templateId}.`, {
    template_id: templateId,
  });
}

export interface RenderedPdf {
  readonly fileName: string;
  readonly length: number;
  readonly etag: string;
  open(): Promise<ReadableStream<Uint8Array>>;
}

export type RenderQuery = QueryOf<typeof reportRoutes.listRenders>;

export interface Reports extends ReportTemplates {
  /**
   * Queues a rendering. First makes every check that needs no drawing.
   * @throws Refusal TEMPLATE_NOT_FOUND, DOCUMENT_UNREADABLE, TEMPLATE_EMPTY, TEMPLATE_BUILT_IN, ID_MISMATCH,
   * INDEX_REQUIRED, INDEX_NOT_FOUND, RUN_NOT_FOUND
   */
  render(request: RenderRequest, origin: JobOrigin | null): Promise<JobStatus>;
  /** Lists finished renders, newest first. */
  listRenders(query: RenderQuery): Promise<RenderCollection>;
  /** Returns a rendered report. @throws Refusal RENDER_NOT_FOUND, DOCUMENT_UNREADABLE */
  getRender(renderId: string): Promise<RenderedPdf>;
  /** Deletes a rendered report. @throws Refusal RENDER_NOT_FOUND, PRECONDITION_FAILED */
  removeRender(renderId: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
}

/** Refuses a request with a run of an index that the report does not show. @throws Refusal VALIDATION_FAILED */
function assertIndicesShown(boundIds: readonly string[], ids: Readonly<Record<string, string>>): void {
  const other = Object.keys(ids).find((id) => !boundIds.includes(id));
  if (other === undefined) return;
  const message = `run_ids names ${other}, which the report does not show; it shows ${boundIds.join(', ')}.`;
  throw refuseWithFindings('request', [
    {
      severity: 'error',
      code: 'UNKNOWN_INDEX',
      path: `run_ids.${other}`,
      message,
      value: other,
      accepted: [...boundIds],
    },
  ]);
}

/**
 * Checks that a template in a request has the id of the request, which is not the id of a built-in template.
 * @throws Refusal TEMPLATE_BUILT_IN, ID_MISMATCH
 */
function assertIdOfRequest(templateId: string, { template_id: ownId }: ReportTemplateDocument): void {
  assertEditable(templateId);
  if (ownId === templateId) return;
  const message = `template.template_id is ${ownId}, but template_id of the request is ${templateId}.`;
  throw new Refusal('ID_MISMATCH', message, {
    findings: [{ severity: 'error', code: 'ID_MISMATCH', path: 'template.template_id', message, value: ownId }],
  });
}

interface BoundTemplate {
  readonly template: ReportTemplateDocument;
  readonly indexId: string | null;
}

export function createReports({ documents, artifacts, jobs, now }: Context, kind: JobKind<RenderPayload>): Reports {
  const templates = createReportTemplates(documents);
  const readFileNames = createFileNamesReader(documents);

  /**
   * Returns the template of a request. Every block that needs an index has one. Also returns the index in the request.
   */
  async function bindRequestedTemplate(request: RenderRequest): Promise<BoundTemplate> {
    const { template_id: templateId, template: unsavedTemplate } = request;
    if (unsavedTemplate !== null) assertIdOfRequest(templateId, unsavedTemplate);
    const template = unsavedTemplate ?? (await templates.getTemplate(templateId)).template;
    if (template.blocks.length === 0)
      throw new Refusal('TEMPLATE_EMPTY', `The report template ${templateId} has no blocks.`, {
        template_id: templateId,
      });
    if (isBuiltIn(templateId) && request.index_id === null && request.index_ids === null)
      throw new Refusal(
        'INDEX_REQUIRED',
        `The built-in template ${templateId} is rendered from the run of an index: index_id is required.`,
        null,
      );
    return { template: bindTemplate(template, request), indexId: requestsIndices(template) ? request.index_id : null };
  }

  async function createRenderId(): Promise<string> {
    const stamp = new Date(now()).toISOString().slice(0, 19).replaceAll(/[-:]/g, '');
    let id: string;
    do id = `${stamp}-${randomBytes(4).toString('hex')}`;
    while ((await documents.get('render', id)) !== undefined || (await jobs.get(`render:${id}`)) !== undefined);
    return id;
  }

  return {
    async render(request, origin) {
      const { template, indexId } = await bindRequestedTemplate(request);
      const { run_ids: ids } = request;
      const boundIds = listBoundIndices(template);
      assertIndicesShown(boundIds, ids ?? {});
      const runs = await Promise.all(boundIds.map((subject) => requireRun(documents, { subject, id: ids?.[subject] })));
      const renderId = await createRenderId();
      return jobs.submit({
        kind,
        payload: {
          render_id: renderId,
          template,
          index_id: indexId,
          ...(ids === null ? {} : { run_ids: ids }),
        },
        request,
        estimatedBytes:
          DRAWING_BYTES +
          runs
            .flatMap((run) => [run.artifacts.columns, ...listEarlierFiles(run)])
            .reduce((sum, { bytes }) => sum + bytes, 0),
        message: 'waiting to be drawn',
        origin,
      });
    },

    async listRenders({ index_id: indexId, template_id: templateId, limit, before }) {
      const { documents: allRenders, skipped, skipped_causes } = await documents.list('render', readRender);
      const matchingRenders = allRenders.filter(
        (render) =>
          (indexId === undefined || render.index_id === indexId) &&
          (templateId === undefined || render.template_id === templateId),
      );
      // the id of a render starts with its time in seconds
      const newestRenders = matchingRenders.map(toResult).sort((a, b) => (a.render_id < b.render_id ? 1 : -1));
      const page = (
        before === undefined ? newestRenders : newestRenders.filter(({ render_id: id }) => id < before)
      ).slice(0, limit);
      const files = new Map(
        allRenders.map(({ render_id: id, artifact: ref, rendered_at: renderedAt }) => [id, { ref, at: renderedAt }]),
      );
      const artifactRefs = page
        .map(({ render_id: id }) => files.get(id)!)
        .map(({ ref, at }) => ({ ref, madeAt: Date.parse(at) }));
      const damagedNames = await artifacts.damaged(artifactRefs);
      const readable = page.filter(({ render_id: id }) => !damagedNames.has(files.get(id)!.ref.name));
      const renders = addFileNames(readable, createFileNames(allRenders));
      const counts = addUnreadable({ skipped, skipped_causes }, page.length - renders.length);
      return { renders, total: matchingRenders.length, ...counts };
    },

    async getRender(renderId) {
      const storedDocument = await documents.get('render', renderId);
      if (storedDocument === undefined) throw refuseMissingRender(renderId);
      const document = readStoredBody(storedDocument, readRender);
      if (document === undefined)
        throw new Refusal('DOCUMENT_UNREADABLE', `The render ${renderId} cannot be read; it can still be deleted.`);
      const { artifact } = document;
      return {
        fileName: (await readFileNames()).get(renderId) ?? `${document.template_id}-${renderId}.pdf`,
        length: artifact.bytes,
        etag: artifact.sha256,
        open: () => artifacts.stream(artifact),
      };
    },

    async removeRender(renderId, ifMatch, authorship) {
      const deleteRender = async (tx: DocumentTransaction): Promise<void> => {
        const storedDocument = await tx.get('render', renderId);
        if (storedDocument === undefined) throw refuseMissingRender(renderId);
        const etag = readStoredBody(storedDocument, readRender)?.artifact.sha256;
        if (ifMatch !== undefined && ifMatch !== '*' && (etag === undefined || !ifMatch.includes(etag))) {
          throw new Refusal(
            'PRECONDITION_FAILED',
            `If-Match names another document than the rendered one, whose etag is ${etag ?? 'unknown'}.`,
            { etag: etag ?? null },
          );
        }
        await tx.delete('render', renderId);
      };
      await documents.transaction(deleteRender, { by: authorship });
    },

    ...templates,
  };
}

/** Memory in bytes of a rendering in addition to its runs: fonts, pages, the library. */
const DRAWING_BYTES = 128 << 20;

function readRender(body: unknown): RenderDocument | undefined {
  const result = RenderDocument.safeParse(body);
  return result.success ? result.data : undefined;
}

const addFileNames = (renders: readonly RenderCollection['renders'][number][], names: ReadonlyMap<string, string>) =>
  renders.map((render) => ({ ...render, file_name: names.get(render.render_id)! }));

/** Creates a function that returns the names of the files of all renders. They are kept until a render is written. */
function createFileNamesReader(documents: Pick<DocumentStore, 'list' | 'revision'>) {
  let fileNames: { readonly revision: number; readonly byId: ReadonlyMap<string, string> } | undefined;
  return async (): Promise<ReadonlyMap<string, string>> => {
    const revision = await documents.revision('render');
    if (fileNames?.revision !== revision)
      fileNames = { revision, byId: createFileNames((await documents.list('render', readRender)).documents) };
    return fileNames.byId;
  };
}

/**
 * Returns the names of the files of renders by id, for example `FACTSHEET-A4-CORE-and-2-more-2026-11-24.pdf`. If an
 * earlier render has the same name, the name also has the id of the render.
 */
function createFileNames(renders: readonly RenderDocument[]): ReadonlyMap<string, string> {
  const createOrder = ({ rendered_at: at, render_id: id }: RenderDocument) => `${at} ${id}`;
  const usedStems = new Set<string>();
  const names = new Map<string, string>();
  for (const render of renders.toSorted((a, b) => (createOrder(a) < createOrder(b) ? -1 : 1))) {
    const { render_id: id } = render;
    const stem = createFileStem(render);
    names.set(id, usedStems.has(stem) ? `${stem}-${id}.pdf` : `${stem}.pdf`);
    usedStems.add(stem);
  }
  return names;
}

/** Returns the template, the first index and the as-of date. A report without an index or a date has its id instead. */
function createFileStem({ render_id: id, template_id: template, index_ids: ids = [], as_of: asOf }: RenderDocument) {
  const [first] = ids;
  if (first === undefined || asOf === undefined) return `${template}-${id}`;
  const others = ids.length === 1 ? '' : `-and-${ids.length - 1}-more`;
  return `${template}-${first}${others}-${asOf}`;
}

function toResult({ artifact: _artifact, ...result }: RenderDocument): RenderCollection['renders'][number] {
  return result;
}

function refuseMissingRender(renderId: string): Refusal {
  return new Refusal('RENDER_NOT_FOUND', `No finished render has the id ${renderId}.`, { render_id: renderId });
}
