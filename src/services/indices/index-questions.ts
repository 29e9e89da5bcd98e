import type { LevelSketch } from '#contract/indices/preview.js';
import type { Methodology } from '#contract/indices/methodology.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import type { AsKnownOn } from '#domain/schema/as-known-on.js';
import type { z } from 'zod';
import type { IndexDocument } from '#domain/documents/index-document.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import { checkOnMarket } from '#domain/checks/index-on-market.js';
import { DocumentQuestion, mergePatch, PlainQuestion, WhatIfQuestion } from '#domain/documents/index-questions.js';
import { listAssumptions, validateIndex } from '#domain/checks/validate-index.js';
import { assertDecides } from '#domain/checks/validate-overlay.js';
import { sortFindings, type Finding } from '#domain/refusals/findings.js';
import type { ExportFormat } from '#domain/exports/formats.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { RebalancePackRequest } from '#domain/rebalance-pack/pack-request.js';
import { assertNoErrors, Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import { listMethodologySentences } from '#domain/rules/methodology.js';
import type { IndexSchedule } from '#domain/schedule/index-schedule.js';
import { checkShape } from '#domain/schema/shape.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { Markets } from '#market/serving/markets.js';
import { headOf, versionWith } from '#store/history/history.js';
import type { ArtifactStore, DocumentReader, DocumentStore } from '#store/port.js';
import type { DataVersions } from '../datasets/data-versions.js';
import type { StoreMarkets } from '../datasets/store-markets.js';
import { adjustmentOf } from '../stored/declared-adjustment.js';
import { runOnStoreOf } from './on-store.js';
import type { ModelFiles } from '#jobs/tasks/indices.js';
import { runDefinition } from '../stored/run-definition.js';
import { modelFiles } from '../stored/used-models.js';
import { requireRun } from '../stored/run-documents.js';
import { reachDocuments, requireIndex, createStoredIndices } from '../stored/stored-indices.js';
import { prependHead } from '../stored/stamped-json.js';
import { addStoredParts } from './stored-parts.js';
import { lateDocuments, SKETCH_POINTS } from './level-sketch.js';
import { listNamedIndices } from '#domain/documents/named-indices.js';

/** Definition with every document that it refers to and the stored risk models that they use. */
interface Definition {
  readonly document: IndexDocument;
  readonly documents: Readonly<Record<string, IndexDocument>>;
  readonly models?: ModelFiles;
  /** Version of a stored index. */
  readonly version: number | null;
}

type Body = Readonly<Record<string, unknown>>;

/** JSON as written by a worker. */
type Json = Promise<Uint8Array<ArrayBuffer>>;

/** Requests about definitions that are answered synchronously and store nothing. */
export interface IndexQuestions {
  /**
   * Returns a PreviewResponse. @throws Refusal VALIDATION_FAILED, NO_DATA_SOURCE, EMPTY_INDEX, FX_MISSING, OVERLOADED
   */
  previewStored(indexId: string, request: () => PreviewTerms, signal: AbortSignal): Json;
  /** Returns a PreviewResponse of the document in the body. */
  previewDocument(body: Body, signal: AbortSignal): Json;
  /** Returns the level of the document in the body over the last three years. @throws those of a preview */
  sketchLevel(body: Body, signal: AbortSignal): Promise<LevelSketch>;
  /** Returns a WhatIfResponse. @throws Refusal INDEX_NOT_FOUND, and those of a preview */
  whatIf(body: Body, signal: AbortSignal): Json;
  /**
   * Returns an IndexExplanation.
   * @throws Refusal INDEX_NOT_FOUND, IDENTIFIER_NOT_FOUND, NO_DATA_AT_DATE, and those of a preview
   */
  explain(question: ExplainQuestion, signal: AbortSignal): Json;
  /**
   * Returns a RebalancePack, or its orders as a file. @throws Refusal INDEX_NOT_FOUND, NO_DATA_AT_DATE, and those of a
   * preview
   */
  rebalancePack(indexId: string, asked: PackAsked, signal: AbortSignal): Json;
  /** @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE */
  methodology(indexId: string): Promise<Methodology>;
}

interface PreviewTerms {
  readonly as_of: string | null;
  readonly run_id?: string | undefined;
  readonly as_known_on?: AsKnownOn | undefined;
}

export interface PackAsked {
  readonly request: RebalancePackRequest;
  readonly format: ExportFormat;
}

export interface ExplainQuestion {
  readonly indexId: string;
  readonly identifier: string;
  readonly asOf: string | undefined;
  /** Run whose definition is explained; default: the stored definition. */
  readonly runId: string | undefined;
}

/** Returns the store of a run. */
interface RunStore {
  storeOf(run: RunDocument): Promise<string | undefined>;
}

export interface IndexQuestionsDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: Pick<ArtifactStore, 'file' | 'read' | 'damaged'>;
  readonly jobs: Pick<Jobs, 'query'>;
  readonly markets: Markets;
  readonly stores: Pick<StoreMarkets, 'of' | 'within'>;
  readonly states: Pick<RunStore, 'storeOf'>;
  readonly dataVersions: Pick<DataVersions, 'servedAt'>;
  readonly calendars: Calendars;
  /** @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE */
  readonly scheduleOf: (document: IndexDocument) => Promise<Pick<IndexSchedule, 'called'>>;
}

