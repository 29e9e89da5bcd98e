import type { BenchmarkStatement, GovernanceOverview, MethodologyChange } from '#contract/governance.js';
import type { Finding } from '#domain/base/findings.js';
import { findLastAtMost } from '#domain/base/numbers.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { formatDay, parseDay, parseValidDay } from '#domain/base/time.js';
import { Judgement } from '#domain/definition/daily-plan-checks.js';
import { DatasetDocument, type PriceOverride } from '#domain/definition/datasets.js';
import {
  type IndexDocument,
  isDerivedDocument,
  isOverlayDocument,
  isRuleDocument,
} from '#domain/definition/index-document.js';
import { type IndexSchedule, selectScheduleAround } from '#domain/definition/index-schedule.js';
import { readIndex } from '#domain/definition/index-validation.js';
import { createMethodology, describeMissingPrices } from '#domain/definition/methodology.js';
import { ProcedureDocument } from '#domain/definition/procedures.js';
import { listReferences } from '#domain/definition/references.js';
import type { RunDocument } from '#domain/definition/runs.js';
import type { Authorship, Subject } from '#domain/definition/versions.js';
import { ScheduleDocument } from '#domain/outputs/daily-plans.js';
import { type DocumentStore, formatNumberedId, getOwner, parseStored } from '#store/port.js';
import { readAuditHead } from '#store/history/audit.js';
import { readLastVersion } from '#store/history/history.js';
import { findLastClose, readLogHead } from '#store/history/publication-log.js';
import { findCurrentReach } from '#store/reach.js';
import { readTable } from '../daily-plans/checks.js';
import { findIndex, findReferencedStore, requireIndex } from '../indices/documents.js';
import { listRegisteredErrors, type Publications } from '../publication/publications.js';
import type { Exports } from '../runs/exports.js';
import type { Context } from '../shared/context.js';
import {
  openStoredFamily,
  type PageQuery,
  type Precondition,
  type StoredEntry,
  type StoredPage,
} from '../shared/documents.js';
import { findRun } from '../shared/run-documents.js';
import { readAdjustment, readDataset } from '../shared/store-documents.js';
import type { Versions } from '../shared/versions.js';

/** Returns the overridden prices of the securities that an index holds at a close or buys at that close. */
async function listActiveOverrides(
  { documents, markets, calendars }: Context,
  exports: Pick<Exports, 'export'>,
  document: IndexDocument,
  { limit, signal }: { readonly limit: number; readonly signal: AbortSignal },
): Promise<PriceOverride[]> {
  const run = await findRun(documents, document.id);
  if (run === undefined) return [];
  const storeId = (await findReferencedStore(documents, document)) ?? markets.served()?.identity.datasetId;
  const store = storeId === undefined ? undefined : parseStored(await documents.get('store', storeId), DatasetDocument);
  const overridesOfRun = (store?.price_overrides ?? []).filter(({ date }) => date >= run.start && date <= run.end);
  const { sessions = new Int32Array() } = calendars.get(document.calendar) ?? {};
  const heldByDate = new Map<string, ReadonlySet<string>>();
  const listedOverrides: PriceOverride[] = [];
  for (const override of overridesOfRun.toReversed()) {
    const { date, identifier } = override;
    const heldIdentifiers =
      heldByDate.get(date) ?? (await readActiveOverrides(exports, run, { date, sessions, signal }));
    heldByDate.set(date, heldIdentifiers);
    if (heldIdentifiers.has(identifier)) listedOverrides.push(override);
    if (listedOverrides.length === limit) break;
  }
  return listedOverrides;
}

/** Returns the securities that a run holds at a close, and the securities that it buys at that close. */
async function readActiveOverrides(
  exports: Pick<Exports, 'export'>,
  run: RunDocument,
  { date, sessions, signal }: { readonly date: string; readonly sessions: Int32Array; readonly signal: AbortSignal },
): Promise<ReadonlySet<string>> {
  const next = sessions[findLastAtMost(sessions, parseValidDay(date)) + 1];
  const files = [
    await readTable(exports, run, { table: 'closing', end: date }, signal),
    next === undefined || formatDay(next) > run.end
      ? null
      : await readTable(exports, run, { table: 'opening', end: formatDay(next) }, signal),
  ];
  return new Set(files.flatMap((rows) => (rows ?? []).map(({ identifier }) => String(identifier))));
}

