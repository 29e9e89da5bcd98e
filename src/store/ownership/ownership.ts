import { randomUUID, createHash, randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  createFolderCalls,
  type DatabaseIdentity,
  formatMarker,
  makeFolder,
  MARKER,
  parseMark,
  removeFiles,
  type StoreMark,
  type StoreOwner,
  syncFolder,
  writeFlushed,
} from '../artifacts/durable-files.js';
import type {
  ArtifactHealth,
  ArtifactStore,
  DocumentEngine,
  DocumentReader,
  DocumentStore,
  DocumentTransaction,
} from '../port.js';
import { StartRefusal, EXIT_CONFIGURATION, EXIT_TEMPORARY } from '../start-refusal.js';
import { type ArtifactLocation, formatLocationSubject, describeLocation } from './artifact-location.js';
import { isStoreUnavailable, Refusal } from '#domain/base/refusals.js';
import {
  findCode,
  isUnavailable as isArtifactUnavailable,
  refuseDamagedArtifact,
  ArtifactStoreFault,
  createArtifactName,
  ignoreAbsentFile,
} from '../artifacts/artifact.js';
import { Buffer } from 'node:buffer';
import { readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { S3RetryLimits } from '../s3/client.js';

/**
 * Lease of a database on its artifact store. A token is renewed in the database and in the artifact store. A copy of
 * the database does not receive the renewals. It finds an unknown token and stops. All deletions check `isConfirmed`
 * first.
 */
export interface StoreOwnership {
  /** Returns true if the database has recently renewed the lease, and this process has seen it since its start. */
  isConfirmed(): boolean;
  /** Returns true if this process renews the lease for the whole cluster. */
  isHolder(): boolean;
  close(): void;
}

/** Ownership of a process that removes nothing from an artifact store. */
export const noOwnership: StoreOwnership = { isConfirmed: () => false, isHolder: () => false, close() {} };

interface OwnershipOptions {
  /** Identity of the database. Its name and server distinguish it from logical copies. */
  readonly identity: DatabaseIdentity;
  /** Called once with the reason when the database no longer owns the artifact store. The process must then end. */
  readonly onLost: (refusal: StartRefusal) => void;
  readonly times?: OwnershipTimes;
}

interface OwnershipTimes {
  /** Interval between two renewals. Processes that do not renew check the lease at this interval. */
  readonly renewMs: number;
  /**
   * Time without a renewal after which another process renews. It exceeds several renewal intervals, so that the
   * original of a copied database is noticed.
   */
  readonly observeMs: number;
  /**
   * Delay before an unknown token is read again. A renewal may have happened between the reads of marker and record.
   */
  readonly repeatMs: number;
}

const OWNERSHIP_TIMES: OwnershipTimes = { renewMs: 10_000, observeMs: 30_000, repeatMs: 1000 };
/** Number of renewal intervals without an answer. Afterwards, the ownership is no longer confirmed. */
const CONFIRMED_RENEWALS = 3;
/**
 * Number of earlier tokens that are recorded. They are ten minutes of renewals, which exceeds the possible delay of a
 * write to the artifact store.
 */
const EARLIER_TOKENS_MAX = 60;
/** Maximum wait for an object store. */
const RETRY_LIMITS = { patienceMs: 5000, answerMs: 5000 };

/**
 * Takes part in the lease of a database on its artifact store. Ends when it is closed.
 * @throws StartRefusal 78 if another database owns the artifact store
 */
export async function openOwnership(
  documents: DocumentEngine,
  place: ArtifactLocation,
  { identity, onLost, times = OWNERSHIP_TIMES }: OwnershipOptions,
): Promise<StoreOwnership> {
  const marker = await openMarker(place, RETRY_LIMITS);
  const lease: Lease = { documents, place, marker, identity, times, self: randomUUID() };
  let observedToken: ObservedToken = { token: null, at: performance.now() };
  let confirmedAt = -Infinity;
  let isHolder = false;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;

  async function checkOwnership(): Promise<void> {
    const nowMs = performance.now();
    const result = await findAgreedState(lease);
    if (result === undefined) return; // the artifact store is unavailable, which its watch reports
    const { ownership } = result;
    isHolder = ownership?.holder === lease.self;
    if (observedToken.token !== null && ownership?.token !== observedToken.token) confirmedAt = nowMs;
    if (ownership?.token !== observedToken.token) observedToken = { token: ownership?.token ?? null, at: nowMs };
    // The artifact store has no owner yet, or the first renewal was interrupted.
    const isUnowned = ownership?.token == null;
    if (!isUnowned && nowMs - observedToken.at < (isHolder ? RENEWAL_FRACTION * times.renewMs : times.observeMs))
      return;
    const token = await renew(lease, result);
    if (token === undefined) return;
    observedToken = { token, at: performance.now() };
    confirmedAt = observedToken.at;
    isHolder = true;
  }

  function scheduleCheck(): void {
    if (isClosed) return;
    timer = setTimeout(() => void checkOwnership().then(scheduleCheck, recordFailure), times.renewMs);
    timer.unref();
  }

  function recordFailure(thrown: unknown): void {
    if (isClosed) return;
    if (!(thrown instanceof StartRefusal)) return scheduleCheck(); // the database or the artifact store is temporarily unavailable
    isClosed = true;
    confirmedAt = -Infinity;
    onLost(thrown);
  }

  await checkOwnership();
  scheduleCheck();
  return {
    isConfirmed: () => performance.now() - confirmedAt < CONFIRMED_RENEWALS * times.renewMs,
    isHolder: () => isHolder,
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

/**
 * Fraction of the renewal interval after which the lease is renewed. It is below 1, because a check may be slightly
 * early.
 */
const RENEWAL_FRACTION = 0.9;

interface ObservedToken {
  readonly token: string | null;
  readonly at: number;
}

interface Lease {
  readonly documents: DocumentEngine;
  readonly place: ArtifactLocation;
  readonly marker: StoreMarker;
  readonly identity: DatabaseIdentity;
  readonly times: OwnershipTimes;
  /** Id of this process in the lease. */
  readonly self: string;
}

/**
 * Returns the record of the database if it is consistent with the marker of the artifact store.
 * @returns undefined if there is no marker or the database has recorded no store
 * @throws StartRefusal 78 if another database owns the artifact store
 */
async function findAgreedState(lease: Lease): Promise<RecordedStore | undefined> {
  const { documents, marker, times } = lease;
  for (let isAgain = false; ; isAgain = true) {
    const mark = await marker.read();
    const recordedStore = await readRecordedStore(documents); // read after the marker, so that the marker's token is never newer than the record
    if (mark === undefined || recordedStore === undefined || mark.storeId !== recordedStore.store_id) return undefined;
    const fault = findOwnerFault(lease, mark.owner, recordedStore.ownership);
    if (fault === undefined) {
      await restoreToken(lease, mark, recordedStore);
      return recordedStore;
    }
    if (isAgain) throw createMismatchRefusal(fault);
    await sleep(times.repeatMs);
  }
}

/** Returns the reason why an artifact store does not belong to the database. Returns undefined if it does. */
function findOwnerFault(
  { place, identity }: Lease,
  owner: StoreOwner | undefined,
  recorded: RecordedOwnership | undefined,
): string | undefined {
  if (owner === undefined) return undefined;
  const isOther = identity.database !== owner.database || isOtherSystem(identity, owner);
  const knownTokens = recorded === undefined ? [] : [recorded.token, recorded.next, ...recorded.earlier];
  if (!isOther && knownTokens.includes(owner.token)) return undefined;
  const [description, theirs] = [identity, owner].map(describeDatabase);
  const relation = isOther
    ? `belongs to ${theirs}; this is ${description}`
    : `was renewed by another copy of ${description}`;
  return `${formatLocationSubject(place)} ${relation}. Give this database a separate place (divisor adopt --new-place URL), take the place over if no service uses the other database (divisor adopt --take-over), or serve read-only (--read-only on).`;
}

const isOtherSystem = (databaseIdentity: DatabaseIdentity, otherDatabaseIdentity: DatabaseIdentity): boolean =>
  databaseIdentity.system !== null &&
  otherDatabaseIdentity.system !== null &&
  databaseIdentity.system !== otherDatabaseIdentity.system;

const describeDatabase = ({ system, database }: DatabaseIdentity): string =>
  `the database ${database} of the PostgreSQL system ${system ?? 'unknown'}`;

/** Writes the current token to the marker again, after a delayed write of an earlier token. */
async function restoreToken({ marker, identity }: Lease, mark: StoreMark, { ownership }: RecordedStore): Promise<void> {
  const { token, next, earlier } = ownership ?? { token: null, next: null, earlier: [] };
  if (mark.owner === undefined || token === null || next !== null) return;
  // The previous token may remain if a renewal happened between the two reads.
  if (earlier.indexOf(mark.owner.token) > 0) await marker.write({ ...mark, owner: { ...identity, token } });
}

/**
 * Renews the lease. Records the next token, writes it to the marker, and then makes it the current token.
 * @returns the token; undefined if another process has renewed the lease meanwhile
 */
async function renew(
  { documents, marker, identity, self }: Lease,
  recordedStore: RecordedStore,
): Promise<string | undefined> {
  const next = await documents.transaction(async (tx) => {
    const store = await readRecordedStore(tx);
    if (store === undefined || store.ownership?.token !== recordedStore.ownership?.token) return undefined;
    if (store.ownership?.next != null) return store.ownership.next; // completes an interrupted renewal
    const { token = null, earlier = [] } = store.ownership ?? {};
    const ownership = { token, next: randomUUID(), earlier, holder: self };
    await recordStore(tx, { ...store, ownership });
    return ownership.next;
  });
  if (next === undefined) return undefined;
  await marker.write({ storeId: recordedStore.store_id, owner: { ...identity, token: next } });
  await documents.transaction(async (tx) => {
    const store = await readRecordedStore(tx);
    if (store?.ownership?.next !== next) return;
    const { token, earlier } = store.ownership;
    const earlierTokens = [...(token === null ? [] : [token]), ...earlier].slice(0, EARLIER_TOKENS_MAX);
    await recordStore(tx, { ...store, ownership: { token: next, next: null, earlier: earlierTokens, holder: self } });
  });
  return next;
}

/** Returns true for the one process of a cluster that removes orphaned artifacts. */
export const mayRemoveOrphans = (ownership: Pick<StoreOwnership, 'isConfirmed' | 'isHolder'>): boolean =>
  ownership.isConfirmed() && ownership.isHolder();

/**
 * Wraps an artifact store so that nothing is removed until its ownership is confirmed. Otherwise a copied database
 * could remove files of its original. A later sweep of one process of the cluster removes unreferenced artifacts that
 * remain.
 */
export function createOwnedArtifacts(
  artifacts: ArtifactStore,
  ownership: Pick<StoreOwnership, 'isConfirmed' | 'isHolder'>,
): ArtifactStore {
  return {
    ...artifacts,
    ...(artifacts.forRequests && { forRequests: createOwnedArtifacts(artifacts.forRequests, ownership) }),
    async remove(names) {
      if (ownership.isConfirmed()) await artifacts.remove(names);
    },
    async discard(names) {
      if (ownership.isConfirmed()) await artifacts.discard(names);
    },
    async sweep(referenced, options) {
      const isReferenced = (): boolean => mayRemoveOrphans(ownership) && (options?.isWanted?.() ?? true);
      return isReferenced() ? artifacts.sweep(referenced, { ...options, isWanted: isReferenced }) : 0;
    },
  };
}

/** Periodic check of an artifact store. Requests therefore need not check it. */
export interface StoreWatch extends ArtifactHealth {
  close(): void;
}

/** Intervals between checks. The first is for a healthy artifact store, the second for a faulty one. */
const CHECK_INTERVAL_MS = 5000;
const FAULT_CHECK_MS = 1000;
/** Time without an answer after which a check counts as failed. The next check waits for the end of the failed one. */
const ANSWER_MS = 5000;

interface StoreWatchOptions {
  readonly storeId: string;
  /** Called with the fault when one appears. Called with undefined when it is resolved. */
  readonly onChange?: ((fault: string | undefined) => void) | undefined;
  /** Called with a warning before a failure that is expected. Called with undefined when it is resolved. */
  readonly onWarning?: ((warning: string | undefined) => void) | undefined;
}

export async function watchStore(
  place: ArtifactLocation,
  { storeId, onChange = () => {}, onWarning = () => {} }: StoreWatchOptions,
): Promise<StoreWatch> {
  const marker = await openMarker(place, { patienceMs: 0, answerMs: ANSWER_MS });
  let fault: string | undefined;
  let warning: string | undefined;
  /** True if a call failed since the artifact store was last writable. */
  let isSuspect = false;
  let pendingLook: Promise<string | undefined> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  function reportFault(found: string | undefined): void {
    const isNews = (found === undefined) !== (fault === undefined);
    fault = found;
    if (isNews && !isClosed) onChange(found);
    const newWarning = marker.warning();
    const isWarning = (newWarning === undefined) !== (warning === undefined);
    warning = newWarning;
    if (isWarning && !isClosed) onWarning(newWarning);
  }

  function checkStore(): Promise<void> {
    pendingLook ??= readFault(storeId, { marker, isProbed: isSuspect }).finally(() => (pendingLook = undefined));
    const answerTimeout = sleep(ANSWER_MS, `${FAULT_SUBJECT} does not answer.`, { ref: false });
    return Promise.race([pendingLook, answerTimeout]).then((found) => {
      reportFault(found);
      if (found === undefined) isSuspect = false;
    });
  }

  function scheduleCheck(): void {
    clearTimeout(timer);
    if (isClosed) return;
    timer = setTimeout(
      () => void checkStore().finally(scheduleCheck),
      isSuspect || fault ? FAULT_CHECK_MS : CHECK_INTERVAL_MS,
    );
    timer.unref();
  }

  scheduleCheck();
  return {
    fault: () => fault,
    async explain(thrown) {
      if (isStoreUnavailable(thrown)) {
        isSuspect = true;
        if (fault === undefined) reportFault(thrown.message);
        scheduleCheck();
        return thrown;
      }
      if (thrown instanceof Refusal && thrown.code !== 'DOCUMENT_UNREADABLE') return thrown;
      await checkStore();
      scheduleCheck();
      return fault === undefined ? thrown : new Refusal('STORE_UNAVAILABLE', fault, null, { cause: thrown });
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

interface FaultCheck {
  readonly marker: StoreMarker;
  /** True to test writing as well. */
  readonly isProbed: boolean;
}

/** Returns the current fault of an artifact store. Returns undefined if it is healthy. Never rejects. */
async function readFault(storeId: string, { marker, isProbed }: FaultCheck): Promise<string | undefined> {
  try {
    const result = (await marker.read())?.storeId;
    if (result === undefined) return `${FAULT_SUBJECT} is unavailable: there is no marker of the store ${storeId}.`;
    if (result !== storeId) return `${FAULT_SUBJECT} is the store ${result}; the database names the store ${storeId}.`;
    if (isProbed) await marker.probe();
    return undefined;
  } catch (thrown) {
    return thrown instanceof Refusal
      ? thrown.message
      : `${FAULT_SUBJECT} cannot be used: ${findCode(thrown) ?? thrown}.`;
  }
}

/**
 * Subject of faults for clients. It does not contain the location of the artifact store, which only the log contains.
 */
const FAULT_SUBJECT = 'The results storage';

/**
 * Wraps an artifact store that may become unavailable. Missing files are then reported as STORE_UNAVAILABLE and not as
 * damage. While the store is unavailable, writes fail at once and reads use the local cache. Files are not removed; a
 * later sweep of unreferenced files removes them.
 */
export function watchArtifacts(artifacts: ArtifactStore, health: ArtifactHealth): ArtifactStore {
  function assertWell(): void {
    const fault = health.fault();
    if (fault !== undefined) throw new Refusal('STORE_UNAVAILABLE', fault);
  }

  async function explainFailure<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (thrown) {
      throw await health.explain(thrown);
    }
  }

  async function writeText<T>(work: () => Promise<T>): Promise<T> {
    assertWell();
    return explainFailure(work);
  }

  return {
    health,
    ...(artifacts.forRequests && { forRequests: watchArtifacts(artifacts.forRequests, health) }),
    destination: artifacts.destination,
    newName: artifacts.newName,
    write: (bytes, sha256) => writeText(() => artifacts.write(bytes, sha256)),
    writeFile: (path) => writeText(() => artifacts.writeFile(path)),
    link: (files) => writeText(() => artifacts.link(files)),
    settle: () => writeText(() => artifacts.settle()),
    stream: (ref, range) => explainFailure(() => artifacts.stream(ref, range)),
    read: (ref, range) => explainFailure(() => artifacts.read(ref, range)),
    file: (ref) => explainFailure(() => artifacts.file(ref)),
    claim: (bytes) => writeText(() => artifacts.claim(bytes)),
    async isIntact(ref) {
      if (await artifacts.isIntact(ref)) return true;
      const refusal = refuseDamagedArtifact(ref.name);
      const cause = await health.explain(refusal);
      if (cause === refusal) return false;
      throw cause;
    },
    async damaged(files) {
      if (health.fault() !== undefined) return new Set();
      try {
        const result = await artifacts.damaged(files);
        const [first] = result;
        if (first === undefined) return result;
        // Files that are missing because the store has just become unavailable are not damaged.
        const refusal = refuseDamagedArtifact(first);
        return (await health.explain(refusal)) === refusal ? result : new Set();
      } catch (thrown) {
        if (isArtifactUnavailable(thrown)) return new Set();
        throw thrown;
      }
    },
    async remove(names) {
      if (health.fault() !== undefined) return;
      await artifacts.remove(names).catch((thrown: unknown) => {
        if (!isArtifactUnavailable(thrown)) throw thrown;
      });
    },
    async discard(names) {
      if (health.fault() !== undefined) return;
      await artifacts.discard(names).catch((thrown: unknown) => {
        if (!isArtifactUnavailable(thrown)) throw thrown;
      });
    },
    restore: (names) => writeText(() => artifacts.restore(names)),
    async sweep(referenced, options) {
      assertWell();
      return artifacts.sweep(referenced, options);
    },
  };
}

/** Artifact store that a database has just claimed. */
export interface StoreClaim {
  readonly place: string;
  readonly storeId: string;
  /** True if the folder did not exist and was created. */
  readonly isMade: boolean;
}

/** Maximum wait for an object store at a start. It is short, because the supervisor retries the start. */
const START_RETRY_LIMITS = { patienceMs: 5000, answerMs: 10_000 };
/**
 * Number of artifacts of a database that are searched for. The search is in a location that the database has not
 * recorded yet.
 */
const SAMPLE_SIZE = 20;

/**
 * Checks that the artifact store belongs to the database of the process and is writable. If the database has no
 * artifact store yet, it claims the one of the first process that starts.
 * @param onClaim called with a newly claimed artifact store
 * @returns the id of the store
 * @throws StartRefusal 75 if the artifact store is unavailable, 78 if it belongs to another database or is unusable
 */
export function claimStore(
  documents: DocumentEngine,
  place: ArtifactLocation,
  onClaim: (claim: StoreClaim) => void = () => {},
): Promise<string> {
  return convertFailures(place, async () => {
    const marker = await openMarker(place, START_RETRY_LIMITS);
    const storeId = await claimRecorded(documents, place, { marker, onClaim });
    await marker.probe();
    return storeId;
  });
}

/**
 * Checks that the artifact store of a command belongs to the database. Changes nothing.
 * @returns the id of the store; undefined if the database has recorded none
 * @throws StartRefusal 75, 78
 */
export function assertStore(
  documents: Pick<DocumentReader, 'get'>,
  place: ArtifactLocation,
): Promise<string | undefined> {
  return convertFailures(place, async () => {
    const recordedStore = await readRecordedStore(documents);
    if (recordedStore?.is_marked === true)
      assertSame(place, recordedStore.store_id, (await (await openMarker(place, START_RETRY_LIMITS)).read())?.storeId);
    return recordedStore?.store_id;
  });
}

/** Writes, reads and removes a test object in an artifact store. @throws StartRefusal 75, 78 */
export function probeStore(place: ArtifactLocation): Promise<void> {
  return convertFailures(place, async () => (await openMarker(place, START_RETRY_LIMITS)).probe());
}

interface ClaimOptions {
  readonly marker: StoreMarker;
  readonly onClaim: (claim: StoreClaim) => void;
}

async function claimRecorded(
  documents: DocumentEngine,
  place: ArtifactLocation,
  { marker, onClaim }: ClaimOptions,
): Promise<string> {
  const recordedStore = (await readRecordedStore(documents)) ?? (await recordClaimedStore(documents, place, marker));
  const { store_id: storeId } = recordedStore;
  const result = (await marker.read())?.storeId;
  // The process that recorded the store may have ended before it wrote the marker.
  if (recordedStore.is_marked || result !== undefined) assertSame(place, storeId, result);
  else onClaim({ place: describeLocation(place), storeId, isMade: await marker.write({ storeId }) });
  if (!recordedStore.is_marked)
    await documents.transaction(async (tx) => {
      // Another process may have claimed the store meanwhile, and own it now.
      await recordStore(tx, { ...((await readRecordedStore(tx)) ?? recordedStore), is_marked: true });
    });
  return storeId;
}

/**
 * Records an artifact store for a database that has none. Does nothing if another process has recorded one meanwhile.
 */
async function recordClaimedStore(
  documents: DocumentEngine,
  place: ArtifactLocation,
  marker: StoreMarker,
): Promise<RecordedStore> {
  const result = (await marker.read())?.storeId;
  if (result === undefined) await assertHolds(documents, place, marker);
  return documents.transaction(async (tx) => {
    const recordedStore = await readRecordedStore(tx);
    if (recordedStore !== undefined) return recordedStore;
    if (result !== undefined)
      throw createMismatchRefusal(
        `${formatLocationSubject(place)} is the store ${result} of another database; give this database a separate place, or remove the ${MARKER} of that one.`,
      );
    const ownRecordedStore: RecordedStore = { store_id: randomUUID(), is_marked: false };
    await recordStore(tx, ownRecordedStore);
    return ownRecordedStore;
  });
}

/**
 * Checks that the location contains artifacts of the database. Only needed if the database is from a release without
 * markers.
 */
async function assertHolds(documents: DocumentEngine, place: ArtifactLocation, marker: StoreMarker): Promise<void> {
  const names = [...(await documents.referencedArtifacts())];
  for (const name of names.slice(0, SAMPLE_SIZE)) if (await marker.has(name)) return;
  if (names.length > 0)
    throw createMismatchRefusal(
      `${formatLocationSubject(place)} has none of the ${names.length} files of results that the database names: it is the wrong place, or is not mounted.`,
    );
}

function assertSame(place: ArtifactLocation, storeId: string, found: string | undefined): void {
  if (found === storeId) return;
  const stateText =
    found === undefined ? `has no ${MARKER}, does not exist or is not mounted` : `is the store ${found}`;
  throw createMismatchRefusal(`${formatLocationSubject(place)} ${stateText}; the database names the store ${storeId}.`);
}

/** System error codes of failures that require a change of settings. */
const SETTING_CODES = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST']);

/** Runs work on an artifact store. Converts its errors to the refusal of a start. */
async function convertFailures<T>(place: ArtifactLocation, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof StartRefusal) throw cause;
    const code = findCode(cause);
    const isStore = isStoreUnavailable(cause);
    if (!isStore && !(cause instanceof Error && 'syscall' in cause)) throw cause;
    const status =
      cause instanceof ArtifactStoreFault || SETTING_CODES.has(code ?? '') ? EXIT_CONFIGURATION : EXIT_TEMPORARY;
    const reason = isStore ? cause.message : code === 'ENOENT' ? 'it does not exist.' : `${code}.`;
    throw new StartRefusal(status, `${formatLocationSubject(place)} cannot be used: ${reason}`, { cause });
  }
}

export interface AdoptOptions {
  readonly identity: DatabaseIdentity;
  /**
   * Time for which the artifact store is watched for renewals by another database. It is at least two renewal
   * intervals.
   */
  readonly observeMs?: number;
}

const OBSERVE_MS = 25_000;
const HOLDER_NAME = 'adopt';

/**
 * Makes a database the owner of its recorded artifact store, after a copy or the original of the database has renewed
 * the lease. Nobody may use the other database any longer.
 * @returns the id of the store
 * @throws StartRefusal 75 while another database renews its lease, 78 if its marker is missing or names another store
 */
export async function takeOverStore(
  documents: DocumentStore,
  place: ArtifactLocation,
  { identity, observeMs = OBSERVE_MS }: AdoptOptions,
): Promise<string> {
  const marker = await openMarker(place, START_RETRY_LIMITS);
  const before = await marker.read();
  const recordedStore = await readRecordedStore(documents);
  if (before === undefined || recordedStore === undefined || before.storeId !== recordedStore.store_id)
    throw createMismatchRefusal(
      `${formatLocationSubject(place)} ${before === undefined ? 'has no marker' : `is the store ${before.storeId}`}; the database names ${recordedStore === undefined ? 'no store' : `the store ${recordedStore.store_id}`}.`,
    );
  await sleep(observeMs);
  const after = await marker.read();
  if (after?.owner?.token !== before.owner?.token)
    throw new StartRefusal(
      EXIT_TEMPORARY,
      `${formatLocationSubject(place)} was renewed during the check: a service still uses it with another database. Stop that service, or use --new-place.`,
    );
  const next = randomUUID();
  const ownership = { token: before.owner?.token ?? null, next, earlier: [], holder: HOLDER_NAME };
  await documents.transaction((tx) => recordStore(tx, { ...recordedStore, ownership }));
  await marker.write({ ...before, owner: { ...identity, token: next } });
  await documents.transaction((tx) =>
    recordStore(tx, { ...recordedStore, ownership: { ...ownership, token: next, next: null } }),
  );
  return recordedStore.store_id;
}

/**
 * Returns the store id of a database in a new location. The id is the same if an adoption was interrupted and is
 * repeated.
 */
export function createStoreId(from: string, identity: DatabaseIdentity, place: string): string {
  const source = JSON.stringify([from, identity.system, identity.database, place]);
  return createHash('sha256').update(source).digest('hex').slice(0, 32);
}

/**
 * Marks a new, empty location as an artifact store. Accepts the marker of an interrupted adoption. @throws StartRefusal
 * 78
 */
export async function markNewStore(place: ArtifactLocation, storeId: string): Promise<void> {
  const marker = await openMarker(place, START_RETRY_LIMITS);
  const result: StoreMark | undefined = await marker.read();
  if (result?.storeId === storeId) return;
  if (result !== undefined)
    throw createMismatchRefusal(
      `${formatLocationSubject(place)} is already the store ${result.storeId}; choose an empty folder or prefix.`,
    );
  await marker.write({ storeId });
  await marker.probe();
}

/** Records the id of the artifact store to which the results of a database were copied. */
export async function recordNewStore(documents: DocumentStore, storeId: string): Promise<void> {
  await documents.transaction((tx) => recordStore(tx, { store_id: storeId, is_marked: true }));
}

/** Marker of an artifact store, with the basic operations that a start needs. */
interface StoreMarker {
  /** Returns the id and the owner of the store; undefined without a marker. */
  read(): Promise<StoreMark | undefined>;
  /** Replaces the marker. @returns true if the folder did not exist and was created */
  write(mark: StoreMark): Promise<boolean>;
  /** Returns true if an artifact exists. */
  has(name: string): Promise<boolean>;
  /** Writes, reads and removes a test object. */
  probe(): Promise<void>;
  /** Returns a warning before a failure of the artifact store that is expected. Returns undefined if there is none. */
  warning(): string | undefined;
}

/** Opens the marker. @param patience maximum wait for an object store */
async function openMarker(place: ArtifactLocation, patience: S3RetryLimits): Promise<StoreMarker> {
  if (place.kind === 'folder') return createFolderMarker(place.folder);
  const { createS3Client } = await import('../s3/client.js'); // loaded on demand
  const client = createS3Client(place.access, patience);
  const put = (name: string, content: string) =>
    client.put(name, Buffer.from(content), createHash('sha256').update(content).digest('hex'));
  const read = (name: string): Promise<string | undefined> => client.get(name, ({ body }) => text(body));
  return {
    async read() {
      const result = await read(MARKER);
      return result === undefined ? undefined : parseMark(result);
    },
    async write(mark) {
      await put(MARKER, formatMarker(mark));
      return false;
    },
    has: async (name) => (await client.get(name, async () => true)) === true,
    probe: () => probeAccess({ put, read, remove: client.remove }),
    warning: client.renewalFault,
  };
}

function createFolderMarker(folder: string): StoreMarker {
  const getPath = (name: string): string => join(folder, name);
  const call = createFolderCalls(folder);
  const read = (name: string): Promise<string | undefined> =>
    call(() => readFile(getPath(name), 'utf8')).catch(ignoreAbsentFile);
  return {
    async read() {
      const text = await read(MARKER);
      return text === undefined ? undefined : parseMark(text);
    },
    async write(mark) {
      const isNew = await call(() => makeFolder(folder));
      const draftPath = getPath(`${MARKER}.${randomBytes(8).toString('hex')}`);
      await writeFlushed(draftPath, Buffer.from(formatMarker(mark)), call);
      await call(() => rename(draftPath, getPath(MARKER)));
      await syncFolder(folder, call);
      return isNew;
    },
    has: async (name) => (await call(() => stat(getPath(name))).catch(ignoreAbsentFile)) !== undefined,
    probe: () =>
      probeAccess({
        put: (name, text) => writeFlushed(getPath(name), Buffer.from(text), call),
        read,
        remove: (name) => removeFiles(folder, [name], call),
      }),
    warning: () => undefined,
  };
}

interface ProbedStore {
  put(name: string, text: string): Promise<void>;
  read(name: string): Promise<string | undefined>;
  remove(name: string): Promise<void>;
}

async function probeAccess({ put, read, remove }: ProbedStore): Promise<void> {
  const name = createArtifactName(); // garbage collection removes a remaining test object
  const text = randomBytes(512).toString('hex');
  await put(name, text);
  const result = await read(name);
  await remove(name);
  if (result !== text) throw new ArtifactStoreFault('The results storage returns other bytes than were written.');
}

/** Record of a database about its artifact store. */
interface RecordedStore {
  readonly store_id: string;
  /** True after the marker file has been written to the artifact store. It is never created again afterwards. */
  readonly is_marked: boolean;
  /** Ownership of the store. It is absent until a process has acquired it, as in databases of version 0.2.0. */
  readonly ownership?: RecordedOwnership | undefined;
}

/**
 * Lease on an artifact store. Its token changes in the store and in this record, so that a copy of the database becomes
 * outdated.
 */
interface RecordedOwnership {
  /** Token in the marker since the last renewal. */
  readonly token: string | null;
  /** Pending token; null between renewals. */
  readonly next: string | null;
  /** Earlier tokens, newest first. A delayed write may restore one of them. */
  readonly earlier: readonly string[];
  /** Process that renews the lease. */
  readonly holder: string;
}

const DOCUMENT_KIND = 'artifact-store';
const DOCUMENT_ID = 'shared';

/** Returns the record. Returns undefined if there is none. @throws StartRefusal 78 if it is unreadable */
async function readRecordedStore(documents: Pick<DocumentReader, 'get'>): Promise<RecordedStore | undefined> {
  const storedDocument = await documents.get(DOCUMENT_KIND, DOCUMENT_ID);
  if (storedDocument === undefined) return undefined;
  const { store_id, is_marked, ownership } = (
    'unreadable' in storedDocument ? {} : storedDocument.body
  ) as Partial<RecordedStore>; // written only by `recordStore`
  if (typeof store_id !== 'string' || typeof is_marked !== 'boolean')
    throw createMismatchRefusal('The record of the results storage in the database cannot be read.');
  return { store_id, is_marked, ownership };
}

async function recordStore(
  tx: Pick<DocumentTransaction, 'put'>,
  { ownership, ...store }: RecordedStore,
): Promise<void> {
  await tx.put(DOCUMENT_KIND, DOCUMENT_ID, { ...store, ...(ownership && { ownership }) });
}

const createMismatchRefusal = (message: string): StartRefusal => new StartRefusal(EXIT_CONFIGURATION, message);
