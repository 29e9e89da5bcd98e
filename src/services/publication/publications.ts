import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { Publication, PublicKeys, PublishRequest } from '#contract/publication.js';
import { toCanonicalJson } from '#domain/base/json.js';
import { findLastAtMost } from '#domain/base/numbers.js';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import { assertOrder } from '#domain/base/schema.js';
import { parseValidDay } from '#domain/base/time.js';
import type { Calendar } from '#domain/calendars/calendar.js';
import type { ApprovalFacts, ApprovalRules } from '#domain/definition/approvals.js';
import {
  type ComparedClose,
  type DecidedError,
  decideError,
  type ErrorPolicy,
  findAgreements,
  type IndexCloses,
  type LevelChange,
  NO_HASH,
  type PublicationEntry,
  type PublicationHead,
  type PublicKey,
  PublishedError,
  SigningKey,
} from '#domain/definition/publication.js';
import type { RunDocument } from '#domain/definition/runs.js';
import type { Authorship } from '#domain/definition/versions.js';
import { isPartial } from '#market/judge/market-warnings.js';
import { findLastSealTime, signAuditLog } from '#store/history/audit.js';
import { removePrivateKey } from '#store/history/history.js';
import { computeStatementHash } from '#store/history/log-check.js';
import {
  appendEntries,
  assertReadable,
  chooseTimeAfterLogs,
  createHashSigner,
  createSigningKey,
  readLogBatches,
  readLogHead,
} from '#store/history/publication-log.js';
import {
  computeRunId,
  type DocumentReader,
  type DocumentStore,
  type DocumentTransaction,
  findLatestTime,
  formatNumberedId,
  parseStored,
  readStoredBody,
} from '#store/port.js';
import { requireIndex } from '../indices/documents.js';
import { createStoredState } from '../runs/plans.js';
import type { ChangeAdmission, ApprovalGate, ProposedChange } from '../shared/approvals.js';
import type { Context, RunStates } from '../shared/context.js';
import { addUnreadable } from '../shared/documents.js';
import { listEarlierRuns, markPublished, requireColumnsFile, requireRun } from '../shared/run-documents.js';

const NAMED_DATES_MAX = 100;

interface ComparedCloses {
  readonly closes: IndexCloses;
  /** Valid entry of each published date. This is the last entry for that date. */
  readonly entriesInForce: ReadonlyMap<string, PublicationEntry>;
}

/**
 * Refuses a run that differs from published closes, unless the request restates them. A session that is missing in the
 * run is always refused. Closes are also refused if the log would get a jump that no index had.
 * @throws Refusal RESTATEMENT
 */
function assertAllowed(
  disagreements: readonly Disagreement[],
  { restate }: PublishRequest,
  comparedCloses: ComparedCloses,
): void {
  assertPublishedUnchanged(disagreements, restate, comparedCloses);
  assertStartOverlaps(disagreements, comparedCloses);
  assertEndReached(disagreements, comparedCloses);
}

function assertPublishedUnchanged(
  disagreements: readonly Disagreement[],
  restate: PublishRequest['restate'],
  comparedCloses: ComparedCloses,
): void {
  const refusedDisagreements = restate ? disagreements.filter(({ position }) => position === null) : disagreements;
  if (refusedDisagreements.length === 0) return;
  const dates = refusedDisagreements.map(({ date }) => date);
  const message = restate
    ? `The run has no close on ${refusedDisagreements.length} published dates, the first on ${dates[0]}: a session cannot be restated away. After a recorded closure, publish with an error policy.`
    : `The run disagrees with ${describeCloses(refusedDisagreements, comparedCloses)}. A published close changes only by a restatement with a reason.`;
  throw refuseRestatement(message, { dates, disagreements: refusedDisagreements }, comparedCloses);
}

/** Describes the closes that differ, and how many of them differ in a level by more than rounding. */
function describeCloses(disagreements: readonly Disagreement[], { closes, entriesInForce }: ComparedCloses): string {
  const { length } = disagreements;
  const { date } = disagreements[0]!;
  const { levels_changed: changed } = measureDisagreements(disagreements, closes, entriesInForce);
  const closesText =
    length === 1 ? `1 published close, that of ${date}` : `${length} published closes, the first on ${date}`;
  return changed === length ? closesText : `${closesText}; of which ${changed} in a level by more than rounding`;
}

/**
 * Refuses a run that starts after the first published close, unless it agrees with the log on the dates that both have.
 * Otherwise the log would contain a jump that no index had.
 */
function assertStartOverlaps(disagreements: readonly Disagreement[], comparedCloses: ComparedCloses): void {
  const { closes, entriesInForce } = comparedCloses;
  const firstDate = closes.dates[0]!; // a run has at least one close
  const dates = [...entriesInForce.keys()].filter((date) => date < firstDate).toSorted();
  const hasNoOverlap = dates.length === entriesInForce.size;
  if (dates.length === 0 || (disagreements.length === 0 && !hasNoOverlap)) return;
  const message = `The run begins on ${firstDate}, the published log on ${dates[0]!}: its closes do not continue the ${dates.length} before them. Run the index from ${dates[0]!} on.`;
  throw refuseRestatement(message, { dates, disagreements }, comparedCloses);
}

