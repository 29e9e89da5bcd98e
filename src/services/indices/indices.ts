import { callOnce } from '#base/once.js';
import type { IndexCollection, IndexDeletion, OverlayTypes, RuleTypes } from '#contract/indices/definitions.js';
import { type Finding, hasErrors, reportFindings } from '#domain/base/findings.js';
import { listChanges, toCanonicalJson } from '#domain/base/json.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { listDatedTexts } from '#domain/definition/amendments.js';
import { type ChangedField, type DefinitionChange, FACTS_LISTED_MAX } from '#domain/definition/approvals.js';
import { createDerivedDocument, readDerivation } from '#domain/definition/optimisation-requests.js';
import {
  type Amendment,
  createDefinitionFields,
  type IndexDocument,
  isDerivedDocument,
  isOverlayDocument,
} from '#domain/definition/index-document.js';
import { type CheckedIndex, checkOnMarket, readIndex, validateIndex } from '#domain/definition/index-validation.js';
import { compareSentences, createMethodology } from '#domain/definition/methodology.js';
import { listOverlaySpecs } from '#domain/definition/overlays.js';
import { createStoreFinder, listNamedIndices } from '#domain/definition/references.js';
import { listRuleTypes } from '#domain/definition/rule-pipeline.js';
import type { Authorship } from '#domain/definition/versions.js';
import type { MarketData } from '#domain/market/market-data.js';
import { readLogHead } from '#store/history/publication-log.js';
import { type DocumentReader, type DocumentStore, type DocumentTransaction, readStoredBody } from '#store/port.js';
import { mapInTurns } from '#store/reach.js';
import type { ChangeAdmission, ApprovalGate, ProposedChange } from '../shared/approvals.js';
import type { Context } from '../shared/context.js';
import { assertIdOfPath, assertPrecondition, listTakenIdFindings, type Precondition } from '../shared/documents.js';
import { cancelJobsAbout, deleteJobsAbout, type JobsAbout } from '../shared/jobs.js';
import { findLookAhead, findModelsOfOtherStores, findUnknownModels } from '../shared/model-documents.js';
import { deleteRuns, readRunTime } from '../shared/run-documents.js';
import {
  checkStoredParts,
  createGoneStoreProblem,
  createStoredIndices,
  findCheckMarket,
  findIndex,
  readSources,
  removeStoredParts,
  requireIndex,
  type StoredIndex,
} from './documents.js';

/**
 * Returns the request to change a definition if the index has published closes. Returns undefined for any other index,
 * and for an unchanged definition.
 * @param after new definition; null for a deletion
 */
async function createDefinitionRequest(
  reader: Pick<DocumentReader, 'get'>,
  id: string,
  after: IndexDocument | null,
): Promise<ProposedChange | undefined> {
  if ((await readLogHead(reader, id)) === undefined) return undefined;
  const storedDocument = await reader.get('index', id);
  const storedIndex = readStoredBody(storedDocument, readIndex) ?? null;
  if (after !== null && storedIndex !== null && listChanges(storedIndex, after).length === 0) return undefined;
  const changes = after === null ? [] : listDefinitionChanges(storedIndex, after);
  return {
    action: 'amend',
    subject: id,
    content: { before: storedIndex, after },
    summary: after === null ? `Delete ${id}.` : formatSummary(id, changes),
    facts: { kind: 'amend', index_id: id, deletes: after === null, changes },
  };
}

function formatSummary(id: string, changes: readonly DefinitionChange[]): string {
  if (changes.some(({ effective_from: from }) => from === null)) return `Change the definition of ${id}.`;
  const datesText = changes.map(({ effective_from: from }) => from).join(', ');
  return `Amend the definition of ${id} from ${datesText} on.`;
}

/**
 * Returns the changes of a definition: one entry if the whole history changes, and one entry per appended amendment.
 */
function listDefinitionChanges(before: IndexDocument | null, after: IndexDocument): DefinitionChange[] {
  const earlierAmendments = listAmendments(before);
  const isAmendmentAppended =
    toCanonicalJson(listAmendments(after).slice(0, earlierAmendments.length)) === toCanonicalJson(earlierAmendments);
  const [was, is] = isAmendmentAppended ? [removeAmendments(before), removeAmendments(after)] : [before, after];
  const ownChange = createDefinitionChange(was, is as IndexDocument); // the document lacks at most its amendments, which are optional
  const texts = listDatedTexts(after);
  const amendmentChanges = (isAmendmentAppended ? listAmendments(after).slice(earlierAmendments.length) : []).map(
    (amendment, k) => {
      const [earlier, later] = [texts[earlierAmendments.length + k]!, texts[earlierAmendments.length + k + 1]!]; // a definition has one more text than amendments
      return createDefinitionChange(earlier.document, later.document, amendment);
    },
  );
  return ownChange.fields.length === 0 ? amendmentChanges : [ownChange, ...amendmentChanges];
}

