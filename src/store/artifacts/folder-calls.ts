import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isMainThread } from 'node:worker_threads';
import { Refusal } from '#domain/base/refusals.js';
import { findCode, isUnavailable } from './artifact.js';

/**
 * Function that makes one call to the file system with a time limit.
 * @param onLate receives the result of an abandoned call
 * @throws Refusal STORE_UNAVAILABLE if the folder does not answer in time, and at once while an earlier call is stalled
 */
export type FolderCall = <T>(work: () => Promise<T>, limitMs?: number, onLate?: (late: T) => void) => Promise<T>;

/** Makes calls to a local folder, without a time limit. */
export const callDirectly: FolderCall = (work) => work();

/**
 * Time limit for opening and reading a file. It is longer than a healthy mount needs, and shorter than the wait of a
 * request.
 */
const READ_MS = 4000;
/** Time limit for writing and flushing. It is enough for a slow server and a large result. */
export const WRITE_MS = 30_000;
/**
 * Maximum number of concurrent calls. Calls to a mount never return if its server is unavailable, and each occupies one
 * of the four threads that the process has for files, host names and hashes. A computing thread makes one call at a
 * time.
 */
const CALL_CONCURRENCY = isMainThread ? 2 : 1;

/** Calls of this thread by folder. All users of a folder share the information that it does not answer. */
const callsByFolder = new Map<string, FolderCall>();

export function createFolderCalls(folder: string): FolderCall {
  const folderCall = callsByFolder.get(folder) ?? createBoundedCalls(folder);
  callsByFolder.set(folder, folderCall);
  return folderCall;
}

interface PendingCall {
  readonly go: () => void;
  readonly refuse: (reason: Refusal) => void;
}

export function createBoundedCalls(folder: string, { atOnce = CALL_CONCURRENCY, readMs = READ_MS } = {}): FolderCall {
  const queue: PendingCall[] = [];
  let runningCalls = 0;
  /** Number of abandoned calls that have not returned. */
  let stalledCalls = 0;

  const createStallRefusal = (): Refusal =>
    new Refusal('STORE_UNAVAILABLE', 'The folder of the results is unavailable: it does not answer.', null, {
      cause: new Error(`folder ${folder}`),
    });

  function endCall(): void {
    const next = queue.shift();
    if (next === undefined) runningCalls--;
    else next.go();
  }

  return async (work, limitMs = readMs, onLate = () => {}) => {
    if (stalledCalls > 0) throw createStallRefusal();
    if (runningCalls < atOnce) runningCalls++;
    else await new Promise<void>((go, refuse) => queue.push({ go, refuse }));
    return new Promise((resolve, reject) => {
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        stalledCalls++;
        reject(createStallRefusal());
        for (const { refuse } of queue.splice(0)) refuse(createStallRefusal());
      }, limitMs);
      const end = (): void => {
        clearTimeout(timer);
        if (isLate) stalledCalls--;
        endCall();
      };
      work().then(
        (result) => {
          end();
          if (isLate) onLate(result);
          else resolve(result);
        },
        (thrown: unknown) => {
          end();
          reject(thrown); // ignored after the time limit
        },
      );
    });
  };
}

/**
 * Name of the marker file. It is the only file in an artifact store that is not an artifact. It records the id of the
 * store and the database that owns the store.
 */
export const MARKER = 'divisor-store.json';

export interface DatabaseIdentity {
  /**
   * System identifier of the database server. Physical copies of the server have the same one. It is null if the role
   * may not read it.
   */
  readonly system: string | null;
  readonly database: string;
}

export interface StoreOwner extends DatabaseIdentity {
  /**
   * Random token that is renewed in the artifact store and in the database. A copy of the database then has an outdated
   * token.
   */
  readonly token: string;
}

export interface StoreMark {
  readonly storeId: string;
  /** Absent in artifact stores of version 0.2.0. */
  readonly owner?: StoreOwner | undefined;
}

export const formatMarker = ({ storeId, owner }: StoreMark): string =>
  JSON.stringify({ format: 1, store_id: storeId, ...(owner && { owner }) });

/** Returns the id in the text of a marker file. Returns `unreadable` if the text has none. */
const parseStoreId = (text: string): string => /"store_id":"([\w-]{1,64})"/.exec(text)?.[1] ?? 'unreadable';

export function parseMark(text: string): StoreMark {
  return { storeId: parseStoreId(text), owner: findOwner(text) };
}

function findOwner(text: string): StoreOwner | undefined {
  let marker: { readonly owner?: Partial<StoreOwner> };
  try {
    marker = JSON.parse(text) as typeof marker; // each member is checked below
  } catch {
    return undefined;
  }
  const { system, database, token } = marker.owner ?? {};
  if (typeof token !== 'string' || typeof database !== 'string') return undefined;
  return { system: typeof system === 'string' ? system : null, database, token };
}

/**
 * Access to a folder that machines share. It may become unavailable, for example if its server moves or its mount is
 * lost.
 */
export interface FolderGuard {
  /**
   * Runs work in the folder, and repeats it while the folder is unavailable. The folder is checked before and after the
   * work, so that an empty mount point never receives a result.
   * @param work receives true in a repetition, before which it may have been started
   * @throws Refusal STORE_UNAVAILABLE if the folder has been unavailable for too long
   */
  work<T>(work: (isAgain: boolean) => Promise<T>): Promise<T>;
  /** Makes each call to the folder, with a time limit. */
  readonly call: FolderCall;
}

/** Access to a local folder, which is always available. */
export const noGuard: FolderGuard = { work: (work) => work(false), call: callDirectly };

/** Maximum wait for an unavailable folder, equal to that for an object store. */
const PATIENCE_MS = 45_000;
const PAUSE_MS = 100;
const PAUSE_MS_MAX = 2000;

/** Creates the access to a shared folder. @param storeId required id in its marker */
export function guardFolder(
  folder: string,
  storeId: string,
  { patienceMs = PATIENCE_MS, call = createFolderCalls(folder) } = {},
): FolderGuard {
  async function assertFolderExists(): Promise<void> {
    const markedId = parseStoreId(await call(() => readFile(join(folder, MARKER), 'utf8')));
    if (markedId !== storeId) throw createUnavailableRefusal(folder, `it is the store ${markedId}, not ${storeId}`);
  }

  return {
    call,
    async work(work) {
      const deadline = performance.now() + patienceMs;
      for (let pause = PAUSE_MS; ; pause = Math.min(2 * pause, PAUSE_MS_MAX)) {
        try {
          await assertFolderExists();
          const result = await work(pause > PAUSE_MS);
          await assertFolderExists();
          return result;
        } catch (thrown) {
          if (!isUnavailable(thrown)) throw thrown;
          if (performance.now() > deadline)
            throw thrown instanceof Refusal
              ? thrown
              : createUnavailableRefusal(folder, findCode(thrown) ?? 'unknown', thrown);
        }
        await sleep(pause);
      }
    },
  };
}

const createUnavailableRefusal = (folder: string, reason: string, cause?: unknown): Refusal =>
  new Refusal('STORE_UNAVAILABLE', `The folder of the results is unavailable: ${reason}.`, null, {
    cause: new Error(`folder ${folder}`, { cause }),
  });
