import { setImmediate } from 'node:timers/promises';
import type { Publication, PublicKeys, PublishRequest } from '#contract/publication.js';
import { assertOrder } from '#domain/schema/assert-order.js';
import type { Calendar, Calendars } from '#domain/calendars/calendar.js';
import {
  NO_HASH,
  type PublicationEntry,
  type PublicationHead,
  type PublicKey,
  type SigningKey,
} from '#domain/documents/publication-document.js';
import type { PublishedError } from '#domain/documents/published-error.js';
import type { RunDocument } from '#domain/documents/run-document.js';
import type { Authorship } from '#domain/documents/version-document.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import type { Jobs } from '#jobs/job-kind.js';
import { appendEntries, assertReadable, readLogBatches, readLogHead } from '#store/publication/log.js';
import { createHashSigner } from '#store/publication/signing.js';
import { computeStatementHash } from '#store/publication/statement-hash.js';
import type { DocumentStore } from '#store/port.js';
import { requireIndex } from '../stored/stored-indices.js';
import { markPublished } from '../stored/run-list.js';
import { requireRun } from '../stored/run-documents.js';
import { computeRunId } from '#store/run-id.js';
import { findLatestTime } from '#store/timestamp.js';
import { createStoredState, type RunStates } from '../runs/run-states.js';
import { findCurrentRun } from './current-run.js';
import type { ViewMaker } from '../runs/view-maker.js';
import type { Admission, ApprovalGate, ProposedChange } from '../approvals/approvals.js';
import {
  readCorrection,
  createError,
  listRegisteredErrors,
  registerError,
  treatErrors,
  createTreatedRequest,
  type NewError,
} from './errors.js';
import { createPublicationRequest } from './requested-closes.js';
import { assertAllowed } from './allowed.js';
import { readCloses } from './publishable-closes.js';
import { findDisagreements } from './disagreements.js';
import { assertWhole } from './partial-closes.js';
import { findLastDate, listStatements, type Log, type Statement } from './statements.js';
import type { SigningKeys } from '../stored/signing-keys.js';

/** Dates of published entries, both ends included. */
export interface PublishedWindow {
  readonly start?: string | undefined;
  readonly end?: string | undefined;
}

/** Published closes, which are signed and never change. */
export interface Publications {
  /**
   * Appends the unpublished closes of the stored run.
   * @throws Refusal INDEX_NOT_FOUND, RUN_NOT_FOUND, NO_CURRENT_RUN, DOCUMENT_UNREADABLE, NO_DATA_IN_RANGE, RESTATEMENT,
   *   PARTIAL_CLOSES, APPROVAL_REQUIRED, OVERLOADED
   */
  publish(indexId: string, body: () => PublishRequest, request: PublicationRequest): Promise<Publication>;
  /**
   * Returns the entries in the order of the log. @throws Refusal NOTHING_PUBLISHED, INVALID_RANGE, DOCUMENT_UNREADABLE
   */
  entries(indexId: string, window: PublishedWindow): Promise<AsyncGenerator<readonly PublicationEntry[]>>;
  /** Returns the register of errors, newest first. */
  errors(indexId: string, limit: number): Promise<readonly PublishedError[]>;
  /** Returns the keys that signed the entries. @throws Refusal NOTHING_PUBLISHED */
  keys(indexId: string): Promise<PublicKeys>;
  rotateKey(by: Authorship): Promise<PublicKey>;
}

export interface PublicationRequest {
  readonly by: Authorship;
  readonly signal: AbortSignal;
  /** Day of the schedule that publishes. */
  readonly day?: ProposedChange['day'];
  /** True to publish nothing. If an approval is required, it is still requested. */
  readonly isForeseen?: boolean;
}

export interface PublicationsDependencies {
  readonly documents: DocumentStore;
  readonly jobs: Pick<Jobs, 'query'>;
  readonly maker: Pick<ViewMaker, 'readColumns'>;
  readonly signingKeys: SigningKeys;
  readonly states: Pick<RunStates, 'findStaleState'>;
  readonly calendars: Calendars;
  readonly approvals: ApprovalGate;
  readonly timestamp: () => string;
}

/**
 * Maximum number of attempts to append entries. An attempt fails only if another publication of the index or another
 * signing key was written first.
 */
