import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isStoreUnavailable } from '#domain/base/refusals.js';
import { ArtifactStoreFault, findCode } from '../artifacts/artifact.js';
import { type DatabaseIdentity, MARKER, type StoreMark } from '../artifacts/folder-calls.js';
import type { DocumentEngine, DocumentReader, DocumentStore } from '../port.js';
import { EXIT_CONFIGURATION, EXIT_TEMPORARY, StartRefusal } from '../start-refusal.js';
import { type ArtifactLocation, describeLocation, formatLocationSubject } from './artifact-location.js';
import {
  createMismatchRefusal,
  openMarker,
  readRecordedStore,
  type RecordedStore,
  recordStore,
  type StoreMarker,
} from './marks.js';

/** Artifact store that a database has just claimed. */
export interface StoreClaim {
  readonly place: string;
  readonly storeId: string;
  /** True if the folder did not exist and was created. */
  readonly isMade: boolean;
}

/** Maximum wait for an object store at a start. It is short, because the supervisor retries the start. */
const RETRY_LIMITS = { patienceMs: 5000, answerMs: 10_000 };
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
    const marker = await openMarker(place, RETRY_LIMITS);
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
      assertSame(place, recordedStore.store_id, (await (await openMarker(place, RETRY_LIMITS)).read())?.storeId);
    return recordedStore?.store_id;
  });
}

/** Writes, reads and removes a test object in an artifact store. @throws StartRefusal 75, 78 */
export function probeStore(place: ArtifactLocation): Promise<void> {
  return convertFailures(place, async () => (await openMarker(place, RETRY_LIMITS)).probe());
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
  const marker = await openMarker(place, RETRY_LIMITS);
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
  const marker = await openMarker(place, RETRY_LIMITS);
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