/** Yields the latest `limit` decisions about a schedule, newest first. Skips decisions that are unreadable. */
async function* readJudgements(
  documents: Pick<DocumentStore, 'get' | 'lastNumber'>,
  scheduleId: string,
  limit: number,
): AsyncGenerator<Judgement> {
  const last = await documents.lastNumber('judgement', scheduleId);
  for (let seq = last; seq > Math.max(0, last - limit); seq--) {
    const storedDocument = await documents.get('judgement', formatNumberedId(scheduleId, seq));
    const judgement = parseStored(storedDocument, Judgement);
    if (judgement !== undefined) yield judgement;
  }
}

/** Maximum number of decisions of a schedule that are searched, newest first. */
const SEARCHED_JUDGEMENTS_MAX = 1000;

/**
 * Returns the latest decisions about the days of an index. A waiver is included if it accepts findings of this index or
 * of one of its parents.
 */
async function listDecisions(
  documents: DocumentStore,
  document: IndexDocument,
  limit: number,
): Promise<readonly Judgement[]> {
  const { id: indexId } = document;
  const family = await findFamily(documents, document);
  const judgements: Judgement[] = [];
  for (const scheduleId of await documents.ids('schedule')) {
    const storedDocument = await documents.get('schedule', scheduleId);
    const plan = parseStored(storedDocument, ScheduleDocument);
    if (plan === undefined || !plan.indices.includes(indexId)) continue;
    for await (const judgement of readJudgements(documents, scheduleId, SEARCHED_JUDGEMENTS_MAX)) {
      if (judgement.index_id !== null && !family.has(judgement.index_id)) continue;
      if (judgement.action === 'run' && judgement.reason === null) continue;
      const familyFindings = judgement.findings.filter(({ index_id: findingIndex }) => family.has(findingIndex));
      if (judgement.findings.length > 0 && familyFindings.length === 0) continue; // a waiver for findings of other indices
      judgements.push({ ...judgement, findings: familyFindings });
    }
  }
  return judgements.toSorted((a, b) => (a.at < b.at ? 1 : -1)).slice(0, limit);
}

/** Returns an index and all indices on which it depends. */
async function findFamily(documents: DocumentStore, document: IndexDocument): Promise<ReadonlySet<string>> {
  const familyIds = new Set([document.id]);
  const visitChild = async (child: IndexDocument): Promise<void> => {
    for (const id of listReferences(child)) {
      if (familyIds.has(id)) continue;
      familyIds.add(id);
      const parent = await findIndex(documents, id);
      if (parent !== undefined) await visitChild(parent);
    }
  };
  await visitChild(document);
  return familyIds;
}

type Documents = Pick<DocumentStore, 'get' | 'ids' | 'lastNumber' | 'list'>;
type Statement = GovernanceOverview['statements'][number];

/** Number of newest entries of a register in the overview. */
const LATEST = 5;
/** Number of newest decisions of each schedule in which decisions with a reason are searched. */
const SEARCHED_DECISIONS = 20;
/** Number of publication logs that are read at the same time. */
const READ_CONCURRENCY = 16;

/**
 * Counts the entries of all registers and reads the newest entries.
 * @cost one read per index, two more if it is published, up to 20 per schedule, and a list of the indices, procedures
 * and stores
 * @throws Refusal DOCUMENT_UNREADABLE for the audit log
 */
