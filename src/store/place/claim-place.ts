import { randomUUID } from 'node:crypto';
import { isUnavailable } from '#domain/refusals/refusal.js';
import { describePlace, sayPlace, type ArtifactPlace } from './artifact-place.js';
import type { DocumentEngine, DocumentReader } from '../port.js';
import { EXIT_CONFIGURATION, EXIT_TEMPORARY, StartRefusal } from '../start-refusal.js';
import { openMarker, type PlaceMarker } from './marker.js';
import { codeOf, PlaceFault } from '../access/place-fault.js';
import { misfit, recordedStore, recordStore, type RecordedStore } from './recorded-store.js';
import { MARKER } from '../access/store-id.js';

/** A place that a database has just taken for its results. */
export interface PlaceClaim {
  readonly place: string;
  readonly storeId: string;
  /** Whether the folder was not there, and was made. */
  readonly isMade: boolean;
}

/** How long a start waits for an object store: its supervisor tries again. */
const PATIENCE = { patienceMs: 5000, answerMs: 10_000 };
/** Artifacts of a database that are looked for in a place that it has not named yet. */
const SAMPLE = 20;

/**
 * Lets a process pass whose place for artifacts is the one of its database, and can be written. A database that names
 * none takes the place of the first process that starts.
 * @param onClaim receives the place where it is taken now
 * @returns the id of the store
 * @throws StartRefusal 75 when the place cannot be reached, 78 when it is another one or cannot be used
 */
export function claimPlace(
  documents: DocumentEngine,
  place: ArtifactPlace,
  onClaim: (claim: PlaceClaim) => void = () => {},
): Promise<string> {
  return refusing(place, async () => {
    const marker = await openMarker(place, PATIENCE);
    const storeId = await claimed(documents, place, { marker, onClaim });
    await marker.probe();
    return storeId;
  });
}

/**
 * Lets a command pass whose place is the one of the database, and changes nothing.
 * @returns the id of the store; undefined while the database names none
 * @throws StartRefusal 75, 78
 */
export function assertPlace(documents: Pick<DocumentReader, 'get'>, place: ArtifactPlace): Promise<string | undefined> {
  return refusing(place, async () => {
    const recorded = await recordedStore(documents);
    if (recorded?.is_marked === true)
      assertSame(place, recorded.store_id, (await (await openMarker(place, PATIENCE)).read())?.storeId);
    return recorded?.store_id;
  });
}

/** Writes, reads and removes something in a place. @throws StartRefusal 75, 78 */
export function probePlace(place: ArtifactPlace): Promise<void> {
  return refusing(place, async () => (await openMarker(place, PATIENCE)).probe());
}

interface Claiming {
  readonly marker: PlaceMarker;
  readonly onClaim: (claim: PlaceClaim) => void;
}

async function claimed(
  documents: DocumentEngine,
  place: ArtifactPlace,
  { marker, onClaim }: Claiming,
): Promise<string> {
  const recorded = (await recordedStore(documents)) ?? (await adopted(documents, place, marker));
  const { store_id: storeId } = recorded;
  const found = (await marker.read())?.storeId;
  // The process that has recorded it may have ended before it wrote the marker.
  if (recorded.is_marked || found !== undefined) assertSame(place, storeId, found);
  else onClaim({ place: describePlace(place), storeId, isMade: await marker.write({ storeId }) });
  if (!recorded.is_marked)
    await documents.transaction(async (tx) => {
      // Another process may have claimed it meanwhile, and own it by now.
      await recordStore(tx, { ...((await recordedStore(tx)) ?? recorded), is_marked: true });
    });
  return storeId;
}

/** Records a place for a database that names none yet, unless another process has done so meanwhile. */
async function adopted(documents: DocumentEngine, place: ArtifactPlace, marker: PlaceMarker): Promise<RecordedStore> {
  const found = (await marker.read())?.storeId;
  if (found === undefined) await assertHolds(documents, place, marker);
  return documents.transaction(async (tx) => {
    const recorded = await recordedStore(tx);
    if (recorded !== undefined) return recorded;
    if (found !== undefined)
      throw misfit(
        `${sayPlace(place)} is the store ${found} of another database; this database needs a place of its own, or takes that one once its ${MARKER} is removed.`,
      );
    const own: RecordedStore = { store_id: randomUUID(), is_marked: false };
    await recordStore(tx, own);
    return own;
  });
}

/** A database of before there were markers is not led to a place that has none of its artifacts. */
async function assertHolds(documents: DocumentEngine, place: ArtifactPlace, marker: PlaceMarker): Promise<void> {
  const names = [...(await documents.referencedArtifacts())];
  for (const name of names.slice(0, SAMPLE)) if (await marker.has(name)) return;
  if (names.length > 0)
    throw misfit(
      `${sayPlace(place)} has none of the ${names.length} files of results that the database names: it is another place, or is not mounted.`,
    );
}

function assertSame(place: ArtifactPlace, storeId: string, found: string | undefined): void {
  if (found === storeId) return;
  const is = found === undefined ? `has no ${MARKER}, is not there or not mounted` : `is the store ${found}`;
  throw misfit(`${sayPlace(place)} ${is}; the database names the store ${storeId}.`);
}

/** Failures that another setting mends. */
const SETTINGS = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOTDIR', 'EEXIST']);

/** Says of a place why a process cannot start on it. */
async function refusing<T>(place: ArtifactPlace, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof StartRefusal) throw cause;
    const code = codeOf(cause);
    const isStore = isUnavailable(cause);
    if (!isStore && !(cause instanceof Error && 'syscall' in cause)) throw cause;
    const status = cause instanceof PlaceFault || SETTINGS.has(code ?? '') ? EXIT_CONFIGURATION : EXIT_TEMPORARY;
    const reason = isStore ? cause.message : code === 'ENOENT' ? 'it is not there.' : `${code}.`;
    throw new StartRefusal(status, `${sayPlace(place)} cannot be used: ${reason}`, { cause });
  }
}