function createDefinitionChange(
  before: object | null,
  after: IndexDocument,
  amendment: Partial<Amendment> = {},
): DefinitionChange {
  const { effective_from: from = null, announced = null, reason = null, rebalance = false } = amendment;
  const fields = listChanges(before ?? {}, after)
    .slice(0, FACTS_LISTED_MAX)
    .map(createField);
  const earlierSentences = before === null ? [] : createMethodology(before as IndexDocument); // the text was read as an amendment
  return {
    effective_from: from,
    announced,
    reason,
    rebalance,
    fields,
    ...compareSentences(earlierSentences, createMethodology(after)),
  };
}

const createField = ({ path, before, after }: Omit<ChangedField, 'field'>): ChangedField => ({
  field: formatPointer(path),
  path,
  before,
  after,
});

/** Formats a JSON pointer for people: `/pipeline/filters/0/max` becomes `Pipeline, filters, 1, max`. */
function formatPointer(path: string): string {
  const segments = path
    .split('/')
    .slice(1)
    .map((name) => (/^\d+$/.test(name) ? String(Number(name) + 1) : name.replaceAll('_', ' ')))
    .join(', ');
  return segments.charAt(0).toUpperCase() + segments.slice(1);
}

const listAmendments = (document: IndexDocument | null): readonly Amendment[] => document?.amendments ?? [];

function removeAmendments(document: IndexDocument | null): object | null {
  if (document === null) return null;
  const { amendments: _, ...rest } = document;
  return rest;
}

/** Page of a list: a number of entries after an id. */
interface PageQuery {
  readonly limit?: number | undefined;
  readonly after?: string | undefined;
}

interface CachedList {
  readonly limit: number | undefined;
  readonly after: string | undefined;
  readonly revision: string;
  readonly list: IndexCollection;
}

const LISTED_KINDS = ['index', 'run', 'store'] as const;

const CACHED_ROWS_MAX = 10_000;

/**
 * Creates the list of stored indices. The last list is cached until an index or a run is written; callers must not
 * modify it.
 * @cost if nothing is cached, a read of every index, and of the run of each index on the page
 */
export function createIndexList(
  documents: Pick<DocumentStore, 'get' | 'ids' | 'list' | 'revision'>,
): (query: PageQuery) => Promise<IndexCollection> {
  let cachedList: CachedList | undefined;
  return async ({ limit, after }) => {
    // The revision is read before the documents. A write during the read then changes the revision, and the list is not
    // reused.
    const revisionText = (await Promise.all(LISTED_KINDS.map((kind) => documents.revision(kind)))).join(' ');
    if (
      cachedList !== undefined &&
      cachedList.revision === revisionText &&
      cachedList.limit === limit &&
      cachedList.after === after
    )
      return cachedList.list;
    const { documents: allIndices, skipped, skipped_causes } = await documents.list('index', readIndex);
    const remainingIndices = after === undefined ? allIndices : allIndices.filter(({ id }) => id > after);
    const page = remainingIndices.slice(0, limit ?? remainingIndices.length);
    const findStoreOf = createStoreFinder(new Map(allIndices.map((document) => [document.id, document])));
    const stored = {
      indices: new Set(await documents.ids('index')),
      stores: new Set(await documents.ids('store')),
    };
    const indices = await mapInTurns(page, (document) =>
      toSummary(document, { documents, stored, storeId: findStoreOf(document.id) }),
    );
    const list = { indices, skipped, skipped_causes: { ...skipped_causes } };
    cachedList = indices.length <= CACHED_ROWS_MAX ? { limit, after, revision: revisionText, list } : undefined;
    return list;
  };
}

interface SummaryContext {
  readonly documents: Pick<DocumentStore, 'get'>;
  /** Ids of all stored documents, readable or not. */
  readonly stored: { readonly indices: ReadonlySet<string>; readonly stores: ReadonlySet<string> };
  /** Data store of the index; null for the active store. */
  readonly storeId: string | null;
}