export async function summariseGovernance(context: Context): Promise<GovernanceOverview> {
  const { documents } = context;
  const statements = await listStatements(context);
  const errors: GovernanceOverview['latest_errors'] = [];
  for (const { index_id: id, errors: indexErrors } of statements)
    if (indexErrors > 0) errors.push(...(await listRegisteredErrors(documents, id, LATEST)));
  const judgements: Judgement[] = [];
  let decidedCount = 0;
  for (const id of await documents.ids('schedule')) {
    decidedCount += await documents.lastNumber('judgement', id);
    judgements.push(...(await readLatestReasoned(documents, id)));
  }
  return {
    registers: {
      clients: (await documents.ids('client')).length,
      procedures: (await documents.ids('procedure')).length,
      errors: statements.reduce((sum, { errors: indexErrors }) => sum + indexErrors, 0),
      judgements: decidedCount,
      audit: findCurrentReach() === undefined ? (await readAuditHead(documents)).seq : null,
    },
    statements,
    latest_errors: listNewest(errors),
    latest_judgements: listNewest(judgements),
  };
}

/**
 * Lists all indices with the states of their statements. Reads a log only if the index has published closes.
 */
async function listStatements(context: Context): Promise<Statement[]> {
  const { documents } = context;
  const { documents: indices } = await documents.list('index', readIndex);
  const byId = new Map(indices.map((document) => [document.id, document]));
  const computeLag = await createLagCounter(context);
  const { documents: procedures } = await documents.list('procedure', (body) => ProcedureDocument.safeParse(body).data);
  const errors = countByOwner(await documents.ids('publication-error'));
  const ids = await documents.ids('index');
  const publishedIds = new Set(await documents.ids('publication-head'));
  const statements: Statement[] = [];
  for (let from = 0; from < ids.length; from += READ_CONCURRENCY) {
    const read = ids.slice(from, from + READ_CONCURRENCY).map(async (id): Promise<Statement> => {
      const log = publishedIds.has(id) ? await readPublished(documents, id) : UNPUBLISHED;
      return {
        index_id: id,
        ...log,
        ...computeLag(byId.get(id), log.published_through),
        version: (await readLastVersion(documents, { kind: 'index', id })) || null,
        to_complete: listIncomplete(byId.get(id), procedures),
        errors: errors.get(id) ?? 0,
      };
    });
    statements.push(...(await Promise.all(read)));
  }
  return statements;
}

const UNPUBLISHED = { published_through: null, published_version: null, entries: 0 } as const;

/** Returns the sections of a statement that are empty. Returns none for an unreadable definition. */
function listIncomplete(
  index: IndexDocument | undefined,
  procedures: readonly ProcedureDocument[],
): Statement['to_complete'] {
  if (index === undefined) return [];
  const hasProcedure = procedures.some(({ indices }) => indices === null || indices.includes(index.id));
  return [...(index.description ? [] : ['purpose' as const]), ...(hasProcedure ? [] : ['procedures' as const])];
}

type LagCounter = (
  index: IndexDocument | undefined,
  publishedThrough: string | null,
) => Pick<Statement, 'data_through' | 'sessions_behind'>;

/** Returns a function that counts the sessions in the data of an index after its last published date. */
async function createLagCounter({ documents, calendars }: Context): Promise<LagCounter> {
  const { documents: stores } = await documents.list('store', readDataset);
  return (document, published) => {
    const storeId = document?.store_id ?? null;
    const storeEnd =
      stores.find((store) => (storeId === null ? store.active : store.store_id === storeId))?.end ?? null;
    const sessions = document && calendars.get(document.calendar)?.sessions;
    const [first, last] = [parseDay(published ?? ''), parseDay(storeEnd ?? '')];
    if (sessions === undefined || first === undefined || last === undefined)
      return { data_through: storeEnd, sessions_behind: null };
    const lag = findLastAtMost(sessions, last) - findLastAtMost(sessions, first);
    return { data_through: storeEnd, sessions_behind: Math.max(0, lag) };
  };
}

function countByOwner(ids: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const id of ids) counts.set(getOwner(id), (counts.get(getOwner(id)) ?? 0) + 1);
  return counts;
}

/**
 * Returns the last published date of an index with the version of its definition, and the number of entries in its log.
 * Each is null if it cannot be read.
 */