const ATTEMPTS_MAX = 5;

/** Number of entries that are chained and signed in one turn of the event loop. This takes 2 ms. */
const SIGNED_PER_TURN = 64;

export function createPublications(dependencies: PublicationsDependencies): Publications {
  const { documents, signingKeys, states, calendars, approvals, timestamp } = dependencies;

  /** Appends entries to the log. @returns false if another publication or key was written first */
  async function appendToLog(
    run: RunDocument,
    { log, entries, proposedChange, error }: LogAppend,
    { by, admit }: { readonly by: Authorship; readonly admit: Admission['admit'] },
  ) {
    const keyId = entries[0]!.key_id;
    const indexId = run.index_id;
    return documents.transaction(
      async (tx) => {
        const head = await readLogHead(tx, indexId);
        if (head?.hash !== log.head?.hash || !(await signingKeys.isCurrent(tx, keyId))) return false;
        await admit(tx, proposedChange);
        if (error !== null) await registerError(tx, error);
        await appendEntries(tx, indexId, { entries, after: head });
        // neither the index nor the run was deleted since the request
        await requireIndex(tx, indexId);
        await requireRun(tx, { subject: indexId, id: computeRunId(run) });
        await markPublished(tx, run);
        return true;
      },
      { by },
    );
  }

  return {
    async publish(indexId, body, { by, signal, day, isForeseen = false }) {
      const { document } = await requireIndex(documents, indexId);
      const order = body();
      assertReasoned(order);
      const { run_id: id } = order;
      const run =
        id === undefined
          ? await findCurrentRun({ documents, states }, indexId)
          : await requireRun(documents, { subject: indexId, id });
      const calendar = calendars.get(document.calendar);
      const isClosed = (date: string): boolean => hasClosure(calendar, date);
      // If the request names no run, the run is the current run and not stale.
      const stale = id === undefined ? null : (await createStoredState(states, run)).stale;
      const closes = await readCloses(dependencies, run, { through: order.through, calendar, signal });
      for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
        const log = await readLog(documents, indexId);
        const { entriesInForce, head } = log;
        const allDisagreements = findDisagreements(closes, entriesInForce);
        const differingCloses = { closes, entriesInForce, disagreements: allDisagreements };
        const treatment = order.error_policy && treatErrors(order.error_policy, differingCloses, isClosed);
        const request = createTreatedRequest(order, treatment);
        const disagreements = treatment?.restated ?? allDisagreements;
        assertAllowed(disagreements, request, { closes, entriesInForce });
        const key = await signingKeys.current(by);
        // An entry is never older than its key or the previous entry, whatever the clock says.
        const signedAt = findLatestTime(timestamp(), key.valid_from, log.lastAt);
        const terms = { indexId, runId: computeRunId(run) };
        const publication = { ...terms, restated: disagreements.length, at: signedAt, by };
        const error = createError({ ...differingCloses, treatment, request }, publication);
        const correction = await readCorrection(documents, error);
        const statements = listStatements(closes, { run, log, disagreements, request, correction, by, at: signedAt });
        assertWhole(statements, closes.partial, request);
        const publishedCount = statements.length - publication.restated;
        const author = { ...by, note: findNote(request, by) };
        const answer = { published: publishedCount, restated: publication.restated, run_id: terms.runId, stale, error };
        if (statements.length === 0) {
          if (error !== null && !isForeseen)
            await documents.transaction((tx) => registerError(tx, error), { by: author });
          return { ...answer, through: findLastDate(log), head: head?.hash ?? NO_HASH };
        }
        const entries = await signStatements(statements, log, key);
        const proposedChange = createPublicationRequest(statements, approvals, {
          ...terms,
          head,
          entriesInForce,
          disagreements,
          closes,
          day,
        });
        if (isForeseen) {
          await approvals.guarded(author, ({ foresee }) => foresee(documents, proposedChange));
          return { ...answer, published: 0, restated: 0, through: findLastDate(log), head: head?.hash ?? NO_HASH };
        }
        const append = { log, entries, proposedChange, error };
        if (!(await approvals.guarded(author, ({ admit }) => appendToLog(run, append, { by: author, admit }))))
          continue;
        return { ...answer, through: findLastDate(log, entries), head: entries.at(-1)!.hash };
      }
      throw new Refusal('OVERLOADED', `Other publications of ${indexId} came first ${ATTEMPTS_MAX} times.`);
    },
    async entries(indexId, window) {
      const { start, end } = window;
      assertOrder({ start, end });
      const head = await requireLog(documents, indexId);
      await assertReadable(documents, indexId, head); // a refusal must precede the first byte of the response
      return applyFilter(readLogBatches(documents, indexId, head), window);
    },
    async errors(indexId, limit) {
      return listRegisteredErrors(documents, indexId, limit);
    },
    async keys(indexId) {
      await requireLog(documents, indexId);
      return signingKeys.list();
    },
    rotateKey: (authorship) => signingKeys.rotate(authorship),
  };
}

