import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatLocationSubject, type ArtifactLocation } from './artifact-location.js';
import type { DocumentStore } from '../port.js';
import { EXIT_TEMPORARY, StartRefusal } from '../start-refusal.js';
import { openMarker } from './marker.js';
import { createMismatchRefusal, readRecordedStore, recordStore } from './recorded-store.js';
import type { DatabaseIdentity, StoreMark } from '../access/store-id.js';

export interface AdoptOptions {
  readonly identity: DatabaseIdentity;
  /**
   * Time for which the artifact store is watched for renewals by another database. It is at least two renewal
   * intervals.
   */
  readonly observeMs?: number;
}

const OBSERVE_MS = 25_000;
const RETRY_LIMITS = { patienceMs: 5000, answerMs: 10_000 };
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