/**
 * Refuses closes that end before the last published close and differ there. The later closes come from another run, so
 * the log would contain a jump that no index had.
 */
function assertEndReached(disagreements: readonly Disagreement[], comparedCloses: ComparedCloses): void {
  const { closes, entriesInForce } = comparedCloses;
  const end = closes.dates.at(-1)!; // a run has at least one close
  const dates = [...entriesInForce.keys()].filter((date) => date > end).toSorted();
  if (dates.length === 0 || disagreements.at(-1)?.date !== end) return;
  const lastDate = dates.at(-1)!;
  const message = `The closes end on ${end}, the published log on ${lastDate}: the ${dates.length} after them do not continue them. Restate with a run through ${lastDate}.`;
  throw refuseRestatement(message, { dates, disagreements }, comparedCloses);
}

interface RefusedDates {
  /** Published dates that the refusal concerns, ascending. */
  readonly dates: readonly string[];
  /** Differences, of which the refusal states the sizes. */
  readonly disagreements: readonly Disagreement[];
}

function refuseRestatement(
  message: string,
  { dates, disagreements }: RefusedDates,
  { closes, entriesInForce }: ComparedCloses,
): Refusal {
  return new Refusal('RESTATEMENT', message, {
    dates: dates.slice(0, NAMED_DATES_MAX),
    total: dates.length,
    ...measureDisagreements(disagreements, closes, entriesInForce),
  });
}

/**
 * Returns the latest run of an index that is not stale and did not use earlier contents.
 * @throws Refusal RUN_NOT_FOUND, DOCUMENT_UNREADABLE, NO_CURRENT_RUN
 */
async function findCurrentRun({ documents, states }: Context, indexId: string): Promise<RunDocument> {
  const newestRun = await requireRun(documents, indexId);
  const reasons = await listReasonsAgainst(states, newestRun);
  if (reasons.length === 0) return newestRun;
  for await (const earlierRun of listEarlierRuns(documents, indexId))
    if ((await listReasonsAgainst(states, earlierRun)).length === 0) return earlierRun;
  const message = `The newest run ${computeRunId(newestRun)} of ${indexId} is not current: ${reasons.join(' ')} Run it again, or name the run by run_id.`;
  throw new Refusal('NO_CURRENT_RUN', message, { index_id: indexId, run_id: computeRunId(newestRun), reasons });
}

async function listReasonsAgainst(states: RunStates, run: RunDocument): Promise<readonly string[]> {
  if (run.as_known_on !== undefined) return [`It was made on version ${run.as_known_on} of the data, as asked for.`];
  if ((run.request as { readonly as_known?: unknown }).as_known !== undefined)
    return ['Its decisions were made on what was known at their dates.'];
  return (await states.findStaleState(run))?.reasons ?? [];
}

interface ClosesTerms {
  readonly indexId: string;
  readonly runId: string;
  readonly head: PublicationHead | undefined;
  readonly entriesInForce: ReadonlyMap<string, PublicationEntry>;
  readonly disagreements: readonly Disagreement[];
  readonly closes: IndexCloses;
  readonly day: ProposedChange['day'];
}

/**
 * Returns the approval request for a publication. The approval covers these figures after the current end of the log,
 * whichever run produced them.
 */
function createPublicationRequest(
  entries: readonly PublicationEntry[],
  approvalGate: Pick<ApprovalGate, 'getRule'>,
  { indexId, runId, head, entriesInForce, disagreements, closes, day }: ClosesTerms,
): ProposedChange {
  const newCloses = entries.filter(({ kind }) => kind === 'close');
  const restatedCount = entries.length - newCloses.length;
  const counts = { published: newCloses.length, restated: restatedCount };
  const last = entries.at(-1)!; // an empty publication needs no approval
  const previousEntry = [...entriesInForce.values()].findLast(({ date }) => date < last.date);
  const figures = {
    index_id: indexId,
    run_id: runId,
    ...counts,
    first: entries[0]!.date,
    last: last.date,
    close: createLevels(last),
    previous: previousEntry === undefined ? null : { date: previousEntry.date, ...createLevels(previousEntry) },
  };
  const lastRestatement = entries.findLast(({ kind }) => kind !== 'close');
  const facts: ApprovalFacts =
    lastRestatement === undefined
      ? { kind: 'publish', ...figures }
      : {
          kind: 'restate',
          ...figures,
          ...measureDisagreements(disagreements, closes, entriesInForce),
          latest: {
            date: lastRestatement.date,
            before: createLevels(entriesInForce.get(lastRestatement.date)!),
            after: createLevels(lastRestatement),
          }, // the date is published again
          reason: lastRestatement.reason,
        };
  return {
    action: selectAction(counts, approvalGate),
    day: day ?? null,
    subject: indexId,
    content: { head: head?.hash ?? NO_HASH, entries: entries.map(createFigures) },
    summary: formatSummary(indexId, { fresh: newCloses, restated: restatedCount, last }),
    facts,
  };
}

