import { randomBytes } from 'node:crypto';
import { link, readFile, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { isAlive, ownIdentity, type ProcessIdentity } from './process-identity.js';
import { EXIT_TEMPORARY, StartRefusal } from '../start-refusal.js';

export interface HomeLock {
  release(): Promise<void>;
}

/** The holder touches its lock this often. */
const TOUCH_MS = 1000;
/** A process that cannot see the holder watches for its touches; three may be late. */
const WATCH_MS = 3500;
/** Rounds of finding a stale lock and losing the race for it. */
const ROUNDS_MAX = 20;

/**
 * Takes `folder/lock` for this process. A lock left by a process that is gone is taken over.
 * @throws StartRefusal 75 naming the process that holds it
 */
export async function lockHome(folder: string, watchMs: number = WATCH_MS): Promise<HomeLock> {
  const path = join(folder, 'lock');
  for (let round = 0; round < ROUNDS_MAX; round++) {
    if (await create(path)) return hold(path);
    const holder = await readHolder(path);
    if (holder === undefined) continue;
    if (await isHeld(path, holder, watchMs)) {
      throw new StartRefusal(
        EXIT_TEMPORARY,
        `The home ${folder} is in use by process ${holder.pid}; one home serves one process.`,
      );
    }
    await removeStale(path, holder);
  }
  throw new StartRefusal(EXIT_TEMPORARY, `The home ${folder} is wanted by too many processes at once.`);
}

/** The process that holds the lock of a home, and whether it is known to run; undefined without a lock. */
export async function holderOf(
  folder: string,
): Promise<{ readonly pid: number; readonly isRunning: boolean | 'unknown' } | undefined> {
  const holder = await readHolder(join(folder, 'lock'));
  return holder === undefined ? undefined : { pid: holder.pid, isRunning: isAlive(holder) };
}

/** Makes the lock appear with its content, or not at all. */
async function create(path: string): Promise<boolean> {
  const draft = `${path}.${process.pid}.${randomBytes(6).toString('hex')}`;
  await writeFile(draft, JSON.stringify(ownIdentity()), { mode: 0o600 });
  try {
    await link(draft, path);
    return true;
  } catch (thrown) {
    if (codeOf(thrown) === 'EEXIST') return false;
    throw thrown;
  } finally {
    await unlink(draft);
  }
}

/**
 * Two starters may find the same stale lock; the one that makes the claim removes it, and only after it saw
 * under the claim that the lock is still the stale one.
 */
async function removeStale(path: string, holder: ProcessIdentity): Promise<void> {
  const claim = `${path}.claim`;
  if (!(await create(claim))) {
    const claimant = await readHolder(claim);
    if (claimant !== undefined && isAlive(claimant) === false) await unlinkIfThere(claim);
    await wait(50);
    return;
  }
  try {
    const now = await readHolder(path);
    if (now !== undefined && isSame(now, holder)) await unlinkIfThere(path);
  } finally {
    await unlinkIfThere(claim);
  }
}

async function isHeld(path: string, holder: ProcessIdentity, watchMs: number): Promise<boolean> {
  const alive = isAlive(holder);
  if (alive !== 'unknown') return alive;
  const before = await touchedAt(path);
  await wait(watchMs);
  return (await touchedAt(path)) !== before;
}

function hold(path: string): HomeLock {
  const touch = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => clearInterval(touch)); // The home was removed under us: there is nothing to hold.
  }, TOUCH_MS);
  touch.unref();
  return {
    async release() {
      clearInterval(touch);
      const holder = await readHolder(path);
      if (holder !== undefined && isSame(holder, ownIdentity())) await unlinkIfThere(path);
    },
  };
}

async function readHolder(path: string): Promise<ProcessIdentity | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (thrown) {
    if (codeOf(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
  try {
    const { pid, started, world } = JSON.parse(text);
    if (Number.isInteger(pid)) return { pid, started, world };
  } catch {
    // Falls through: a lock that says nothing is held by nobody.
  }
  return { pid: 0, started: text, world: null };
}

async function touchedAt(path: string): Promise<number | undefined> {
  const found = await stat(path).catch(() => undefined);
  return found?.mtimeMs;
}

async function unlinkIfThere(path: string): Promise<void> {
  try {
    await unlink(path);
  } catch (thrown) {
    if (codeOf(thrown) !== 'ENOENT') throw thrown;
  }
}

const isSame = (a: ProcessIdentity, b: ProcessIdentity): boolean =>
  a.pid === b.pid && a.started === b.started && a.world === b.world;

const codeOf = (thrown: unknown): unknown => (thrown instanceof Error && 'code' in thrown ? thrown.code : undefined);