async function toSummary(
  document: IndexDocument,
  { documents, stored, storeId }: SummaryContext,
): Promise<IndexCollection['indices'][number]> {
  const { id, name, calendar, currency, base_date, tags } = document;
  const run = await documents.get('run', id);
  return {
    id,
    name,
    kind: isOverlayDocument(document) ? 'overlay' : isDerivedDocument(document) ? 'derived' : 'rule',
    source_index_id: document.source_index_id ?? document.derivation?.source_index_id ?? null,
    calendar,
    currency,
    base_date,
    store_id: storeId,
    has_run: run !== undefined,
    run_at: run === undefined || 'unreadable' in run ? null : readRunTime(run.body),
    tags,
    problems: listProblems(document, stored) as IndexCollection['indices'][number]['problems'], // the service has read-only lists, the contract mutable ones
  };
}

function listProblems(document: IndexDocument, stored: SummaryContext['stored']): Finding[] {
  const { store_id: storeId } = document;
  const missing = new Map(
    listDatedTexts(document)
      .flatMap(({ document: text }) => listNamedIndices(text))
      .filter(({ id }) => !stored.indices.has(id))
      .map(({ id, path }) => [id, path]),
  );
  const unknownIndices = [...missing].map(([id, path]): Finding => ({
    severity: 'error',
    code: 'UNKNOWN_INDEX',
    path,
    message: `No index ${id} is stored.`,
    value: id,
  }));
  const storeProblems = storeId == null || stored.stores.has(storeId) ? [] : [createGoneStoreProblem(storeId, 'error')];
  return [...unknownIndices, ...storeProblems];
}

/** Creates the function that deletes an index, its optimised children and everything that was computed from them. */
function createIndexRemoval(documents: DocumentStore, jobs: JobsAbout, approvals: ApprovalGate) {
  return async (
    indexId: string,
    ifMatch: Precondition | undefined,
    authorship?: Authorship,
  ): Promise<IndexDeletion> => {
    await requireStored(documents, indexId);
    // A refused request must not cancel any jobs.
    await assertPrecondition(documents, 'index', indexId, ifMatch);
    const cancelJobs = async (foresee: ChangeAdmission['foresee']): Promise<void> => {
      const family = await listFamily(documents, indexId, null);
      for (const { id } of family) await foresee(documents, await createDefinitionRequest(documents, id, null));
      await cancelJobsAbout(jobs, collectSubjects(family));
    };
    const deleteFamily = async (tx: DocumentTransaction, admit: ChangeAdmission['admit']) => {
      await requireStored(tx, indexId);
      await assertPrecondition(tx, 'index', indexId, ifMatch);
      const family = await listFamily(tx, indexId, null);
      for (const { id } of family) await admit(tx, await createDefinitionRequest(tx, id, null));
      const removedJobs = await deleteJobsAbout(tx, jobs, collectSubjects(family));
      const deletedIndices: IndexDeletion['deleted'] = [];
      for (const member of family) {
        const forgottenJobs = removedJobs.get(member.id) ?? 0;
        deletedIndices.push(await deleteMember(tx, member, { jobsForgotten: forgottenJobs, all: authorship?.purges }));
      }
      return { deleted: deletedIndices };
    };
    return approvals.guarded(authorship, async ({ admit, foresee }) => {
      await cancelJobs(foresee);
      return documents.transaction((tx) => deleteFamily(tx, admit), { by: authorship });
    });
  };
}

async function requireStored(reader: Pick<DocumentStore | DocumentTransaction, 'get'>, indexId: string): Promise<void> {
  if ((await reader.get('index', indexId)) === undefined)
    throw new Refusal('INDEX_NOT_FOUND', `No index is stored under the id ${indexId}.`, { index_id: indexId });
}

interface Member {
  readonly id: string;
  readonly derivedFrom: string | null;
}

const collectSubjects = (family: readonly Member[]) => ({ of: 'index', ids: family.map(({ id }) => id) }) as const;

/**
 * Returns an index and all indices that cannot exist without it: those derived from it, and overlays without another
 * stored source. Each index is followed by these, in the order of their ids.
 */
async function listFamily(
  reader: DocumentStore | DocumentTransaction,
  id: string,
  derivedFrom: string | null,
): Promise<Member[]> {
  const { stored, sourcesOf } = await readSources(reader);
  const family = new Map<string, Member>();
  const isGone = (source: string): boolean => family.has(source) || !stored.has(source);
  const addMember = (member: Member): void => {
    family.set(member.id, member);
    for (const [child, sources] of sourcesOf)
      // a blend with several sources in the family follows the last of them
      if (!family.has(child) && sources.includes(member.id) && sources.every(isGone))
        addMember({ id: child, derivedFrom: member.id });
  };
  addMember({ id, derivedFrom });
  return [...family.values()];
}

/**
 * Removes one index: its definition and its runs. Published runs are removed only on request. A file of a run is
 * removed when no document refers to it any more.
 */
