import { isMainThread } from 'node:worker_threads';
import { Refusal } from '#domain/refusals/refusal.js';

/**
 * Does one call to the file system, within a time.
 * @param onLate receives what comes of a call that was given up
 * @throws Refusal STORE_UNAVAILABLE where the folder does not answer, and at once while an earlier call waits for it
 */
export type FolderCall = <T>(work: () => Promise<T>, limitMs?: number, onLate?: (late: T) => void) => Promise<T>;

/** To a folder of this machine alone, whose calls end. */
export const ownCall: FolderCall = (work) => work();

/** Opens a file, reads a piece, looks: longer than a healthy mount takes, shorter than a request waits. */
const READ_MS = 4000;
/** Writes or flushes: what a slow server may take for a large result. */
export const WRITE_MS = 30_000;
/**
 * Calls at once. A mount whose server is away gives none back, and each holds one of the four threads that the process
 * has for files, names of hosts and hashes. A thread that computes does one after the other.
 */
const AT_ONCE = isMainThread ? 2 : 1;

/** Of this thread, by folder: all who use a folder know that it stalls. */
const opened = new Map<string, FolderCall>();

/** Calls to a folder that other machines have as well. */
export function callsTo(folder: string): FolderCall {
  const found = opened.get(folder) ?? boundedCalls(folder);
  opened.set(folder, found);
  return found;
}

interface Waiting {
  readonly go: () => void;
  readonly refuse: (reason: Refusal) => void;
}

export function boundedCalls(folder: string, { atOnce = AT_ONCE, readMs = READ_MS } = {}): FolderCall {
  const queue: Waiting[] = [];
  let running = 0;
  /** Calls that were given up and have not ended. */
  let stalled = 0;

  const stall = (): Refusal =>
    new Refusal('STORE_UNAVAILABLE', 'The folder of the results is away: it does not answer.', null, {
      cause: new Error(`folder ${folder}`),
    });

  function leave(): void {
    const next = queue.shift();
    if (next === undefined) running--;
    else next.go();
  }

  return async (work, limitMs = readMs, onLate = () => {}) => {
    if (stalled > 0) throw stall();
    if (running < atOnce) running++;
    else await new Promise<void>((go, refuse) => queue.push({ go, refuse }));
    return new Promise((resolve, reject) => {
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        stalled++;
        reject(stall());
        for (const { refuse } of queue.splice(0)) refuse(stall());
      }, limitMs);
      const end = (): void => {
        clearTimeout(timer);
        if (isLate) stalled--;
        leave();
      };
      work().then(
        (done) => {
          end();
          if (isLate) onLate(done);
          else resolve(done);
        },
        (thrown: unknown) => {
          end();
          reject(thrown); // Not heard where it is late.
        },
      );
    });
  };
}
