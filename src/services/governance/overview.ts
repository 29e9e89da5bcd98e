import type { GovernanceOverview } from '#contract/governance.js';
import type { Calendars } from '#domain/calendars/calendar.js';
import { readIndex } from '#domain/checks/validate-index.js';
import type { Judgement } from '#domain/daily-plans/judgement-document.js';
import type { IndexDocument } from '#domain/documents/index-document.js';
import { ProcedureDocument } from '#domain/documents/procedure-document.js';
import { findLastAtMost } from '#domain/numbers/search.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { parseDay } from '#domain/time/days.js';
import { readAuditHead } from '#store/audit/log.js';
import { readLastVersion } from '#store/history/history.js';
import { getOwner } from '#store/document-id.js';
import type { DocumentStore } from '#store/port.js';
import { readLogHead, findLastClose } from '#store/publication/log.js';
import { findCurrentReach } from '#store/reach/reach-context.js';
import { listRegisteredErrors } from '../publication/errors.js';
import { readDataset } from '../stored/dataset-documents.js';
import { readJudgements } from './read-judgements.js';

type Documents = Pick<DocumentStore, 'get' | 'ids' | 'lastNumber' | 'list'>;
type Statement = GovernanceOverview['statements'][number];

/** Number of newest entries of a register in the overview. */
const LATEST = 5;
/** Number of newest decisions of each schedule in which decisions with a reason are searched. */
const SEARCHED_DECISIONS = 20;
/** Number of publication logs that are read at the same time. */
const READ_CONCURRENCY = 16;

export interface OverviewDependencies {
  readonly documents: Documents;
  readonly calendars: Calendars;
}

/**
 * Counts the entries of all registers and reads the newest entries.
 * @cost one read per index, two more if it is published, up to 20 per schedule, and a list of the indices, procedures
 * and stores
 * @throws Refusal DOCUMENT_UNREADABLE for the audit log
 */
export async function summariseGovernance({ documents, calendars }: OverviewDependencies): Promise<GovernanceOverview> {
  const statements = await listStatements({ documents, calendars });
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
async function listStatements({ documents, calendars }: OverviewDependencies): Promise<Statement[]> {
  const { documents: indices } = await documents.list('index', readIndex);
  const byId = new Map(indices.map((document) => [document.id, document]));
  const computeLag = await createLagCounter({ documents, calendars });
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
async function createLagCounter({ documents, calendars }: OverviewDependencies): Promise<LagCounter> {
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
