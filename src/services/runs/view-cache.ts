import { createHash } from 'node:crypto';
import { toCanonicalJson } from '#domain/json/canonical-json.js';
import type { ResponseBytes } from '#jobs/tasks/files.js';

/** Maximum memory of the cache in bytes. It is enough for several hundred views of usual size. */
const CACHE_BYTES_MAX = 64 * 2 ** 20;

/** Cached views, by all their inputs. */
export interface ViewCache {
  /** Returns the cached bytes of a request. */
  find(question: unknown): Uint8Array<ArrayBuffer> | undefined;
  /** Stores the bytes of a request that `find` did not find. */
  hold(question: unknown, bytes: Uint8Array<ArrayBuffer>): void;
  /**
   * Returns the view of a request from the cache. If it is not there, computes the view. A failed view is not cached.
   */
  get<A extends ResponseBytes>(question: unknown, createView: () => Promise<A>): Promise<A>;
}

/**
 * Creates a cache of the views that were read last. A key must contain the names of a run's files and the content hash
 * of its store. File names are unique, and the hash changes with the data, so a cached view never becomes wrong.
 */
export function createViewCache(limitBytes = CACHE_BYTES_MAX): ViewCache {
  /** Views by key, least recently read first. */
  const responses = new Map<string, ResponseBytes>();
  let bytes = 0;

  function removeEntry(key: string): void {
    bytes -= responses.get(key)?.bytes.length ?? 0;
    responses.delete(key);
  }

  function addEntry(key: string, view: ResponseBytes): void {
    removeEntry(key);
    if (view.bytes.length > limitBytes / 8) return; // A large view must not displace eight others.
    responses.set(key, view);
    bytes += view.bytes.length;
    for (const oldestKey of responses.keys()) {
      if (bytes <= limitBytes) break;
      removeEntry(oldestKey);
    }
  }

  return {
    find(question) {
      const key = formatKey(question);
      const responseBytes = responses.get(key);
      if (responseBytes !== undefined) addEntry(key, responseBytes);
      return responseBytes?.bytes;
    },
    hold: (question, view) => addEntry(formatKey(question), { bytes: view }),
    async get(question, createView) {
      const key = formatKey(question);
      const response = responses.get(key) as Awaited<ReturnType<typeof createView>> | undefined; // a request always has responses of the type of its task
      const view = response ?? (await createView());
      addEntry(key, view);
      return view;
    },
  };
}

const formatKey = (question: unknown): string =>
  createHash('sha256').update(toCanonicalJson(question)).digest('base64');
