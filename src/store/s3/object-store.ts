import { open, rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal } from '#domain/base/refusals.js';
import { createArtifactName, isArtifactName, refuseDamagedArtifact, TRASH } from '../artifacts/artifact.js';
import { digestFile } from '../artifacts/durable-files.js';
import { type BackgroundHash, openArtifacts } from '../artifacts/folder-store.js';
import type { FreeSpace } from '../artifacts/free-space.js';
import {
  type ArtifactLink,
  type ArtifactRef,
  type ArtifactStore,
  type DatedArtifact,
  type S3Access,
  SWEEP_PAGE,
} from '../port.js';
import { createS3Client, type OpenObject, type S3Client } from './client.js';
import { createSource, type ObjectCache, type ObjectCacheOptions, openObjectCache } from './object-cache.js';

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
