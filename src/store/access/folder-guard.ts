import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal } from '#domain/refusals/refusal.js';
import { createFolderCalls, callDirectly, type FolderCall } from './folder-calls.js';
import { findCode, isUnavailable } from './artifact-fault.js';
import { MARKER, parseStoreId } from './store-id.js';

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