export function createIndexQuestions({
  documents,
  artifacts,
  jobs,
  markets,
  stores,
  states,
  dataVersions,
  calendars,
  scheduleOf,
}: IndexQuestionsDependencies): IndexQuestions {
  const onStore = <T>(definition: Body | IndexDocument, work: () => Promise<T>) =>
    runOnStoreOf({ documents, stores }, definition, work);

  /** Returns a document with the documents that it refers to and the stored risk models that they use. */
  async function reached(document: IndexDocument) {
    const all = await reachedBy(documents, document);
    return { documents: all, ...(await modelFiles(documents, artifacts, all)) };
  }

  /** A document fit to be computed, with the warnings about it. */
  async function checked(
    body: Body,
  ): Promise<{ readonly document: IndexDocument; readonly findings: readonly Finding[] }> {
    const { document, findings } = await createStoredIndices(documents).answer((indexOf) =>
      validateIndex(body, { calendars: calendars.list(), calendarOf: calendars.get, indexOf }),
    );
    if (document === undefined) throw refuseWithFindings('index document', findings);
    return { document: await addStoredParts(documents, document), findings };
  }

  /** Reports data of a document that the served market lacks as an error, together with its other findings. */
  async function onMarket(document: IndexDocument, market: MarketData): Promise<readonly Finding[]> {
    const { findings, assumed } = await createStoredIndices(documents).answer((indexOf) => ({
      findings: checkOnMarket(document, market, { severity: 'error', indexOf }),
      assumed: listAssumptions(document, market, indexOf),
    }));
    assertNoErrors('index document', findings);
    return [...findings, ...assumed];
  }

  /**
   * Returns the version of a stored index; null if another one was stored in the meantime, or versions did not exist
   * yet.
   */
  const versionOf = (id: string, etag: string): Promise<number | null> =>
    versionWith(documents, { kind: 'index', id }, etag);

  async function definitionNow(id: string): Promise<Pick<Definition, 'document' | 'version'>> {
    const { document, etag } = await requireIndex(documents, id);
    return { document, version: await versionOf(id, etag) };
  }

  /** Returns the definition from which a run was made. @throws Refusal RUN_NOT_FOUND, DOCUMENT_UNREADABLE */
  async function definitionOfRun(subject: string, id: string): Promise<Definition> {
    const run = await requireRun(documents, { subject, id });
    const { indexId, ...reached } = (await runDefinition(artifacts, run)).definition;
    return { document: reached.documents[indexId]!, ...reached, version: run.index_version ?? null };
  }

  /** Runs work on the definition and the store of a run. */
  async function onRun<T>(subject: string, id: string, work: (definition: Definition) => Promise<T>): Promise<T> {
    const storeId = await states.storeOf(await requireRun(documents, { subject, id }));
    return stores.within(storeId, async () => work(await definitionOfRun(subject, id)));
  }

  async function preview(definition: Definition, terms: PreviewTerms, signal: AbortSignal): Json {
    const { document, version, ...all } = definition;
    const { handle, market } = await dataVersions.servedAt(terms.as_known_on);
    await onMarket(document, market);
    const question = { market: handle, ...all, indexId: document.id, asOf: terms.as_of };
    const { bytes } = await jobs.query('preview', question, signal);
    return versioned(version, bytes);
  }

  return {
    async previewStored(indexId, request, signal) {
      const { document: stored, etag } = await requireIndex(documents, indexId);
      const version = await versionOf(indexId, etag);
      const terms = request();
      if (terms.run_id !== undefined)
        return onRun(indexId, terms.run_id, (definition) => preview(definition, terms, signal));
      return onStore(stored, async () => {
        const { document } = await checked(stored);
        return preview({ document, version, ...(await reached(document)) }, terms, signal);
      });
    },
    async previewDocument(body, signal) {
      const { value, findings } = checkShape(DocumentQuestion, body);
      if (value === undefined) throw refuseWithFindings('body', findings);
      return onStore(value.document as Body, async () => {
        const { document } = await checked(value.document as Body);
        return preview({ document, version: null, ...(await reached(document)) }, value, signal);
      });
    },
    async sketchLevel(body, signal) {
      const { value, findings } = checkShape(PlainQuestion, body);
      if (value === undefined) throw refuseWithFindings('body', findings);
      return onStore(value.document as Body, async () => {
        const { document } = await checked(value.document as Body);
        const { handle, market } = markets.require();
        await onMarket(document, market);
        const { documents: all, ...others } = await reached(document);
        const question = { market: handle, documents: lateDocuments(all, { subject: document.id, market }), ...others };
        const { dates, levels } = await jobs.query(
          'sketch-level',
          { ...question, indexId: document.id, points: SKETCH_POINTS },
          signal,
        );
        return { level: { index: [...dates], data: [...levels], name: document.id } };
      });
    },
    async whatIf(body, signal) {
      const { value, findings } = checkShape(WhatIfQuestion, body);
      if (value === undefined) throw refuseWithFindings('body', findings);
      const base = value.index_id === null ? value.document! : (await requireIndex(documents, value.index_id)).document;
      return onStore(base as Body, () => changeOf(base as Body, value, signal));
    },
    async explain({ indexId, identifier, asOf, runId }, signal) {
      const asked = { indexId, identifier, asOf };
      if (runId !== undefined)
        return onRun(indexId, runId, (definition) => explainOn(definition, { ...asked, isOfRun: true }, signal));
      const definition = await definitionNow(indexId);
      return onStore(definition.document, () => explainOn(definition, { ...asked, isOfRun: false }, signal));
    },
    async rebalancePack(indexId, asked, signal) {
      const { document } = await requireIndex(documents, indexId);
      return onStore(document, async () => {
        assertDecides(document);
        const { handle, market } = markets.require();
        await checked(document);
        await onMarket(document, market);
        const version = (await headOf(documents, { kind: 'index', id: indexId }))?.latest ?? null;
        const { called } = await scheduleOf(document);
        const question = { market: handle, ...(await reached(document)), indexId, version, called, ...asked };
        const { bytes } = await jobs.query('rebalancePack', question, signal);
        return bytes;
      });
    },
    async methodology(indexId) {
      const { document } = await requireIndex(documents, indexId);
      const adjustment = await adjustmentOf({ documents, markets }, document);
      return {
        index_id: indexId,
        name: document.name,
        sentences: listMethodologySentences(document, adjustment).map((sentence, i) => ({
          number: i + 1,
          ...sentence,
        })),
      };
    },
  };

  async function changeOf(base: Body, value: z.output<typeof WhatIfQuestion>, signal: AbortSignal): Json {
    const before = (await checked(base)).document;
    assertDecides(before);
    const after = await checked((value.changed ?? mergePatch(before, value.patch)) as Body);
    return onStore(after.document, async () => {
      const { handle, market } = await dataVersions.servedAt(value.as_known_on);
      await onMarket(before, market);
      assertDecides(after.document);
      const warnings = sortFindings([...after.findings, ...(await onMarket(after.document, market))]);
      const question = async (document: IndexDocument) => ({ ...(await reached(document)), indexId: document.id });
      const change = {
        market: handle,
        before: await question(before),
        after: await question(after.document),
        asOf: value.as_of,
        findings: warnings,
      };
      return (await jobs.query('whatIf', change, signal)).bytes;
    });
  }

  async function explainOn(
    definition: Pick<Definition, 'document' | 'version'> & Partial<Definition>,
    { indexId, identifier, asOf, isOfRun }: Omit<ExplainQuestion, 'runId'> & { readonly isOfRun: boolean },
    signal: AbortSignal,
  ): Json {
    const { document, version } = definition;
    assertDecides(document);
    const { handle, market } = markets.require();
    if (!market.identifiers.includes(identifier))
      throw new Refusal('IDENTIFIER_NOT_FOUND', `The served store does not hold ${identifier}.`, { identifier });
    if (!isOfRun) await checked(document);
    await onMarket(document, market);
    const { documents: all, models } =
      definition.documents === undefined
        ? await reached(document)
        : { documents: definition.documents, models: definition.models };
    const question = {
      market: handle,
      documents: all,
      ...(models === undefined ? {} : { models }),
      indexId,
      identifier,
      asOf: asOf ?? null,
    };
    const { bytes } = await jobs.query('explain', question, signal);
    return versioned(version, bytes);
  }
}