async function deleteMember(
  tx: DocumentTransaction,
  { id, derivedFrom }: Member,
  { jobsForgotten, all }: { readonly jobsForgotten: number; readonly all: boolean | undefined },
): Promise<IndexDeletion['deleted'][number]> {
  await tx.delete('index', id);
  const forgottenRuns = await deleteRuns(tx, id, { all });
  return {
    index_id: id,
    backtest_record_deleted: forgottenRuns > 0,
    backtest_results_deleted: forgottenRuns + jobsForgotten,
    derived_from: derivedFrom,
  };
}

/** JSON object as a client sent it. */
type Body = Readonly<Record<string, unknown>>;

export interface IndexSave {
  readonly index: IndexDocument;
  readonly findings: readonly Finding[];
}

export interface Indices {
  /** Lists indices. Callers must not modify the list, because several requests can share it. */
  list(query: PageQuery): Promise<IndexCollection>;
  /** Returns a stored index. @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE */
  get(indexId: string): Promise<StoredIndex>;
  /** Creates an index. @throws Refusal VALIDATION_FAILED */
  create(body: Body, by?: Authorship): Promise<{ readonly saved: IndexSave; readonly etag: string }>;
  /**
   * Creates an index that optimises an existing index.
   * @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE, VALIDATION_FAILED, INDEX_EXISTS
   */
  derive(
    parentId: string,
    body: () => unknown,
    by?: Authorship,
  ): Promise<{ readonly saved: IndexSave; readonly etag: string }>;
  /** Creates or replaces an index. @throws Refusal ID_MISMATCH, VALIDATION_FAILED, PRECONDITION_FAILED, APPROVAL_REQUIRED */
  replace(
    indexId: string,
    body: Body,
    ifMatch: Precondition | undefined,
    by?: Authorship,
  ): Promise<{ readonly saved: IndexSave; readonly etag: string }>;
  /**
   * Deletes an index, its optimised children and everything that was computed from them.
   * @throws Refusal INDEX_NOT_FOUND, PRECONDITION_FAILED
   */
  remove(indexId: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<IndexDeletion>;
  /** Checks a document without storing it. @throws Refusal VALIDATION_FAILED if the body has no calendar */
  validate(body: Body): Promise<{ readonly valid: boolean; readonly findings: readonly Finding[] }>;
  ruleTypes(): RuleTypes;
  overlayTypes(): OverlayTypes;
}

export function createIndices(context: Context): Indices {
  const { documents, jobs, calendars, approvals } = context;
  const findMarketFor = (body: Body) => findCheckMarket(context, body);

  /** Checks a document on a market. Findings about the document's store come first. */
  async function check(
    body: Body,
    reader: Pick<DocumentStore | DocumentTransaction, 'get'>,
    { market, findings: storeFindings }: Awaited<ReturnType<typeof findMarketFor>>,
  ): Promise<CheckedIndex> {
    const checkedIndex = await checkOn(body, reader, market);
    if (storeFindings.length === 0) return checkedIndex;
    const document = hasErrors(storeFindings) ? undefined : checkedIndex.document;
    return { document, findings: reportFindings([...storeFindings, ...checkedIndex.findings]) };
  }

  async function checkOn(
    body: Body,
    reader: Pick<DocumentStore | DocumentTransaction, 'get'>,
    market: MarketData | undefined,
  ): Promise<CheckedIndex> {
    const id = body['id'];
    const replaces = typeof id === 'string' ? await findIndex(reader, id) : undefined;
    const { document, findings } = await createStoredIndices(reader).answer((indexOf) =>
      validateIndex(body, { calendars: calendars.list(), calendarOf: calendars.get, indexOf, replaces, market }),
    );
    const parts = document === undefined ? undefined : await checkStoredParts(reader, document);
    const unknownModels =
      document === undefined ? [] : [...(await findUnknownModels(reader, document)), ...(parts?.findings ?? [])];
    if (unknownModels.length > 0)
      return { document: undefined, findings: reportFindings([...findings, ...unknownModels]) };
    const lookAhead = document === undefined ? [] : await findLookAhead(reader, document, { calendars, market });
    const otherStores =
      document === undefined ? [] : await findModelsOfOtherStores(reader, document, market?.datasetId);
    const missingInputs = await findMissingInputs(parts?.filled, reader, { findings, market });
    const reportedFindings = reportFindings([...findings, ...missingInputs, ...lookAhead, ...otherStores]);
    if (typeof id !== 'string' || (await reader.get('strategy', id)) === undefined)
      return { document: document && removeStoredParts(document), findings: reportedFindings };
    const message = `A strategy is stored under the id ${id}; an index needs a different id.`;
    return {
      document: undefined,
      findings: reportFindings([
        ...reportedFindings,
        { severity: 'error', code: 'DUPLICATE_ID', path: 'id', message, value: id },
      ]),
    };
  }

  /**
   * Checks a definition against the documents of the same transaction and then writes it. Every write except that of
   * `derive` uses this function.
   */
  async function save(
    body: Body,
    allow: (tx: DocumentTransaction) => Promise<readonly Finding[]>,
    by: Authorship | undefined,
  ) {
    const market = await findMarketFor(body); // a transaction does not read a market
    const write = async (tx: DocumentTransaction, admit: ChangeAdmission['admit']) => {
      const accessFindings = await allow(tx);
      const { document, findings } = await check(body, tx, market);
      const allFindings = reportFindings([...accessFindings, ...findings]);
      if (document === undefined || hasErrors(allFindings)) throw refuseWithFindings('index document', allFindings);
      await admit(tx, await createDefinitionRequest(tx, document.id, document));
      return { saved: { index: document, findings: allFindings }, etag: await tx.put('index', document.id, document) };
    };
    return approvals.guarded(by, ({ admit }) => documents.transaction((tx) => write(tx, admit), { by }));
  }

  return {
    list: createIndexList(documents),
    get: (indexId) => requireIndex(documents, indexId),
    create(body, by) {
      return save(body, (tx) => listTakenIdFindings(tx, { kind: 'index', name: 'An index', id: body['id'] }), by);
    },
    async derive(parentId, body, by) {
      const { document: source } = await requireIndex(documents, parentId);
      const derivation = readDerivation(body());
      const market = await findMarketFor(createDerivedDocument(source, derivation));
      const write = async (tx: DocumentTransaction) => {
        const { document: parent } = await requireIndex(tx, parentId);
        if ((await tx.get('index', derivation.id)) !== undefined)
          throw new Refusal('INDEX_EXISTS', `An index is already stored under the id ${derivation.id}.`, {
            index_id: derivation.id,
          });
        const { document, findings } = await check(createDerivedDocument(parent, derivation), tx, market);
        if (document === undefined) throw refuseWithFindings('request', findings.map(moveToRequestField));
        const movedFindings = findings.map(moveToRequestField);
        return {
          saved: { index: document, findings: movedFindings },
          etag: await tx.put('index', document.id, document),
        };
      };
      return documents.transaction(write, { by });
    },
    replace(indexId, body, ifMatch, by) {
      assertIdOfPath(indexId, body);
      const checkPrecondition = async (tx: DocumentTransaction): Promise<readonly Finding[]> => {
        await assertPrecondition(tx, 'index', indexId, ifMatch);
        return [];
      };
      return save(body, checkPrecondition, by);
    },
    remove: createIndexRemoval(documents, jobs, approvals),
    async validate(body) {
      const { document, findings } = await check(body, documents, await findMarketFor(body));
      if (body['calendar'] === undefined || body['calendar'] === null)
        throw refuseWithFindings('index document', findings);
      return { valid: document !== undefined, findings };
    },
    ruleTypes: callOnce(() => ({ ...listRuleTypes(), fields: createDefinitionFields() }) as RuleTypes), // the service has read-only lists, the contract mutable ones
    overlayTypes: callOnce(() => ({ overlays: listOverlaySpecs() as OverlayTypes['overlays'] })), // the same conversion of lists
  };
}

/**
 * Returns warnings about missing columns that plug-ins read. They can be found only when the definition contains the
 * code of its plug-ins.
 */
async function findMissingInputs(
  filledIndex: IndexDocument | undefined,
  reader: Pick<DocumentStore | DocumentTransaction, 'get'>,
  { findings, market }: { readonly findings: readonly Finding[]; readonly market: MarketData | undefined },
): Promise<readonly Finding[]> {
  if (filledIndex?.plugins === undefined || market === undefined) return [];
  const reportedKeys = new Set(findings.map(({ path, message }) => `${path} ${message}`));
  const inputFindings = await createStoredIndices(reader).answer((lookUpIndex) =>
    checkOnMarket(filledIndex, market, { severity: 'warning', indexOf: lookUpIndex }),
  );
  return inputFindings.filter(({ path, message }) => !reportedKeys.has(`${path} ${message}`));
}

/** Moves a finding about the derivation of a document to the request field that caused it. */
function moveToRequestField(finding: Finding): Finding {
  return { ...finding, path: finding.path.replace(/^derivation\./, '') };
}
