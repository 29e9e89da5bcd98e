import { createHash, randomBytes } from 'node:crypto';
import { type FileHandle, link, open, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { joinBytes, type ProducedBytes } from '#base/bytes.js';
import { Refusal } from '#domain/base/refusals.js';
import { createArtifactName, isArtifactName, refuseDamagedArtifact, TRASH } from '../artifacts/artifact.js';
import { computeFileSha256, digestFile, makeFolder } from '../artifacts/durable-files.js';
import { type BackgroundHash, openArtifacts } from '../artifacts/folder-store.js';
import type { FreeSpace } from '../artifacts/free-space.js';
import {
  type ArtifactDestination,
  type ArtifactLink,
  type ArtifactRef,
  type ArtifactStore,
  type ArtifactWriter,
  type DatedArtifact,
  type S3Access,
  SWEEP_PAGE,
} from '../port.js';
import { createS3Client, type ObjectSource, type OpenObject, type S3Client } from './client.js';

/**
 * Maximum number of objects that are remembered as existing. The second value is the time for which they are
 * remembered.
 */
const CACHED_OBJECTS_MAX = 32_768;
const CACHE_AGE_MAX_MS = 60_000;

/** Returns true if an object has the size and hash recorded by its writer. */
const isObjectOf = ({ bytes, sha256 }: DatedArtifact['ref'], object: Omit<OpenObject, 'body'> | undefined): boolean =>
  object?.bytes === bytes && object.sha256 === sha256;

/** Reads of objects through the local cache. */
interface ObjectReads {
  /** Fetches an object unless it is cached. Concurrent callers share one fetch. */
  ensure(name: string): Promise<void>;
  /**
   * Checks for a cached copy, then for the object. Objects never change, so that a positive answer is remembered for
   * some time.
   */
  isThere(ref: DatedArtifact['ref']): Promise<boolean>;
  /** Runs work on a cached file. If the file is damaged, fetches it again. */
  withRefetch<T>(ref: ArtifactRef, work: () => Promise<T>): Promise<T>;
}

interface ObjectReadsOptions {
  /** Client with the retry limits of the caller. */
  readonly reader: Pick<S3Client, 'get' | 'look'>;
  readonly cached: ObjectCache;
  readonly freeSpace: FreeSpace;
  /** Local files that threads of this process write and no other process needs. */
  readonly claimed: ReadonlySet<string>;
}

function createObjectReads({ reader, cached, freeSpace, claimed }: ObjectReadsOptions): ObjectReads {
  const pendingDownloads = new Map<string, Promise<void>>();
  /** Time of the last check of existing objects, oldest first. */
  const checkTimes = new Map<string, number>();

  async function fetch(name: string): Promise<void> {
    const isPresent = await reader.get(name, async (object) => {
      await freeSpace.admit(object.bytes);
      await cached.fill(name, object);
      return true;
    });
    if (isPresent === undefined) throw refuseDamagedArtifact(name);
  }

  async function ensure(name: string): Promise<void> {
    if (claimed.has(name) || (await cached.has(name))) return;
    const download = pendingDownloads.get(name) ?? fetch(name).finally(() => pendingDownloads.delete(name));
    pendingDownloads.set(name, download);
    await download;
  }

  async function doesObjectExist(ref: DatedArtifact['ref']): Promise<boolean> {
    const { name } = ref;
    if (await cached.has(name)) return true;
    if (Date.now() - (checkTimes.get(name) ?? 0) < CACHE_AGE_MAX_MS) return true;
    if (!isObjectOf(ref, await reader.look(name))) return false;
    checkTimes.delete(name);
    checkTimes.set(name, Date.now());
    for (const oldest of checkTimes.keys()) if (checkTimes.size > CACHED_OBJECTS_MAX) checkTimes.delete(oldest);
    return true;
  }

  async function runWithRefetch<T>(ref: ArtifactRef, work: () => Promise<T>): Promise<T> {
    await ensure(ref.name);
    try {
      return await work();
    } catch (thrown) {
      if (!(thrown instanceof Refusal) || thrown.code !== 'DOCUMENT_UNREADABLE' || claimed.has(ref.name)) throw thrown;
      await cached.remove(ref.name);
      await ensure(ref.name);
      return work();
    }
  }

  return { ensure, isThere: doesObjectExist, withRefetch: runWithRefetch };
}

interface ObjectArtifactsOptions {
  readonly access: S3Access;
  readonly cache: ObjectCacheOptions;
  /** Free space of the volume of the cache. */
  readonly freeSpace: FreeSpace;
  readonly hashApart?: BackgroundHash | undefined;
}

/** Maximum wait of a request for an object without data. Jobs wait for the default time of the client. */
const REQUEST_LIMITS = { patienceMs: 1000, answerMs: 3000 };

/** Opens an artifact store in a bucket. Objects are read as files of a cache, so that threads can open them by path. */
export async function openObjectArtifacts(options: ObjectArtifactsOptions): Promise<ArtifactStore> {
  const { access, cache, freeSpace, hashApart } = options;
  const client = createS3Client(access);
  const openedObjects: OpenedObjects = {
    ...options,
    client,
    cached: await openObjectCache(cache),
    files: await openArtifacts(cache.folder, freeSpace, { hashApart }),
    claimed: new Set(),
  };
  const requestArtifacts = createObjectArtifacts(openedObjects, createS3Client(access, REQUEST_LIMITS));
  return { ...createObjectArtifacts(openedObjects, client), forRequests: requestArtifacts };
}

/** Number of concurrent removals. A job in parts or a study has thousands of objects. */
const REMOVAL_CONCURRENCY = 64;
const CHECK_CONCURRENCY = 16;

interface OpenedObjects extends ObjectArtifactsOptions {
  readonly client: S3Client;
  readonly cached: ObjectCache;
  readonly files: ArtifactStore;
  /** Local files that threads of this process write and no other process needs. */
  readonly claimed: Set<string>;
}

/** Creates the artifact store. @param reader client with the retry limits of the caller */
function createObjectArtifacts(
  { access, cache, freeSpace, client, cached, files, claimed }: OpenedObjects,
  reader: Pick<S3Client, 'get' | 'look'>,
): ArtifactStore {
  const { ensure, isThere, withRefetch } = createObjectReads({ reader, cached, freeSpace, claimed });

  async function removeObject(name: string): Promise<void> {
    await cached.remove(name);
    if (claimed.delete(name)) await rm(cached.path(name), { force: true });
    else await client.remove(name);
  }

  async function copyObjects(from: readonly ArtifactLink[]) {
    const copyResults = await Promise.all(
      from.map(async ({ ref, name }) => isObjectOf(ref, await client.look(ref.name)) && client.copy(ref.name, name)),
    );
    const missingLink = from.find((_, i) => !copyResults[i]);
    if (missingLink !== undefined) throw refuseDamagedArtifact(missingLink.ref.name);
    return from.map(({ ref, name }) => ({ ...ref, name }));
  }

  async function discardObject(name: string): Promise<void> {
    await cached.remove(name);
    // Leaves an object that could not be copied to a later sweep.
    if (await client.copy(name, formatTrashName(name))) await client.remove(name);
  }

  return {
    destination: { kind: 's3', access, cache: { folder: cache.folder, bytesMax: cache.bytesMax } },
    async write(bytes, sha256) {
      const name = createArtifactName();
      await client.put(name, bytes, sha256);
      await cached.put(name, bytes, sha256);
      return { name, bytes: bytes.length, sha256 };
    },
    async writeFile(path) {
      const digest = await digestFile(path);
      const name = createArtifactName();
      const file = await open(path);
      try {
        await client.put(name, createSource(file, digest.bytes), digest.sha256);
      } finally {
        await file.close();
      }
      return { name, ...digest };
    },
    newName: createArtifactName,
    async link(links) {
      try {
        const copyResults = await copyObjects(links);
        await Promise.all(links.map(({ ref, name }) => cached.link(ref.name, name)));
        return copyResults;
      } catch (thrown) {
        await Promise.allSettled(links.map(({ name }) => client.remove(name)));
        throw thrown;
      }
    },
    settle: async () => {}, // a sent or copied object is already durable
    async stream(ref, range) {
      return withRefetch(ref, () => files.stream(ref, range));
    },
    read: (ref, range) => withRefetch(ref, () => files.read(ref, range)),
    async isIntact(ref) {
      try {
        await ensure(ref.name);
        return await files.isIntact(ref);
      } catch {
        return false; // an unreadable object is not intact, whatever the reason
      }
    },
    async damaged(artifacts) {
      const damagedNames = new Set<string>();
      const remainingArtifacts = artifacts.values();
      const checkObjects = async (): Promise<void> => {
        for (const { ref } of remainingArtifacts) if (!(await isThere(ref))) damagedNames.add(ref.name);
      };
      await Promise.all(Array.from({ length: Math.min(CHECK_CONCURRENCY, artifacts.length) }, checkObjects));
      return damagedNames;
    },
    async file({ name }) {
      await ensure(name);
      return cached.path(name);
    },
    async claim(bytes) {
      const name = await files.claim(bytes);
      claimed.add(name);
      return name;
    },
    async remove(names) {
      await removeInGroups(names, removeObject);
    },
    async discard(names) {
      await removeInGroups(names, discardObject);
    },
    async restore(names) {
      const missingNames: string[] = [];
      for (const name of names) {
        const isPresent =
          (await client.get(name, async () => true)) === true || (await client.copy(formatTrashName(name), name));
        if (!isPresent) missingNames.push(name);
      }
      return missingNames;
    },
    sweep: (referenced, terms) => sweepObjects({ client, discard: discardObject }, referenced, terms),
  };
}

/**
 * Discards orphaned objects, page by page, and removes old discarded objects. @returns the number of discarded objects
 */
async function sweepObjects(
  { client, discard }: { readonly client: S3Client; readonly discard: (name: string) => Promise<void> },
  referenced: Parameters<ArtifactStore['sweep']>[0],
  { olderThanMs = 0, trashMs = 0, pauseMs = 0, isWanted = () => true }: Parameters<ArtifactStore['sweep']>[1] = {},
): Promise<number> {
  let page: string[] = [];
  let count = 0;
  async function sweepPage(): Promise<void> {
    const ownedNames = await referenced(page);
    for (const name of page) {
      if (ownedNames.has(name) || !isWanted()) continue;
      await discard(name);
      count++;
    }
    page = [];
    if (pauseMs > 0) await sleep(pauseMs, undefined, { ref: false });
  }
  const nowMs = Date.now();
  for await (const { name, writtenAt } of client.list()) {
    if (!isWanted()) return count;
    if (isArtifactName(name) && writtenAt < nowMs - olderThanMs) page.push(name);
    const trashedName = name.startsWith(formatTrashName('')) ? name.slice(formatTrashName('').length) : '';
    if (isArtifactName(trashedName) && writtenAt < nowMs - trashMs) await client.remove(name);
    if (page.length === SWEEP_PAGE) await sweepPage();
  }
  await sweepPage();
  return count;
}

async function removeInGroups(names: readonly string[], remove: (name: string) => Promise<void>): Promise<void> {
  for (let from = 0; from < names.length; from += REMOVAL_CONCURRENCY)
    await Promise.all(names.slice(from, from + REMOVAL_CONCURRENCY).map(remove));
}

const formatTrashName = (name: string): string => `${TRASH}/${name}`;

/** Returns the content of an open file as a source. The source reads the file piece by piece. */
const createSource = (file: FileHandle, length: number): ObjectSource => ({
  length,
  slice: (start, end) => readSlice(file, start, end),
});

async function readSlice(file: FileHandle, start: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(end - start);
  for (let offset = 0; offset < bytes.length;) {
    const { bytesRead } = await file.read(bytes, offset, bytes.length - offset, start + offset);
    if (bytesRead === 0) throw new Error(`the file ended ${bytes.length - offset} bytes early`);
    offset += bytesRead;
  }
  return bytes;
}

/**
 * Cache of objects as files of a local folder. Processes of the machine share it. A file gets its final name only when
 * it is complete. A second file contains its SHA-256, which is verified when a process first uses the file.
 */
interface ObjectCache {
  /** Returns the path of a cached object. The file may be absent. */
  path(name: string): string;
  /**
   * Returns true if the file exists and matches its hash. @cost one hash of the file on other threads, once per process
   */
  has(name: string): Promise<boolean>;
  /** Stores an object. @throws Refusal DOCUMENT_UNREADABLE if the content does not match the hash of its writer */
  fill(name: string, object: OpenObject): Promise<void>;
  /** Stores bytes that this process wrote. */
  put(name: string, bytes: Uint8Array, sha256: string): Promise<void>;
  /**
   * Writes content that is produced piece by piece to a file, sends it from the file with `send`, and stores it. The
   * whole content is never in memory.
   * @returns its SHA-256, hex
   */
  make(name: string, content: ProducedBytes, send: SendObject): Promise<string>;
  /** Links a file under another name. Ignores an absent file. */
  link(from: string, to: string): Promise<void>;
  /** Removes a file; ignores an absent file. */
  remove(name: string): Promise<void>;
}

/** Function that sends an object with its SHA-256. */
type SendObject = (source: ObjectSource, sha256: string) => Promise<void>;

interface ObjectCacheOptions {
  readonly folder: string;
  /** Maximum size of the cache; the least recently used files are removed. */
  readonly bytesMax: number;
  readonly now?: () => number;
}

/** Time for which a file is kept after its last use. A thread may be about to open it. */
const IN_USE_MS = 600_000;
/** Resolution of the recorded time of use. */
const NOTED_MS = 60_000;
/** Share of the maximum size that may be stored between two checks of the total size. */
const LOOK_SHARE = 0.05;
const SUM_SUFFIX = '.sha256';

export async function openObjectCache({ folder, bytesMax, now = Date.now }: ObjectCacheOptions): Promise<ObjectCache> {
  await makeFolder(folder);
  const getPath = (name: string): string => join(folder, name);
  /** Metadata of files at their last verification, by name. */
  const marksByName = new Map<string, string>();
  const notedAt = new Map<string, number>();
  let addedBytes = 0;

  async function remove(name: string): Promise<void> {
    marksByName.delete(name);
    notedAt.delete(name);
    for (const file of [getPath(name), getPath(`${name}${SUM_SUFFIX}`)]) await rm(file, { force: true });
  }

  /** Returns metadata that changes with the content. Returns undefined if there is no file. */
  async function readFileMark(name: string): Promise<string | undefined> {
    const result = await stat(getPath(name)).catch(() => undefined);
    return result && `${result.ino} ${result.size} ${result.mtimeMs}`;
  }

  async function isIntact(name: string): Promise<boolean> {
    try {
      const checksum = await readFile(getPath(`${name}${SUM_SUFFIX}`), 'utf8');
      return (await computeFileSha256(getPath(name))) === checksum;
    } catch {
      return false; // an unreadable file is fetched again, whatever the reason
    }
  }

  /** Records a use of a file in its access time, which works on every file system. */
  async function recordUse(name: string): Promise<void> {
    if (now() - (notedAt.get(name) ?? 0) < NOTED_MS) return;
    notedAt.set(name, now());
    const { mtime } = await stat(getPath(name));
    await utimes(getPath(name), new Date(now()), mtime);
  }

  async function keep(name: string, draft: string, sha256: string, bytes: number): Promise<void> {
    await writeFile(`${draft}${SUM_SUFFIX}`, sha256);
    await rename(`${draft}${SUM_SUFFIX}`, getPath(`${name}${SUM_SUFFIX}`));
    await rename(draft, getPath(name));
    const fileMark = await readFileMark(name);
    if (fileMark !== undefined) marksByName.set(name, fileMark);
    notedAt.set(name, now());
    addedBytes += bytes;
    if (addedBytes > LOOK_SHARE * bytesMax) await evict();
  }

  async function evict(): Promise<void> {
    addedBytes = 0;
    for (const name of await listExcessFiles(folder, bytesMax, now() - IN_USE_MS)) await remove(name);
  }

  /**
   * Runs a function with the path of a new draft. If the draft still exists afterwards, it is removed. A draft of an
   * ended process is evicted like any file. Creates a missing folder again: an operator may have deleted it, because it
   * contains only copies.
   */
  async function runWithDraft<T>(work: (draft: string) => Promise<T>): Promise<T> {
    await makeFolder(folder);
    const draftPath = getPath(`${randomBytes(8).toString('hex')}.part`);
    try {
      return await work(draftPath);
    } finally {
      await rm(draftPath, { force: true });
    }
  }

  return {
    path: getPath,
    async has(name) {
      const fileMark = await readFileMark(name);
      if (fileMark === undefined) return false;
      if (marksByName.get(name) !== fileMark) {
        if (!(await isIntact(name))) return false;
        marksByName.set(name, fileMark);
      }
      await recordUse(name).catch(() => {}); // another process may have removed the file, or the folder may be read-only
      return (await readFileMark(name)) !== undefined;
    },
    async fill(name, object) {
      await runWithDraft(async (draft) => {
        const { sha256, bytes } = await writeBody(draft, object.body);
        if (bytes !== object.bytes || sha256 !== object.sha256) throw refuseDamagedArtifact(name);
        await keep(name, draft, sha256, bytes);
      });
    },
    async put(name, bytes, sha256) {
      await runWithDraft(async (draft) => {
        await writeFile(draft, bytes, { mode: 0o600 });
        await keep(name, draft, sha256, bytes.length);
      });
    },
    make: (name, content, send) =>
      runWithDraft(async (draft) => {
        const sha256 = await writeParts(draft, content, send);
        await keep(name, draft, sha256, content.length);
        return sha256;
      }),
    async link(from, to) {
      try {
        await link(getPath(`${from}${SUM_SUFFIX}`), getPath(`${to}${SUM_SUFFIX}`));
        await link(getPath(from), getPath(to));
      } catch {
        return remove(to); // the object is fetched when it is read
      }
      const fileMark = marksByName.get(from);
      if (fileMark !== undefined) marksByName.set(to, fileMark);
      notedAt.set(to, now());
    },
    remove,
  };
}

/**
 * Returns the files to remove because the cache exceeds its maximum size. Files whose last use is oldest come first;
 * recently used files are kept.
 */
async function listExcessFiles(folder: string, bytesMax: number, keptFrom: number): Promise<readonly string[]> {
  const files: { readonly name: string; readonly bytes: number; readonly usedAt: number }[] = [];
  for (const name of await readdir(folder)) {
    const result = name.endsWith(SUM_SUFFIX) ? undefined : await stat(join(folder, name)).catch(() => undefined);
    if (result !== undefined) files.push({ name, bytes: result.size, usedAt: result.atimeMs });
  }
  let excess = files.reduce((sum, { bytes }) => sum + bytes, 0) - bytesMax;
  const names: string[] = [];
  for (const { name, bytes, usedAt } of files.toSorted((a, b) => a.usedAt - b.usedAt)) {
    if (excess <= 0 || usedAt > keptFrom) break;
    excess -= bytes;
    names.push(name);
  }
  return names;
}

/** Writes the body of a response to a new file. */
async function writeBody(draft: string, body: OpenObject['body']): Promise<{ sha256: string; bytes: number }> {
  const hash = createHash('sha256');
  let bytes = 0;
  const file = await open(draft, 'wx', 0o600);
  try {
    for await (const chunk of body) {
      hash.update(chunk);
      bytes += chunk.length;
      await file.writeFile(chunk);
    }
  } finally {
    await file.close();
  }
  return { sha256: hash.digest('hex'), bytes };
}

/** Writes content to a new file piece by piece, and sends it from the file. @returns its SHA-256, hex */
async function writeParts(draft: string, content: ProducedBytes, send: SendObject): Promise<string> {
  const file = await open(draft, 'wx+', 0o600);
  const hash = createHash('sha256');
  try {
    for (const part of content.parts()) {
      hash.update(part);
      await file.writeFile(part);
    }
    const sha256 = hash.digest('hex');
    await send(createSource(file, content.length), sha256);
    return sha256;
  } finally {
    await file.close();
  }
}

/** Maximum size of produced content that is joined in memory. Larger content is sent from a file. */
const JOINED_BYTES_MAX = 16 << 20;

/**
 * Opens a writer of artifacts as objects. It also stores the objects in the cache of this machine, because they are
 * read there next.
 */
export async function openObjectWriter(
  destination: Extract<ArtifactDestination, { readonly kind: 's3' }>,
): Promise<ArtifactWriter> {
  const client = createS3Client(destination.access);
  const cache = await openObjectCache(destination.cache);
  return {
    async write(contents) {
      const outcomes = await Promise.allSettled(
        contents.map(async ({ name, bytes: content }) => {
          if (!(content instanceof Uint8Array) && content.length > JOINED_BYTES_MAX) {
            const sha256 = await cache.make(name, content, (source, hash) => client.put(name, source, hash));
            return { name, bytes: content.length, sha256 };
          }
          const bytes = content instanceof Uint8Array ? content : joinBytes(content); // the signature of a request includes its hash, so the hash must be known before
          const sha256 = createHash('sha256').update(bytes).digest('hex');
          await client.put(name, bytes, sha256);
          await cache.put(name, bytes, sha256);
          return { name, bytes: bytes.length, sha256 };
        }),
      );
      const failure = outcomes.find((outcome) => outcome.status === 'rejected');
      if (failure !== undefined) {
        // Objects that cannot be removed now have no document. They are removed a day later.
        await Promise.allSettled(contents.map(({ name }) => client.remove(name)));
        throw failure.reason;
      }
      return outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    },
  };
}
