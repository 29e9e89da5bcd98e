import { Refusal } from '#domain/refusals/refusal.js';
import { refuseDamagedArtifact } from '../access/artifact-damage.js';
import type { FreeSpace } from '../files/free-space.js';
import type { DatedArtifact } from '../artifact-terms.js';
import type { ArtifactRef } from '../port.js';
import type { ObjectCache } from './object-cache.js';
import type { OpenObject, S3Client } from './s3-client.js';

/**
 * Maximum number of objects that are remembered as existing. The second value is the time for which they are
 * remembered.
 */
const CACHED_OBJECTS_MAX = 32_768;
const CACHE_AGE_MAX_MS = 60_000;

/** Returns true if an object has the size and hash recorded by its writer. */
export const isObjectOf = (
  { bytes, sha256 }: DatedArtifact['ref'],
  object: Omit<OpenObject, 'body'> | undefined,
): boolean => object?.bytes === bytes && object.sha256 === sha256;

/** Reads of objects through the local cache. */
export interface ObjectReads {
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

export function createObjectReads({ reader, cached, freeSpace, claimed }: ObjectReadsOptions): ObjectReads {
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