/**
 * Returns the action that selects the approval rule. If a request both publishes and restates closes, the rule that
 * requires more persons applies.
 */
function selectAction(
  { published, restated }: { readonly published: number; readonly restated: number },
  { getRule }: Pick<ApprovalGate, 'getRule'>,
): 'publish' | 'restate' {
  if (restated === 0) return 'publish';
  const countPersons = (rule: ApprovalRules['publish']): number => rule?.persons ?? 1;
  return published > 0 && countPersons(getRule('publish')) > countPersons(getRule('restate')) ? 'publish' : 'restate';
}

const createFigures = ({ date, kind, price, total, net, divisor, composition_hash, reason }: PublicationEntry) => ({
  date,
  kind,
  price,
  total,
  net,
  divisor,
  composition_hash,
  reason,
});

const createLevels = ({ price, total, net }: Pick<PublicationEntry, 'price' | 'total' | 'net'>) => ({
  price,
  total,
  net,
});

function formatSummary(
  indexId: string,
  {
    fresh,
    restated,
    last,
  }: { readonly fresh: readonly PublicationEntry[]; readonly restated: number; readonly last: PublicationEntry },
): string {
  const closesText = fresh.length === 1 ? `the close of ${last.date}` : `${fresh.length} closes through ${last.date}`;
  const restatedCloses = restated === 1 ? 'one close again' : `${restated} closes again`;
  if (restated === 0) return `Publish ${closesText} of ${indexId}.`;
  return fresh.length === 0
    ? `Publish ${restatedCloses} of ${indexId}.`
    : `Publish ${restatedCloses} and ${closesText} of ${indexId}.`;
}

/** Keys that sign publications. One key is in use. Earlier keys are stored so that their signatures can be verified. */
export interface SigningKeys {
  /** Returns the key in use. If there is none, creates one. @param by author that is recorded for the key */
  current(by?: Authorship): Promise<SigningKey>;
  /** Returns true if a key is in use. */
  isCurrent(reader: Pick<DocumentReader, 'get'>, keyId: string): Promise<boolean>;
  list(): Promise<PublicKeys>;
  /** Replaces the key in use. The new key is never older than the last signature, whatever the clock says. */
  rotate(by: Authorship): Promise<PublicKey>;
}

export function createSigningKeys({ documents, timestamp, secrets }: Context): SigningKeys {
  async function readKeyInUse(tx: Pick<DocumentTransaction, 'get' | 'ids'>): Promise<SigningKey | undefined> {
    for (const id of await tx.ids('signing-key')) {
      const storedDocument = await tx.get('signing-key', id);
      const key = readStoredBody(storedDocument, readKey);
      if (key?.valid_until === null) return { ...key, private_key: secrets.open(key.private_key) };
    }
    return undefined;
  }

  const load = (key: SigningKey): SigningKey => ({ ...key, private_key: secrets.seal(key.private_key) });

  async function replaceKey(tx: DocumentTransaction, now: string): Promise<SigningKey> {
    const currentKey = await readKeyInUse(tx);
    const latestTimestamp = findLatestTime(
      await chooseTimeAfterLogs(tx, now),
      currentKey?.valid_from,
      await findLastSealTime(tx),
    );
    if (currentKey !== undefined) {
      await signAuditLog(tx, currentKey, latestTimestamp); // The previous key signs the entries up to this time.
      await tx.put('signing-key', currentKey.key_id, removePrivateKey({ ...currentKey, valid_until: latestTimestamp }));
    }
    const key = createSigningKey(latestTimestamp);
    await tx.put('signing-key', key.key_id, load(key));
    return key;
  }

  return {
    current: async (authorship) =>
      (await readKeyInUse(documents)) ??
      documents.transaction(async (tx) => (await readKeyInUse(tx)) ?? (await replaceKey(tx, timestamp())), {
        by: authorship,
      }),
    async isCurrent(reader, keyId) {
      const storedDocument = await reader.get('signing-key', keyId);
      return readStoredBody(storedDocument, readKey)?.valid_until === null;
    },
    async list() {
      const { documents: keys, ...skippedKeys } = await documents.list('signing-key', readKey);
      return { keys: keys.map(selectPublicPart).toSorted(compareByAge), ...addUnreadable(skippedKeys, 0) };
    },
    rotate: async (authorship) =>
      selectPublicPart(await documents.transaction((tx) => replaceKey(tx, timestamp()), { by: authorship })),
  };
}

/**
 * Compares keys by age. If a clock was set back, several keys can have the same creation time. The key in use is then
 * the last one.
 */
function compareByAge(a: PublicKey, b: PublicKey): number {
  if (a.valid_from !== b.valid_from) return a.valid_from < b.valid_from ? -1 : 1;
  return Number(a.valid_until === null) - Number(b.valid_until === null);
}

const readKey = (body: unknown): SigningKey | undefined => SigningKey.safeParse(body).data;

