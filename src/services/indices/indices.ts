import { callOnce } from '#base/once.js';
import type { IndexCollection, IndexDeletion, OverlayTypes, RuleTypes } from '#contract/indices/definition.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import type { Authorship } from '#domain/documents/version-document.js';
import { createDerivedDocument, readDerivation } from '#domain/checks/derived-document.js';
import { checkOnMarket } from '#domain/checks/index-on-market.js';
import { validateIndex, type CheckedIndex } from '#domain/checks/validate-index.js';
import { hasErrors, sortFindings, type Finding } from '#domain/refusals/findings.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import { createDefinitionFields } from '#domain/documents/definition-fields.js';
import { listOverlaySpecs } from '#domain/overlays/catalogue.js';
import { listRuleTypes } from '#domain/rules/catalogue.js';
import type { MarketData } from '#domain/market/market-data.js';
import type { Markets } from '#market/serving/markets.js';
import type { DocumentStore, DocumentTransaction } from '#store/port.js';
import { assertIdOfPath, listTakenIdFindings } from '../shared/document-ids.js';
import type { JobsAbout } from '../shared/jobs-about.js';
import { assertPrecondition, type Precondition } from '../shared/preconditions.js';
import { findLookAhead, findModelsOfOtherStores, findUnknownModels } from '../stored/used-models.js';
import { createIndexList, type PageQuery } from './index-list.js';
import type { Admission, ApprovalGate } from '../approvals/approvals.js';
import type { StoreMarkets } from '../datasets/store-markets.js';
import { createDefinitionRequest } from './admitted-definition.js';
import { createIndexRemoval } from './index-removal.js';
import { findCheckMarket } from './on-store.js';
import { checkStoredParts, removeStoredParts } from './stored-parts.js';
import { findIndex, requireIndex, createStoredIndices, type StoredIndex } from '../stored/stored-indices.js';

/** JSON object as a client sent it. */
type Body = Readonly<Record<string, unknown>>;

export interface SavedIndex {
  readonly index: IndexDocument;
  readonly findings: readonly Finding[];
}

export interface Indices {
  /** Lists indices. Callers must not modify the list, because several requests can share it. */
  list(query: PageQuery): Promise<IndexCollection>;
  /** Returns a stored index. @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE */
  get(indexId: string): Promise<StoredIndex>;
  /** Creates an index. @throws Refusal VALIDATION_FAILED */
  create(body: Body, by?: Authorship): Promise<{ readonly saved: SavedIndex; readonly etag: string }>;
  /**
   * Creates an index that optimises an existing index.
   * @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE, VALIDATION_FAILED, INDEX_EXISTS
   */
  derive(
    parentId: string,
    body: () => unknown,
    by?: Authorship,
  ): Promise<{ readonly saved: SavedIndex; readonly etag: string }>;
  /** Creates or replaces an index. @throws Refusal ID_MISMATCH, VALIDATION_FAILED, PRECONDITION_FAILED, APPROVAL_REQUIRED */
  replace(
    indexId: string,
    body: Body,
    ifMatch: Precondition | undefined,
    by?: Authorship,
  ): Promise<{ readonly saved: SavedIndex; readonly etag: string }>;
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

export interface IndicesDependencies {
  readonly documents: DocumentStore;
  readonly jobs: JobsAbout;
  readonly markets: Markets;
  readonly stores: Pick<StoreMarkets, 'of' | 'within'>;
  readonly calendars: Calendars;
  readonly approvals: ApprovalGate;
}

export function createIndices({
  documents,
  jobs,
  markets,
  stores,
  calendars,
  approvals,
}: IndicesDependencies): Indices {
  const findMarketFor = (body: Body) => findCheckMarket({ documents, stores, markets }, body);

  /** Checks a document on a market. Findings about the document's store come first. */
  async function check(
    body: Body,
    reader: Pick<DocumentStore | DocumentTransaction, 'get'>,
    { market, findings: storeFindings }: Awaited<ReturnType<typeof findMarketFor>>,
  ): Promise<CheckedIndex> {
    const checkedIndex = await checkOn(body, reader, market);
    if (storeFindings.length === 0) return checkedIndex;
    const document = hasErrors(storeFindings) ? undefined : checkedIndex.document;
    return { document, findings: sortFindings([...storeFindings, ...checkedIndex.findings]) };
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
      return { document: undefined, findings: sortFindings([...findings, ...unknownModels]) };
    const lookAhead = document === undefined ? [] : await findLookAhead(reader, document, { calendars, market });
    const otherStores =
      document === undefined ? [] : await findModelsOfOtherStores(reader, document, market?.datasetId);
    const missingInputs = await findMissingInputs(parts?.filled, reader, { findings, market });
    const reportedFindings = sortFindings([...findings, ...missingInputs, ...lookAhead, ...otherStores]);
    if (typeof id !== 'string' || (await reader.get('strategy', id)) === undefined)
      return { document: document && removeStoredParts(document), findings: reportedFindings };
    const message = `A strategy is stored under the id ${id}; an index needs a different id.`;
    return {
      document: undefined,
      findings: sortFindings([
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
    const write = async (tx: DocumentTransaction, admit: Admission['admit']) => {
      const accessFindings = await allow(tx);
      const { document, findings } = await check(body, tx, market);
      const allFindings = sortFindings([...accessFindings, ...findings]);
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
    remove: createIndexRemoval({ documents, jobs, approvals }),
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