async function readPublished(documents: Documents, indexId: string) {
  try {
    const head = await readLogHead(documents, indexId);
    if (head === undefined) return UNPUBLISHED;
    const last = await findLastClose(documents, indexId, head);
    return {
      published_through: last?.date ?? null,
      published_version: last?.index_version ?? null,
      entries: head.seq,
    };
  } catch (failure) {
    if (!(failure instanceof Refusal) || failure.code !== 'DOCUMENT_UNREADABLE') throw failure;
    return { published_through: null, published_version: null, entries: null };
  }
}

const listNewest = <E extends { readonly at: string }>(entries: readonly E[]): E[] =>
  entries.toSorted((a, b) => (a.at < b.at ? 1 : -1)).slice(0, LATEST);

/** Returns the latest decisions about a schedule that have a reason, newest first. */
async function readLatestReasoned(documents: Documents, scheduleId: string): Promise<readonly Judgement[]> {
  const judgements: Judgement[] = [];
  for await (const judgement of readJudgements(documents, scheduleId, SEARCHED_DECISIONS)) {
    if (judgement.reason !== null) judgements.push(judgement);
    if (judgements.length === LATEST) break;
  }
  return judgements;
}

export type Procedure = ProcedureDocument & {
  readonly procedure_id: string;
  readonly version: number;
  readonly updated_at: string;
};

export interface StoredProcedure {
  readonly procedure: Procedure;
  readonly etag: string;
}

export interface Procedures {
  page(query: PageQuery): Promise<StoredPage<Procedure>>;
  of(indexId: string): Promise<readonly Procedure[]>;
  /** Returns a procedure. @throws Refusal PROCEDURE_NOT_FOUND, DOCUMENT_UNREADABLE */
  get(id: string): Promise<StoredProcedure>;
  /** Creates or replaces a procedure. @throws Refusal VALIDATION_FAILED, PRECONDITION_FAILED */
  put(
    id: string,
    body: ProcedureDocument,
    ifMatch: Precondition | undefined,
    by?: Authorship,
  ): Promise<StoredProcedure>;
  /** Deletes a procedure. @throws Refusal PROCEDURE_NOT_FOUND, PRECONDITION_FAILED */
  remove(id: string, ifMatch: Precondition | undefined, by?: Authorship): Promise<void>;
}

export function createProcedures({ documents }: Context): Procedures {
  const family = openStoredFamily(documents, {
    kind: 'procedure',
    word: 'procedure',
    read: (body) => ProcedureDocument.safeParse(body).data,
  });

  const get = async (id: string): Promise<StoredProcedure> => show(id, await family.get(id));

  async function show(
    id: string,
    { document, etag, updatedAt }: StoredEntry<ProcedureDocument>,
  ): Promise<StoredProcedure> {
    const version = await readLastVersion(documents, { kind: 'procedure', id });
    return { procedure: { procedure_id: id, ...document, version, updated_at: updatedAt }, etag };
  }

  /** Returns findings about indices that do not exist. A deleted index with published closes still counts as known. */
  async function validateBody({ indices }: ProcedureDocument): Promise<Finding[]> {
    const findings: Finding[] = [];
    for (const [k, value] of (indices ?? []).entries()) {
      if ((await findIndex(documents, value)) !== undefined || (await readLogHead(documents, value)) !== undefined)
        continue;
      const message = `No index is stored under the id ${value}, and none was published under it.`;
      findings.push({ severity: 'error', code: 'UNKNOWN_INDEX', path: `indices[${k}]`, message, value });
    }
    return findings;
  }

  const readPage = (query: PageQuery) => family.page(query, async (id, entry) => (await show(id, entry)).procedure);
  return {
    get,
    page: readPage,
    async of(indexId) {
      const { items } = await readPage({});
      return items.filter(({ indices }) => indices === null || indices.includes(indexId));
    },
    async put(id, body, ifMatch, authorship) {
      const findings = await validateBody(body);
      if (findings.length > 0) throw refuseWithFindings('procedure', findings);
      await family.put(id, body, ifMatch, authorship);
      return get(id);
    },
    remove: family.remove,
  };
}