/** Returns a response with the version of the definition to which it belongs. */
export function versioned(version: number | null, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return prependHead({ bytes: new TextEncoder().encode(`{"index_version":${version},`) }, bytes);
}

/**
 * Returns a document and all documents that it refers to through universes and derivations, by id, with the securities
 * of their watchlists.
 * @throws Refusal VALIDATION_FAILED if one of them was deleted
 */
export async function reachedBy(
  reader: Pick<DocumentReader, 'get'>,
  document: IndexDocument,
): Promise<Record<string, IndexDocument>> {
  const {
    documents,
    missing: [first],
  } = await reachDocuments(reader, document);
  if (first !== undefined) throw refuseWithFindings('index document', [missingReference(first.at, first.next)]);
  const whole: (readonly [string, IndexDocument])[] = [];
  for (const at of documents) whole.push([at.id, await addStoredParts(reader, at)]);
  return Object.fromEntries(whole); // Makes every id a key, including __proto__.
}

function missingReference(at: IndexDocument, next: string): Finding {
  const message = `The index ${at.id} refers to ${next}, which is not stored.`;
  const path = listNamedIndices(at).find(({ id }) => id === next)!.path; // It was read from there.
  return { severity: 'error', code: 'UNKNOWN_INDEX', path, message, value: next };
}
