import type { Calendars } from '#domain/calendars/calendar.js';
import { checkOnMarket } from '#domain/checks/index-on-market.js';
import { listAssumptions, validateIndex } from '#domain/checks/validate-index.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { Finding } from '#domain/refusals/findings.js';
import { assertNoErrors, refuseWithFindings } from '#domain/refusals/refusal.js';
import type { ModelFiles } from '#jobs/tasks/indices.js';
import type { Markets } from '#market/serving/markets.js';
import { findVersionByEtag } from '#store/history/history.js';
import type { ArtifactStore, DocumentStore } from '#store/port.js';
import type { StoreMarkets } from '../datasets/store-markets.js';
import { readRunDefinition } from '../stored/run-definition.js';
import { requireRun } from '../stored/run-documents.js';
import { prependHead } from '../stored/stamped-json.js';
import { requireIndex, createStoredIndices } from '../stored/stored-indices.js';
import { resolveModelFiles } from '../stored/used-models.js';
import { runOnStoreOf } from './on-store.js';
import { resolveReached } from './reached-documents.js';
import { addStoredParts } from './stored-parts.js';

/** Definition with every document that it refers to, and the stored risk models that these documents use. */
export interface QuestionDefinition {
  readonly document: IndexDocument;
  readonly documents: Readonly<Record<string, IndexDocument>>;
  readonly models?: ModelFiles;
  /** Version of the stored index. */
  readonly version: number | null;
}

export type RequestBody = Readonly<Record<string, unknown>>;

/** JSON text that a worker wrote. */
export type Json = Promise<Uint8Array<ArrayBuffer>>;

/** Document that is valid and can be computed, with its warnings. */
interface CheckedDocument {
  readonly document: IndexDocument;
  readonly findings: readonly Finding[];
}

/** Function that finds the data store of a run. */
interface RunStore {
  findStore(run: RunDocument): Promise<string | undefined>;
}

export interface QuestionDefinitionsDependencies {
  readonly documents: DocumentStore;
  readonly artifacts: Pick<ArtifactStore, 'file' | 'read' | 'damaged'>;
  readonly stores: Pick<StoreMarkets, 'of' | 'within'>;
  readonly states: Pick<RunStore, 'findStore'>;
  /** Market of the current call. */
  readonly markets: Pick<Markets, 'served'>;
  readonly calendars: Calendars;
}

/** Service that returns the definition for a request: from a body, a stored index or a run. */
export interface QuestionDefinitions {
  /** Returns the documents that a document refers to, and the stored risk models that they use. */
  reached(document: IndexDocument): Promise<Pick<QuestionDefinition, 'documents' | 'models'>>;
  /** Checks the document in a body. @throws Refusal VALIDATION_FAILED */
  checked(body: RequestBody): Promise<CheckedDocument>;
  /**
   * Returns the findings about a document. If the served market lacks data that the document needs, that is an error.
   */
  onMarket(document: IndexDocument, market: MarketData): Promise<readonly Finding[]>;
  /**
   * Returns a stored index with its version. The version is null if another version was stored during the read, or if
   * the index is older than versions. @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE
   */
  now(id: string): Promise<Pick<QuestionDefinition, 'document' | 'version'>>;
  /** Runs work on the store of a definition. */
  onStore<T>(definition: RequestBody | IndexDocument, work: () => Promise<T>): Promise<T>;
  /** Runs work on the definition and the store of a run. */
  onRun<T>(subject: string, id: string, work: (definition: QuestionDefinition) => Promise<T>): Promise<T>;
}

export function createQuestionDefinitions({
  documents,
  artifacts,
  stores,
  states,
  markets,
  calendars,
}: QuestionDefinitionsDependencies): QuestionDefinitions {
  async function findReached(document: IndexDocument) {
    const reachedDocuments = await resolveReached(documents, document);
    const use = { documents: reachedDocuments, storeId: markets.served()?.identity.datasetId };
    return { documents: reachedDocuments, ...(await resolveModelFiles(documents, artifacts, use)) };
  }

  async function checkBody(body: RequestBody): Promise<CheckedDocument> {
    const { document, findings } = await createStoredIndices(documents).answer((lookUpIndex) =>
      validateIndex(body, { calendars: calendars.list(), calendarOf: calendars.get, indexOf: lookUpIndex }),
    );
    if (document === undefined) throw refuseWithFindings('index document', findings);
    return { document: await addStoredParts(documents, document), findings };
  }

  async function listMarketFindings(document: IndexDocument, market: MarketData): Promise<readonly Finding[]> {
    const { findings, assumed } = await createStoredIndices(documents).answer((lookUpIndex) => ({
      findings: checkOnMarket(document, market, { severity: 'error', indexOf: lookUpIndex }),
      assumed: listAssumptions(document, market, lookUpIndex),
    }));
    assertNoErrors('index document', findings);
    return [...findings, ...assumed];
  }

  async function readCurrent(id: string): Promise<Pick<QuestionDefinition, 'document' | 'version'>> {
    const { document, etag } = await requireIndex(documents, id);
    return { document, version: await findVersionByEtag(documents, { kind: 'index', id }, etag) };
  }

  /** Reads the definition of a stored run. @throws Refusal RUN_NOT_FOUND, DOCUMENT_UNREADABLE */
  async function loadRunDefinition(subject: string, id: string): Promise<QuestionDefinition> {
    const run = await requireRun(documents, { subject, id });
    const { indexId, ...reached } = (await readRunDefinition(artifacts, run)).definition;
    return { document: reached.documents[indexId]!, ...reached, version: run.index_version ?? null };
  }

  async function runOnRun<T>(
    subject: string,
    id: string,
    work: (definition: QuestionDefinition) => Promise<T>,
  ): Promise<T> {
    const storeId = await states.findStore(await requireRun(documents, { subject, id }));
    return stores.within(storeId, async () => work(await loadRunDefinition(subject, id)));
  }

  const runOnDefinitionStore = <T>(definition: RequestBody | IndexDocument, work: () => Promise<T>) =>
    runOnStoreOf({ documents, stores }, definition, work);

  return {
    reached: findReached,
    checked: checkBody,
    onMarket: listMarketFindings,
    now: readCurrent,
    onStore: runOnDefinitionStore,
    onRun: runOnRun,
  };
}

/** Adds the version of a definition to a response that was computed from it. */
export function addVersion(version: number | null, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return prependHead({ bytes: new TextEncoder().encode(`{"index_version":${version},`) }, bytes);
}