/** Statements about indices, generated from their documents and registers. */
export interface Statements {
  /** Returns the benchmark statement of an index. @throws Refusal INDEX_NOT_FOUND, DOCUMENT_UNREADABLE */
  statement(indexId: string, signal: AbortSignal): Promise<BenchmarkStatement>;
  /**
   * Lists the versions of a definition, newest first. Each contains the methodology sentences that the version changed.
   * @throws Refusal INDEX_NOT_FOUND
   */
  changes(indexId: string, limit: number): Promise<readonly MethodologyChange[]>;
}

/** Services whose registers a statement contains. */
export interface StatementSources {
  readonly versions: Pick<Versions, 'list' | 'read' | 'difference'>;
  readonly publications: Pick<Publications, 'entries' | 'errors'>;
  readonly exports: Pick<Exports, 'export'>;
  readonly procedures: Pick<Procedures, 'of'>;
  readonly computeSchedule: (document: IndexDocument) => Promise<IndexSchedule & { readonly frequency: string }>;
}

/** Maximum number of register entries in a statement. Other routes return the complete registers. */
const LISTED_MAX = 50;
const REVIEWS_LISTED = 4;

export function createStatements(context: Context, sources: StatementSources): Statements {
  const { documents, calendars, approvals, timestamp } = context;
  const { versions, publications, exports, procedures, computeSchedule } = sources;

  /** @param before number after the last listed version; undefined for all versions */
  async function listChanges(indexId: string, limit: number, before?: number): Promise<readonly MethodologyChange[]> {
    const subject: Subject = { kind: 'index', id: indexId };
    const { versions: storedVersions } = await versions.list(subject, { limit, before });
    const methodologyChanges: MethodologyChange[] = [];
    for (const { version, at, author, note, action } of storedVersions) {
      const sentences = await compareSentences(subject, version, action);
      methodologyChanges.push({ version, at, author, note, action, ...sentences });
    }
    return methodologyChanges;
  }

  /**
   * Compares the sentences of a version with the previous version: those that it removed and those that it added.
   * Returns no sentences for the first version, for a deletion, or if the previous version was purged.
   */
  async function compareSentences(subject: Subject, version: number, action: string) {
    const emptyDifference = { removed: [], added: [] };
    if (version === 1 || action === 'deleted') return emptyDifference;
    try {
      return (await versions.difference(subject, { from: version - 1, to: version })).sentences;
    } catch (failure) {
      if (failure instanceof Refusal && UNREADABLE.has(failure.code)) return emptyDifference;
      throw failure;
    }
  }

  async function describePublication(indexId: string): Promise<BenchmarkStatement['publication']> {
    if ((await readLogHead(documents, indexId)) === undefined) return null;
    let [first, through, closes, restatements]: [string, string, number, number] = ['', '', 0, 0];
    let indexVersion: number | null = null;
    for await (const batch of await publications.entries(indexId, {}))
      for (const { date, kind, index_version: version } of batch) {
        if (first === '' || date < first) first = date;
        if (date >= through) [through, indexVersion] = [date, version];
        if (kind === 'close') closes++;
        else restatements++;
      }
    return { first, through, closes, restatements, index_version: indexVersion };
  }

  /**
   * Returns the definition that the last published close follows. Default: the newest definition, also if the earlier
   * version was purged.
   */
  async function readDescribed(indexId: string, published: number | null) {
    const subject: Subject = { kind: 'index', id: indexId };
    const { document } = await requireIndex(documents, indexId);
    const latest = (await readLastVersion(documents, subject)) || null;
    const current = { document, version: latest, latest };
    if (published === null || published === latest) return current;
    try {
      const publishedDocument = readIndex((await versions.read(subject, published)).body);
      return publishedDocument === undefined ? current : { document: publishedDocument, version: published, latest };
    } catch (failure) {
      if (failure instanceof Refusal && UNREADABLE.has(failure.code)) return current;
      throw failure;
    }
  }

  async function describeReview(document: IndexDocument, today: string): Promise<BenchmarkStatement['review']> {
    const schedule = await computeSchedule(document);
    const { upcoming } = selectScheduleAround({ schedule, asOf: parseValidDay(today), limit: REVIEWS_LISTED });
    return { frequency: schedule.frequency, upcoming: upcoming.map(({ date }) => formatDay(date)) };
  }

  return {
    changes: (indexId, limit) => listChanges(indexId, limit),
    async statement(indexId, signal) {
      const publication = await describePublication(indexId);
      const { document, version, latest } = await readDescribed(indexId, publication?.index_version ?? null);
      const currentTimestamp = timestamp();
      const adjustment = await readAdjustment(context, document);
      const calendar = calendars.get(document.calendar);
      return {
        index_id: indexId,
        name: document.name,
        generated_at: currentTimestamp,
        version,
        latest_version: latest,
        purpose: document.description || null,
        methodology: createMethodology(document, adjustment),
        calendar: { code: document.calendar, covered_to: calendar ? formatDay(calendar.coverage.publishedTo) : null },
        inputs: {
          indices: [...listReferences(document)],
          adjustment,
          hierarchy: listHierarchy(document),
        },
        discretion: {
          approvals: ACTIONS.flatMap((action) => {
            const rule = approvals.getRule(action);
            return rule === undefined ? [] : [{ action, persons: rule.persons }];
          }),
          judgements: [...(await listDecisions(documents, document, LISTED_MAX))],
          overrides: await listActiveOverrides(context, exports, document, { limit: LISTED_MAX, signal }),
        },
        limitations: listLimitations(document, { covered: calendar && formatDay(calendar.coverage.publishedTo) }),
        changes: [...(await listChanges(indexId, LISTED_MAX, version === null ? undefined : version + 1))],
        amendments: [...(document.amendments ?? [])],
        review: await describeReview(document, currentTimestamp.slice(0, 10)),
        publication,
        errors: [...(await publications.errors(indexId, LISTED_MAX))],
        procedures: [...(await procedures.of(indexId))],
      };
    },
  };
}

