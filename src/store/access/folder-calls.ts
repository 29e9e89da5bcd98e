import { isMainThread } from 'node:worker_threads';
import { Refusal } from '#domain/refusals/refusal.js';

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

/** Returns the calls to a folder that is shared with other machines. */
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
