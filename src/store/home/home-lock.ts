import { randomBytes } from 'node:crypto';
import { link, readFile, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { isAlive, readProcessIdentity, type ProcessIdentity } from './process-identity.js';
import { EXIT_TEMPORARY, StartRefusal } from '../start-refusal.js';

export interface HomeLock {
  release(): Promise<void>;
}

/** Interval at which the owning process touches its lock, ms. */
const TOUCH_MS = 1000;
/**
 * Time for which another process watches the lock of a process that it cannot see. Three updates of the lock may be
 * late.
 */
const WATCH_MS = 3500;
/** Maximum number of attempts to take over a stale lock, if another process wins each of them. */
const ROUNDS_MAX = 20;

/**
 * Acquires `folder/lock` for this process. If the process that holds the lock has ended, takes the lock over.
 * @throws StartRefusal 75, naming the process that holds the lock
 */
export async function lockHome(folder: string, watchMs: number = WATCH_MS): Promise<HomeLock> {
  const path = join(folder, 'lock');
  for (let round = 0; round < ROUNDS_MAX; round++) {
    if (await create(path)) return maintainLock(path);
    const holder = await readHolder(path);
    if (holder === undefined) continue;
    if (await isLocked(path, holder, watchMs)) {
      throw new StartRefusal(
        EXIT_TEMPORARY,
        `The home ${folder} is in use by process ${holder.pid}; one home serves one process.`,
      );
    }
    await removeStale(path, holder);
  }
  throw new StartRefusal(EXIT_TEMPORARY, `The home ${folder} is being opened by too many processes at once.`);
}

/** Returns the process that holds the lock of a home, and if it runs. Returns undefined without a lock. */
export async function findHolder(
  folder: string,
): Promise<{ readonly pid: number; readonly isRunning: boolean | 'unknown' } | undefined> {
  const holder = await readHolder(join(folder, 'lock'));
  return holder === undefined ? undefined : { pid: holder.pid, isRunning: isAlive(holder) };
}

/** Creates the lock with its content atomically. */
async function create(path: string): Promise<boolean> {
  const draftPath = `${path}.${process.pid}.${randomBytes(6).toString('hex')}`;
  await writeFile(draftPath, JSON.stringify(readProcessIdentity()), { mode: 0o600 });
  try {
    await link(draftPath, path);
    return true;
  } catch (thrown) {
    if (getCode(thrown) === 'EEXIST') return false;
    throw thrown;
  } finally {
    await unlink(draftPath);
  }
}

/**
 * Removes a stale lock. Two starting processes may find the same lock. Only the process that creates the claim file
 * removes the lock, after checking that it is still the stale one.
 */
async function removeStale(path: string, holder: ProcessIdentity): Promise<void> {
  const claimPath = `${path}.claim`;
  if (!(await create(claimPath))) {
    const claimHolder = await readHolder(claimPath);
    if (claimHolder !== undefined && isAlive(claimHolder) === false) await unlinkIfPresent(claimPath);
    await wait(50);
    return;
  }
  try {
    const currentHolder = await readHolder(path);
    if (currentHolder !== undefined && isSameProcess(currentHolder, holder)) await unlinkIfPresent(path);
  } finally {
    await unlinkIfPresent(claimPath);
  }
}

async function isLocked(path: string, holder: ProcessIdentity, watchMs: number): Promise<boolean> {
  const alive = isAlive(holder);
  if (alive !== 'unknown') return alive;
  const firstTouchMs = await readTouchTime(path);
  await wait(watchMs);
  return (await readTouchTime(path)) !== firstTouchMs;
}

function maintainLock(path: string): HomeLock {
  const touchTimer = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => clearInterval(touchTimer)); // the home was removed, so there is no lock to release
  }, TOUCH_MS);
  touchTimer.unref();
  return {
    async release() {
      clearInterval(touchTimer);
      const holder = await readHolder(path);
      if (holder !== undefined && isSameProcess(holder, readProcessIdentity())) await unlinkIfPresent(path);
    },
  };
}

async function readHolder(path: string): Promise<ProcessIdentity | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (thrown) {
    if (getCode(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
  try {
    const { pid, started, world } = JSON.parse(text);
    if (Number.isInteger(pid)) return { pid, started, world };
  } catch {
    // an empty lock has no holder
  }
  return { pid: 0, started: text, world: null };
}

async function readTouchTime(path: string): Promise<number | undefined> {
  const result = await stat(path).catch(() => undefined);
  return result?.mtimeMs;
}

async function unlinkIfPresent(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (thrown) {
    if (getCode(thrown) !== 'ENOENT') throw thrown;
  }
}

const isSameProcess = (a: ProcessIdentity, b: ProcessIdentity): boolean =>
  a.pid === b.pid && a.started === b.started && a.world === b.world;

const getCode = (thrown: unknown): unknown => (thrown instanceof Error && 'code' in thrown ? thrown.code : undefined);