const UNREADABLE: ReadonlySet<string> = new Set(['VERSION_NOT_FOUND', 'DOCUMENT_UNREADABLE']);
const ACTIONS = ['publish', 'restate', 'amend', 'action', 'override', 'waive'] as const;

/** Returns the data sources of a close, most preferred first. */
function listHierarchy(document: IndexDocument): string[] {
  if (isOverlayDocument(document)) return ['Closing levels of its underlying indices.'];
  return [
    ...(isDerivedDocument(document) ? ['Compositions of its parent index, at the decision date.'] : []),
    'Closing price of the session in the data store.',
    // The methodology has the same sentence. A derived index treats missing prices as its parent does.
    isRuleDocument(document)
      ? describeMissingPrices(document.pipeline.treatment)
      : 'Missing prices are treated as in the parent index.',
    'Exchange rates of the session in the data store, otherwise the last ones before it.',
  ];
}

/** Returns the situations in which the index may not serve its purpose. */
function listLimitations(document: IndexDocument, { covered }: { readonly covered: string | undefined }): string[] {
  const { calendar } = document;
  return [
    'The index depends on one data store. Wrong or late data delays a close or makes it wrong; published closes that are wrong are treated by the error policy.',
    ...(isOverlayDocument(document)
      ? ['It has the limitations of all its underlying indices.']
      : isRuleDocument(document) && document.pipeline.treatment.missing_prices !== 'carry'
        ? []
        : ['Between a suspension and the next price, a constituent counts at its last price.']),
    ...(isDerivedDocument(document)
      ? ['Its weights come from an optimisation on estimated risk; realised tracking error can exceed the estimate.']
      : []),
    ...(covered === undefined
      ? []
      : [`Sessions of ${calendar} after ${covered} follow rules of its holidays; exchanges may announce others.`]),
    'Before its first published close the index is a backtest, with knowledge of the rules that were chosen later.',
  ];
}
