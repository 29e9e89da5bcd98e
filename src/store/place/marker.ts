import { Buffer } from 'node:buffer';
import { createHash, randomBytes } from 'node:crypto';
import { readFile, rename, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { ArtifactPlace } from './artifact-place.js';
import { newArtifactName } from '../files/artifact-owners.js';
import { flushFolder, writeFlushed } from '../files/flush-folder.js';
import { makeFolder } from '../files/make-folder.js';
import { removeFiles } from '../files/folder-writer.js';
import type { S3Patience } from '../s3/s3-client.js';
import { callsTo } from '../access/folder-calls.js';
import { PlaceFault, unlessAbsent } from '../access/place-fault.js';
import { MARKER, markerText, markIn, type PlaceMark } from '../access/store-id.js';

/** The identity of a place for artifacts, and what else a start asks of it. */
export interface PlaceMarker {
  /** The store that the place is and its owner; undefined where it has no marker. */
  read(): Promise<PlaceMark | undefined>;
  /** Replaces the marker. @returns whether the folder did not exist and was created */
  write(mark: PlaceMark): Promise<boolean>;
  /** Whether an artifact is there. */
  has(name: string): Promise<boolean>;
  /** Writes something, reads it and removes it. */
  probe(): Promise<void>;
  /** What will keep the place from being had before long, unless it is mended; undefined where nothing is known. */
  warning(): string | undefined;
}

/** @param patience how long an object store is waited for */
export async function openMarker(place: ArtifactPlace, patience: S3Patience): Promise<PlaceMarker> {
  if (place.kind === 'folder') return folderMarker(place.folder);
  const { createS3Client } = await import('../s3/s3-client.js'); // Loaded by those alone who use it.
  const client = createS3Client(place.access, patience);
  const put = (name: string, content: string) =>
    client.put(name, Buffer.from(content), createHash('sha256').update(content).digest('hex'));
  const read = (name: string): Promise<string | undefined> => client.get(name, ({ body }) => text(body));
  return {
    async read() {
      const found = await read(MARKER);
      return found === undefined ? undefined : markIn(found);
    },
    async write(mark) {
      await put(MARKER, markerText(mark));
      return false;
    },
    has: async (name) => (await client.get(name, async () => true)) === true,
    probe: () => probed({ put, read, remove: client.remove }),
    warning: client.renewalFault,
  };
}

function folderMarker(folder: string): PlaceMarker {
  const path = (name: string): string => join(folder, name);
  const call = callsTo(folder);
  const read = (name: string): Promise<string | undefined> =>
    call(() => readFile(path(name), 'utf8')).catch(unlessAbsent);
  return {
    async read() {
      const text = await read(MARKER);
      return text === undefined ? undefined : markIn(text);
    },
    async write(mark) {
      const isNew = await call(() => makeFolder(folder));
      const draft = path(`${MARKER}.${randomBytes(8).toString('hex')}`);
      await writeFlushed(draft, Buffer.from(markerText(mark)), call);
      await call(() => rename(draft, path(MARKER)));
      await flushFolder(folder, call);
      return isNew;
    },
    has: async (name) => (await call(() => stat(path(name))).catch(unlessAbsent)) !== undefined,
    probe: () =>
      probed({
        put: (name, text) => writeFlushed(path(name), Buffer.from(text), call),
        read,
        remove: (name) => removeFiles(folder, [name], call),
      }),
    warning: () => undefined,
  };
}

interface ProbedPlace {
  put(name: string, text: string): Promise<void>;
  read(name: string): Promise<string | undefined>;
  remove(name: string): Promise<void>;
}

async function probed({ put, read, remove }: ProbedPlace): Promise<void> {
  const name = newArtifactName(); // One that is left behind goes with the garbage.
  const text = randomBytes(512).toString('hex');
  await put(name, text);
  const found = await read(name);
  await remove(name);
  if (found !== text) throw new PlaceFault('The place of the results gives back other bytes than it was given.');
}