function selectPublicPart({ private_key: _private, ...key }: SigningKey): PublicKey {
  return key;
}

/** Dates of published entries, both ends included. */
interface PublishedWindow {
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
  readonly day?: ProposedChange['day'];
  /** True to publish nothing. If an approval is required, it is still requested. */
  readonly isForeseen?: boolean;
}

/**
 * Maximum number of attempts to append entries. An attempt fails only if another publication of the index or another
 * signing key was written first.
 */
const ATTEMPTS_MAX = 5;

/** Number of entries that are chained and signed in one turn of the event loop. This takes 2 ms. */
const SIGNED_PER_TURN = 64;

export function createPublications(context: Context, signingKeys: SigningKeys): Publications {
  const { documents, states, calendars, approvals, timestamp } = context;

  /** Appends entries to the log. @returns false if another publication or key was written first */
  async function appendToLog(
    run: RunDocument,
    { log, entries, proposedChange, error }: LogAppend,
    { by, admit }: { readonly by: Authorship; readonly admit: ChangeAdmission['admit'] },
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
          ? await findCurrentRun(context, indexId)
          : await requireRun(documents, { subject: indexId, id });
      const calendar = calendars.get(document.calendar);
      const isClosed = (date: string): boolean => hasClosure(calendar, date);
      // If the request names no run, the run is the current run and not stale.
      const stale = id === undefined ? null : (await createStoredState(states, run)).stale;
      const closes = await readCloses(context, run, { through: order.through, calendar, signal });
      const partialCloses = findPartialCloses(closes);
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
        const error = createLevelError({ ...differingCloses, treatment, request }, publication);
        const correction = await readCorrection(documents, error);
        const appendedCloses = listAppendedCloses(closes, log, disagreements);
        assertNoPartialClose(appendedCloses, partialCloses, request);
        const publishedCount = appendedCloses.length - publication.restated;
        const author = { ...by, note: findNote(request, by) };
        const answer = { published: publishedCount, restated: publication.restated, run_id: terms.runId, stale, error };
        if (appendedCloses.length === 0) {
          if (error !== null && !isForeseen)
            await documents.transaction((tx) => registerError(tx, error), { by: author });
          return { ...answer, through: findLastDate(log), head: head?.hash ?? NO_HASH };
        }
        const entryTerms = { run, partialCloses, request, correction, by, at: signedAt };
        const writeEntry = createEntryWriter(closes, appendedCloses, entryTerms);
        const entries = await signEntries(appendedCloses, writeEntry, { log, key });
        const proposedChange = createPublicationRequest(entries, approvals, {
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
async function signEntries(
  appendedCloses: readonly AppendedClose[],
  writeEntry: ReturnType<typeof createEntryWriter>,
  { log: { head }, key }: { readonly log: Log; readonly key: SigningKey },
): Promise<PublicationEntry[]> {
  const entries: PublicationEntry[] = [];
  const signHash = createHashSigner(key);
  let { seq, hash } = head ?? { seq: 0, hash: NO_HASH };
  for (const close of appendedCloses) {
    seq += 1;
    const entry = writeEntry(close, { seq, previous: hash, key_id: key.key_id });
    hash = computeStatementHash(entry);
    entries.push({ ...entry, hash, signature: await signHash(hash) });
    if (entries.length % SIGNED_PER_TURN === 0) await setImmediate();
  }
  return entries;
}

interface LogAppend {
  readonly log: Log;
  readonly entries: readonly PublicationEntry[];
  readonly proposedChange: ProposedChange;
  readonly error: NewError | null;
}

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

/** Date on which a run and the valid published entry differ. */
interface Disagreement {
  readonly date: string;
  /** Position of the date in the run; null if the run does not have the session. */
  readonly position: number | null;
}

const LEVELS = ['price', 'total', 'net'] as const;

interface DisagreementSizes {
  /**
   * Number of dates on which a level differs by more than rounding. On the other dates only the divisor, the
   * composition or the last digits differ.
   */
  readonly levels_changed: number;
  /** Earliest of the largest relative changes within rounding; null if only divisor or composition differ. */
  readonly largest: LevelChange | null;
}

const COMPARED_NUMBERS = ['price', 'total', 'net', 'divisor'] as const;

/**
 * Returns the dates on which a run and the valid published entries differ, in ascending order. Levels are rounded as the
 * index rounds them; a difference within rounding errors is none. Compares only dates that both cover.
 * @param entriesInForce entries by date
 */
export function findDisagreements(
  closes: IndexCloses,
  entriesInForce: ReadonlyMap<string, PublicationEntry>,
): Disagreement[] {
  const publishedDates = [...entriesInForce.keys()].toSorted();
  const [first, last] = [closes.dates[0], closes.dates.at(-1)];
  if (first === undefined || last === undefined || publishedDates.length === 0) return [];
  const from = first > publishedDates[0]! ? first : publishedDates[0]!;
  const to = last < publishedDates.at(-1)! ? last : publishedDates.at(-1)!;
  const positions = new Map(closes.dates.map((date, i) => [date, i]));
  const agreements = findAgreements(closes.dates.map((date, i) => compareClose(closes, i, entriesInForce.get(date))));
  return [...new Set([...publishedDates, ...closes.dates])]
    .filter((date) => date >= from && date <= to)
    .toSorted()
    .flatMap((date) => {
      const position = positions.get(date) ?? null;
      return position !== null && agreements[position]! ? [] : [{ date, position }];
    });
}

function compareClose(closes: IndexCloses, position: number, entry: PublicationEntry | undefined): ComparedClose {
  const isSame = (member: (typeof COMPARED_NUMBERS)[number]): boolean =>
    isSameNumber(closes[member][position]!, entry![member]);
  return {
    hasSameFigures: entry !== undefined && COMPARED_NUMBERS.every(isSame),
    hasSameComposition: entry !== undefined && closes.composition_hash[position] === entry.composition_hash,
    isRounded: closes.rounded[position]!,
    isTraded: closes.traded[position]!,
  };
}

/** Measures the differences of the levels that exist both in the run and in the entry. */
export function measureDisagreements(
  disagreements: readonly Disagreement[],
  closes: IndexCloses,
  entriesInForce: ReadonlyMap<string, PublicationEntry>,
): DisagreementSizes {
  let changedLevels = 0;
  let largest: LevelChange | null = null;
  for (const { date, position } of disagreements) {
    const changes = listLevelChanges(
      date,
      entriesInForce.get(date),
      position === null ? undefined : closeAt(closes, position),
    );
    if (changes.some(isBeyondRounding)) changedLevels++;
    for (const levelChange of changes) if (isLarger(levelChange, largest)) largest = levelChange;
  }
  return { levels_changed: changedLevels, largest };
}

/**
 * Maximum relative difference of two levels that only the order of additions can explain. After a price correction,
 * later closes differ by such amounts.
 */
const ROUNDING = 1e-12;

/** Returns true if two numbers are equal, or differ only by rounding errors. */
const isSameNumber = (run: number | null, published: number | null): boolean =>
  run === null || published === null ? run === published : Math.abs(run - published) <= ROUNDING * Math.abs(published);

const isBeyondRounding = ({ change, published }: LevelChange): boolean =>
  Math.abs(change) > ROUNDING * Math.abs(published);

const isLarger = ({ change, change_bps: bps }: LevelChange, largest: LevelChange | null): boolean =>
  largest === null ? change !== 0 : Math.abs(bps) > Math.abs(largest.change_bps) + 1e4 * ROUNDING;

/** Returns the changes of the levels of one close. @param position position of the date in the closes */
const listChangesOn = (
  date: string,
  position: number,
  {
    closes,
    entriesInForce,
  }: { readonly closes: IndexCloses; readonly entriesInForce: ReadonlyMap<string, PublicationEntry> },
): readonly LevelChange[] => listLevelChanges(date, entriesInForce.get(date), closeAt(closes, position));

type Levels = Pick<PublicationEntry, (typeof LEVELS)[number]>;

const closeAt = ({ price, total, net }: IndexCloses, position: number): Levels => ({
  price: price[position]!,
  total: total[position]!,
  net: net[position]!,
});

function listLevelChanges(date: string, entry: Levels | undefined, close: Levels | undefined): readonly LevelChange[] {
  return LEVELS.flatMap((variant) => {
    const [published, run] = [entry?.[variant] ?? null, close?.[variant] ?? null];
    if (published === null || run === null) return [];
    const change = run - published;
    return [{ date, variant, published, run, change, change_bps: (1e4 * change) / published }];
  });
}

/** Close for which some securities of the index have no bar. Its level uses earlier prices of these securities. */
interface PartialClose {
  readonly date: string;
  /** Number of securities that are held, and how many of them have no bar. */
  readonly held: number;
  readonly without_bar: number;
}

/** Maximum number of closes in the details of a refusal, and in its message. */
const LISTED_MAX = 100;
const NAMED_MAX = 5;

/**
 * Returns the partial closes of a run by date. On the last session, one security without a bar is enough, because its
 * bar may still arrive. On earlier dates the rule for partial dates of a store applies, because a single security may
 * be halted.
 */
function findPartialCloses({
  dates,
  held,
  without_bar: missingPositions,
}: Pick<IndexCloses, 'dates' | 'held' | 'without_bar'>): ReadonlyMap<string, PartialClose> {
  const results = new Map<string, PartialClose>();
  for (const [i, date] of dates.entries()) {
    const isLast = i === dates.length - 1;
    if (isPartial(missingPositions[i]!, held[i]!) || (isLast && missingPositions[i]! > 0))
      results.set(date, { date, held: held[i]!, without_bar: missingPositions[i]! });
  }
  return results;
}

/** Refuses to publish partial closes unless the request permits them. @throws Refusal PARTIAL_CLOSES */
function assertNoPartialClose(
  appendedCloses: readonly AppendedClose[],
  partialCloses: ReadonlyMap<string, PartialClose>,
  { allow_partial: isAllowed }: { readonly allow_partial: boolean },
): void {
  const refusals = appendedCloses.flatMap(({ date }) => partialCloses.get(date) ?? []);
  if (isAllowed || refusals.length === 0) return;
  const listedCloses = refusals.slice(0, NAMED_MAX).map((close) => `${close.date} (${formatCoverage(close)})`);
  const omissionNote =
    refusals.length > listedCloses.length ? ` and ${refusals.length - listedCloses.length} more` : '';
  throw new Refusal(
    'PARTIAL_CLOSES',
    `Constituents have no price on a date to publish: ${listedCloses.join(', ')}${omissionNote}. \`allow_partial\` (--allow-partial) publishes them anyway, and the log records it.`,
    { closes: refusals.slice(0, LISTED_MAX), total: refusals.length },
  );
}

/** Returns the reason of an entry with a partial close. @param reason reason in the request */
function formatPartialReason(close: PartialClose, reason: string | undefined): string {
  const message = `Published with ${formatCoverage(close)} of that date.`;
  return reason === undefined || reason.trim() === '' ? message : `${reason} (${message})`;
}

const formatCoverage = ({ held, without_bar: missingCount }: PartialClose): string =>
  `${missingCount} of ${held} names without a bar`;

export interface Log {
  readonly head: PublicationHead | undefined;
  /** Last entry of each published date. */
  readonly entriesInForce: ReadonlyMap<string, PublicationEntry>;
  /** Time of the last entry. */
  readonly lastAt: string | undefined;
}

/** Close that a publication appends to the log. */
interface AppendedClose {
  /** Position in the closes of the run. */
  readonly position: number;
  readonly date: string;
  readonly kind: PublicationEntry['kind'];
}

/** Returns the closes to publish: first the restated closes, then the closes after the last published date. */
function listAppendedCloses({ dates }: IndexCloses, log: Log, disagreements: readonly Disagreement[]): AppendedClose[] {
  const last = findLastDate(log);
  const restatedCloses = disagreements.map(
    ({ date, position }) => ({ position: position!, date, kind: 'restatement' }) as const, // a missing session was refused
  );
  const newCloses = dates.flatMap((date, position) =>
    last === null || date > last ? [{ position, date, kind: 'close' } as const] : [],
  );
  return [...restatedCloses, ...newCloses];
}

interface EntryTerms {
  readonly run: RunDocument;
  readonly partialCloses: ReadonlyMap<string, PartialClose>;
  readonly request: PublishRequest;
  /** Reason for the first new close if it corrects a difference from earlier closes; otherwise null. */
  readonly correction: string | null;
  readonly by: Authorship;
  readonly at: string;
}

/** Place of an entry in its log, and the key that signs it. */
type EntryPlace = Pick<PublicationEntry, 'seq' | 'previous' | 'key_id'>;

/** Returns a function that creates the entry of a close without its hash and signature. */
function createEntryWriter(closes: IndexCloses, appendedCloses: readonly AppendedClose[], terms: EntryTerms) {
  const { run, partialCloses, request, correction, by, at } = terms;
  const firstNew = appendedCloses.find(({ kind }) => kind === 'close');
  const findReason = (close: AppendedClose): string | null => {
    const partialClose = partialCloses.get(close.date);
    if (partialClose !== undefined) return formatPartialReason(partialClose, request.reason);
    if (close.kind === 'restatement') return request.reason!; // assertReasoned has ensured that the request has a reason
    return close === firstNew ? correction : null;
  };
  return (close: AppendedClose, place: EntryPlace): Omit<PublicationEntry, 'hash' | 'signature'> => ({
    index_id: run.index_id,
    date: close.date,
    kind: close.kind,
    price: closes.price[close.position]!,
    total: closes.total[close.position]!,
    net: closes.net[close.position]!,
    divisor: closes.divisor[close.position]!,
    composition_hash: closes.composition_hash[close.position]!,
    data_hash: run.store_content_hash ?? null,
    index_version: run.index_version ?? null,
    ...(run.calendar_version === undefined ? {} : { calendar_version: run.calendar_version }),
    engine: run.engine_version ?? null,
    reason: findReason(close),
    at,
    author: by.author,
    ...place,
  });
}

/** Returns the latest published date; null if no date is published. */
function findLastDate(
  { entriesInForce }: Pick<Log, 'entriesInForce'>,
  entries: readonly PublicationEntry[] = [],
): string | null {
  let last: string | null = null;
  for (const { date } of [...entriesInForce.values(), ...entries]) if (last === null || date > last) last = date;
  return last;
}

interface ReadingTerms {
  readonly through: string | undefined;
  readonly calendar: Calendar | undefined;
  readonly signal: AbortSignal;
}

/** Returns the closes of a run up to a date. @throws Refusal NO_DATA_IN_RANGE */
async function readCloses(
  { jobs, artifacts }: Context,
  run: RunDocument,
  { through, calendar, signal }: ReadingTerms,
): Promise<IndexCloses> {
  if (through !== undefined) assertReached(run, through, calendar);
  return jobs.query('run-closes', { columns: await requireColumnsFile(artifacts, run), through }, signal);
}

/**
 * Refuses a last date that the run does not reach: a session up to that date has no close, or the first close is later.
 * @throws Refusal NO_DATA_IN_RANGE
 */
function assertReached(
  { start: first, end: last }: RunDocument,
  through: string,
  calendar: Calendar | undefined,
): void {
  const detail = { through, first, last };
  if (through < first)
    throw new Refusal('NO_DATA_IN_RANGE', `through ${through} is before the first close of the run, ${first}.`, detail);
  const { sessions } = calendar ?? {};
  const next = sessions?.[findLastAtMost(sessions, parseValidDay(last)) + 1];
  // On a closed day after the last session, no close is missing.
  if (through <= last || (next !== undefined && next > parseValidDay(through))) return;
  const message = `through ${through} is after the last close of the run, ${last}: run the index up to it first, or publish through ${last}.`;
  throw new Refusal('NO_DATA_IN_RANGE', message, detail);
}

/** Closes of a run, the published entries, and the dates on which they differ. */
interface DifferingCloses {
  readonly closes: IndexCloses;
  readonly entriesInForce: ReadonlyMap<string, PublicationEntry>;
  readonly disagreements: readonly Disagreement[];
}

/** Treatment of the differences between a run and its log under a policy. */
interface ErrorTreatment {
  readonly decided: DecidedError;
  /** Dates to publish again. */
  readonly restated: readonly Disagreement[];
}

/**
 * Applies a policy to the differences between a run and the published entries. If the exchange was closed on a
 * published session, the difference of that session is its move from the previous session; it cannot be restated.
 * @param isClosed returns true for a recorded closure of the calendar
 * @returns undefined if nothing differs, or if another published session is missing in the run
 */
function treatErrors(
  policy: ErrorPolicy,
  differingCloses: DifferingCloses,
  isClosed: (date: string) => boolean = () => false,
): ErrorTreatment | undefined {
  const { disagreements, closes } = differingCloses;
  if (disagreements.length === 0) return undefined;
  if (disagreements.some(({ date, position }) => position === null && !isClosed(date))) return undefined;
  const differences = disagreements.map(({ date, position }) => {
    const row = position ?? closes.dates.findLastIndex((other) => other < date); // the run begins before a session that it lacks
    const sizes = listChangesOn(date, row, differingCloses).map(({ change_bps }) => Math.abs(change_bps));
    return { date, bps: Math.max(0, ...sizes), age: closes.dates.length - row };
  });
  const decidedError = decideError(policy, differences);
  const { decision, materialFrom } = decidedError;
  if (decision !== 'restated') return { decided: decidedError, restated: [] };
  const restatements = disagreements.filter(({ date, position }) => position !== null && date >= materialFrom!);
  if (restatements.length > 0) return { decided: decidedError, restated: restatements };
  const reason = `${decidedError.reason} A close on a day without a session cannot be restated.`;
  return { decided: { ...decidedError, decision: 'announced', reason }, restated: restatements };
}

/**
 * Returns the publication request that a policy requires. Closes within the policy's window are restated, with the
 * reason of the policy unless the request has one.
 */
function createTreatedRequest(request: PublishRequest, treatment: ErrorTreatment | undefined): PublishRequest {
  if (treatment === undefined) return request;
  const { decision, reason } = treatment.decided;
  return decision === 'restated' ? { ...request, restate: true, reason: request.reason ?? reason } : request;
}

/** Error before it is numbered. */
type NewError = Omit<PublishedError, 'seq'>;

interface TreatedErrors extends Omit<DifferingCloses, 'disagreements'> {
  readonly disagreements: readonly Disagreement[];
  readonly treatment: ErrorTreatment | undefined;
  readonly request: PublishRequest;
}

interface RegisterTerms {
  readonly indexId: string;
  readonly runId: string;
  readonly restated: number;
  readonly at: string;
  readonly by: Authorship;
}

/** Returns the register entry for a publication. Returns null if the run agrees with the published entries. */
function createLevelError(
  { disagreements: allDisagreements, treatment, request, ...pair }: TreatedErrors,
  terms: RegisterTerms,
): NewError | null {
  if (allDisagreements.length === 0) return null;
  const differingCloses = { ...pair, disagreements: allDisagreements };
  const { indexId, runId, restated, at, by } = terms;
  // Without a policy, this statement is reached only if a person restates closes.
  const decision = treatment?.decided.decision ?? 'restated';
  const reason = treatment?.decided.reason ?? request.reason!;
  const [first, last] = [allDisagreements[0]!.date, allDisagreements.at(-1)!.date];
  const { largest } = measureDisagreements(allDisagreements, pair.closes, pair.entriesInForce);
  // A policy restates closes from the first material difference on. Earlier closes keep their entries.
  const disagreements = decision === 'restated' && treatment !== undefined ? treatment.restated : allDisagreements;
  const unchangedCount =
    disagreements.length - measureDisagreements(disagreements, pair.closes, pair.entriesInForce).levels_changed;
  const span = { first: disagreements[0]!.date, last: disagreements.at(-1)!.date };
  return {
    index_id: indexId,
    at,
    author: by.author,
    decision,
    policy: (treatment && request.error_policy) ?? null,
    first,
    last,
    dates: allDisagreements.length,
    material_from: treatment?.decided.materialFrom ?? null,
    restated,
    largest,
    run_id: runId,
    reason,
    notice: formatNotice({ indexId, decision, ...span, same: unchangedCount, largest, reason }),
    digest: computeDigest(differingCloses),
  };
}

/** Values of a session that was not published. */
const ABSENT_CLOSE = { price: null, total: null, net: null, composition_hash: null };

/**
 * Returns a digest of the figures that differ. It does not depend on the run that produced them, nor on later closes.
 */
function computeDigest({ disagreements, closes, entriesInForce }: DifferingCloses): string {
  const pairs = disagreements.map(({ date, position }) => {
    const { price, total, net, composition_hash } = entriesInForce.get(date) ?? ABSENT_CLOSE;
    if (position === null) return [date, [price, total, net, composition_hash], null];
    const run = [closes.price[position], closes.total[position], closes.net[position]];
    return [date, [price, total, net, composition_hash], [...run, closes.composition_hash[position]]];
  });
  return createHash('sha256').update(toCanonicalJson(pairs)).digest('hex');
}

function formatNotice({
  indexId,
  decision,
  first,
  last,
  same,
  largest,
  reason,
}: Pick<NewError, 'decision' | 'first' | 'last' | 'largest' | 'reason'> & {
  readonly indexId: string;
  /** Number of closes whose levels differ at most by rounding. */
  readonly same: number;
}): string {
  const isSingle = first === last;
  const datesText = isSingle ? `the close of ${first}` : `closes from ${first} to ${last}`;
  const [were, differ, stand] = isSingle ? ['was', 'differs', 'stands'] : ['were', 'differ', 'stand'];
  const kindText = {
    restated: `${indexId}: ${datesText} ${were} published again.`,
    announced: `${indexId}: ${datesText} ${were} wrong and ${stand} as published. Later closes are correct.`,
    left: `${indexId}: ${datesText} ${differ} immaterially and ${stand} as published.`,
  }[decision];
  if (largest === null) return `${kindText} ${reason}`;
  const sizeText = `Largest change: ${largest.variant} return level of ${largest.date} from ${roundShown(largest.published)} to ${roundShown(largest.run)}.`;
  const equalLevels = same === 0 ? '' : ` The levels of ${same} of them are the same within rounding.`;
  return `${kindText} ${sizeText}${equalLevels} ${reason}`;
}

/** Rounds a level to eight significant digits. A difference of a ten-thousandth of a basis point remains visible. */
const roundShown = (level: number | null): number | null => level && Number(level.toPrecision(8));

const KIND = 'publication-error';

/**
 * Returns the reason to add to the first new close if earlier closes differ but are not restated. Returns null if the
 * register already contains the difference.
 */
async function readCorrection(
  reader: Pick<DocumentReader, 'get' | 'lastNumber'>,
  error: NewError | null,
): Promise<string | null> {
  if (error === null || error.decision === 'restated' || (await isRegistered(reader, error))) return null;
  return error.notice;
}

/**
 * Returns true if the last registered error of an index has the same figures and the same decision. A restatement
 * always counts as new.
 */
async function isRegistered(
  reader: Pick<DocumentReader, 'get' | 'lastNumber'>,
  { index_id: indexId, digest, decision }: Pick<NewError, 'index_id' | 'digest' | 'decision'>,
): Promise<boolean> {
  if (decision === 'restated') return false;
  const last = await reader.lastNumber(KIND, indexId);
  const error = last > 0 ? await readError(reader, indexId, last) : undefined;
  return error?.digest === digest && error.decision === decision;
}

/** Adds an error to the register of its index, unless the last registered error has the same figures and decision. */
async function registerError(tx: DocumentTransaction, error: NewError): Promise<void> {
  if (await isRegistered(tx, error)) return;
  const seq = (await tx.lastNumber(KIND, error.index_id)) + 1;
  await tx.put(KIND, formatNumberedId(error.index_id, seq), { seq, ...error } satisfies PublishedError);
}

export async function listRegisteredErrors(
  reader: Pick<DocumentReader, 'get' | 'lastNumber'>,
  indexId: string,
  limit: number,
): Promise<readonly PublishedError[]> {
  const last = await reader.lastNumber(KIND, indexId);
  const numbers = Array.from({ length: Math.min(limit, last) }, (_, k) => last - k);
  const storedErrors = await Promise.all(numbers.map((seq) => readError(reader, indexId, seq)));
  return storedErrors.filter((error) => error !== undefined);
}

async function readError(
  reader: Pick<DocumentReader, 'get'>,
  indexId: string,
  seq: number,
): Promise<PublishedError | undefined> {
  const storedDocument = await reader.get(KIND, formatNumberedId(indexId, seq));
  return parseStored(storedDocument, PublishedError);
}