/** Returns the head of a log. @throws Refusal NOTHING_PUBLISHED */
async function requireLog(documents: DocumentStore, indexId: string): Promise<PublicationHead> {
  const head = await readLogHead(documents, indexId);
  if (head !== undefined) return head;
  throw new Refusal('NOTHING_PUBLISHED', `No close of ${indexId} was ever published.`, { index_id: indexId });
}

/** Returns the end of a log and the valid entry of each date. */
async function readLog(documents: DocumentStore, indexId: string): Promise<Log> {
  const head = await readLogHead(documents, indexId);
  const entriesInForce = new Map<string, PublicationEntry>();
  let lastAt: string | undefined;
  if (head === undefined) return { head, entriesInForce, lastAt };
  for await (const batch of readLogBatches(documents, indexId, head)) {
    for (const entry of batch) entriesInForce.set(entry.date, entry);
    lastAt = batch.at(-1)!.at; // the schema requires at least one entry
    await setImmediate(); // other work runs between the batches
  }
  return { head, entriesInForce, lastAt };
}

/**
 * Signs new entries. The first is chained to the last entry of the log, and each further one to the entry before it.
 */
async function signStatements(
  statements: readonly Statement[],
  { head }: Log,
  key: SigningKey,
): Promise<PublicationEntry[]> {
  const entries: PublicationEntry[] = [];
  const signHash = createHashSigner(key);
  let { seq, hash } = head ?? { seq: 0, hash: NO_HASH };
  for (const statement of statements) {
    const chainedStatement = { ...statement, seq: seq + 1, previous: hash, key_id: key.key_id };
    ({ seq } = chainedStatement);
    hash = computeStatementHash(chainedStatement);
    entries.push({ ...chainedStatement, hash, signature: await signHash(hash) });
    if (entries.length % SIGNED_PER_TURN === 0) await setImmediate();
  }
  return entries;
}

/** New entries, the log to which they are appended, and the publication request. */
interface LogAppend {
  readonly log: Log;
  readonly entries: readonly PublicationEntry[];
  readonly proposedChange: ProposedChange;
  readonly error: NewError | null;
}

/** Returns true if a closure of the calendar is recorded for a date. */
function hasClosure(calendar: Calendar | undefined, date: string): boolean {
  return calendar?.recorded?.changes.some((change) => change.date === date && change.session === 'closed') === true;
}

/** Returns the note for the audit log: the reason of the publication, and the note of the request. */
function findNote({ reason }: PublishRequest, { note }: Authorship): string | null {
  const reasonTexts = [reason, note].filter((text) => text != null && text !== '');
  return reasonTexts.length === 0 ? null : [...new Set(reasonTexts)].join('; ');
}

/** Refuses a restatement without a reason. @throws Refusal VALIDATION_FAILED */
function assertReasoned({ restate, reason }: PublishRequest): void {
  if (!restate || (reason !== undefined && reason.trim() !== '')) return;
  const message = 'A restatement requires a reason, which the log records.';
  throw refuseWithFindings('request', [{ severity: 'error', code: 'REQUIRED', message, path: 'reason' }]);
}

async function* applyFilter(
  batches: AsyncGenerator<readonly PublicationEntry[]>,
  { start, end }: PublishedWindow,
): AsyncGenerator<readonly PublicationEntry[]> {
  for await (const batch of batches)
    yield batch.filter(({ date }) => (start === undefined || date >= start) && (end === undefined || date <= end));
}
