import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Refusal } from '#domain/refusals/refusal.js';
import { callsTo, ownCall, type FolderCall } from './folder-calls.js';
import { codeOf, isAway } from './place-fault.js';
import { MARKER, storeIdIn } from './store-id.js';

/** A folder that machines share, while it may be away: an export that moves, a mount that is lost. */
export interface FolderGuard {
  /**
   * Does something in the folder, again while it is away. What was written counts when the folder is the same afterwards:
   * an empty mount point takes no result.
   * @param work receives whether it was begun before
   * @throws Refusal STORE_UNAVAILABLE once the folder has been away for too long
   */
  work<T>(work: (isAgain: boolean) => Promise<T>): Promise<T>;
  /** What each call to the folder goes through. */
  readonly call: FolderCall;
}

/** A folder of this machine alone. */
export const ownFolder: FolderGuard = { work: (work) => work(false), call: ownCall };

/** How long a folder that is away is waited for, as an object store is. */
const PATIENCE_MS = 45_000;
const PAUSE_MS = 100;
const PAUSE_MS_MAX = 2000;

/** @param storeId of the marker that it has to hold */
export function guardFolder(
  folder: string,
  storeId: string,
  { patienceMs = PATIENCE_MS, call = callsTo(folder) } = {},
): FolderGuard {
  async function assertThere(): Promise<void> {
    const found = storeIdIn(await call(() => readFile(join(folder, MARKER), 'utf8')));
    if (found !== storeId) throw away(folder, `it is the store ${found}, not ${storeId}`);
  }

  return {
    call,
    async work(work) {
      const until = performance.now() + patienceMs;
      for (let pause = PAUSE_MS; ; pause = Math.min(2 * pause, PAUSE_MS_MAX)) {
        try {
          await assertThere();
          const done = await work(pause > PAUSE_MS);
          await assertThere();
          return done;
        } catch (thrown) {
          if (!isAway(thrown)) throw thrown;
          if (performance.now() > until)
            throw thrown instanceof Refusal ? thrown : away(folder, codeOf(thrown) ?? 'unknown', thrown);
        }
        await sleep(pause);
      }
    },
  };
}

const away = (folder: string, reason: string, cause?: unknown): Refusal =>
  new Refusal('STORE_UNAVAILABLE', `The folder of the results is away: ${reason}.`, null, {
    cause: new Error(`folder ${folder}`, { cause }),
  });
