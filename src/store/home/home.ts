import { randomBytes } from 'node:crypto';
import { link, readdir, readFile, rename, rm, stat, unlink, utimes, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { syncFolder, makeFolder, restrictToOwner } from '../artifacts/durable-files.js';
import { EXIT_CONFIGURATION, EXIT_TEMPORARY, StartRefusal } from '../start-refusal.js';
import { isAlive, type ProcessIdentity, readProcessIdentity } from './process-identity.js';

interface HomeLock {
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

/** Total size of the files of each folder, in bytes. */
type FolderSizes<P extends string> = Readonly<Record<P, number>>;

/** Maximum age of a reading. Reading the sizes of 60,000 files takes a second of thread time. */
const READING_AGE_MAX_MS = 30_000;

/** Watches the sizes of the folders of a home. @returns a function whose result is at most half a minute old */
export function watchSizes<P extends string>(
  folders: Readonly<Record<P, string>>,
  monotonicMs: () => number = () => performance.now(),
): () => Promise<FolderSizes<P>> {
  let lastReading: { readonly atMs: number; readonly sizes: Promise<FolderSizes<P>> } | undefined;
  return () => {
    if (lastReading === undefined || monotonicMs() - lastReading.atMs > READING_AGE_MAX_MS)
      lastReading = { atMs: monotonicMs(), sizes: measure(folders) };
    return lastReading.sizes;
  };
}

async function measure<P extends string>(folders: Readonly<Record<P, string>>): Promise<FolderSizes<P>> {
  const sizes: [string, number][] = [];
  for (const [part, folder] of Object.entries<string>(folders)) sizes.push([part, await measureFolder(folder)]);
  return Object.fromEntries(sizes) as FolderSizes<P>; // one entry per folder
}

/** Adds up the sizes of the files of a folder. Ignores files that appear or disappear meanwhile. */
async function measureFolder(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  let bytes = 0;
  for (const entry of entries) {
    if (entry.isFile())
      bytes += await stat(join(entry.parentPath, entry.name)).then(
        ({ size }) => size,
        () => 0,
      );
  }
  return bytes;
}

export interface HomeFolders {
  readonly path: string;
  /** Folder of the LMDB environment of the documents. */
  readonly documents: string;
  readonly artifacts: string;
  /** Folder of managed market stores, with one subfolder each. */
  readonly stores: string;
  /** Folder of backups, named by time. */
  readonly backups: string;
  /** Folder of unlinked files for paged memory. */
  readonly scratch: string;
  /** File with the version of the layout. */
  readonly format: string;
}

/** Folder with all data of one running service. No other process writes it. */
export interface Home extends HomeFolders {
  /** Releases the home for the next process. */
  close(): Promise<void>;
}

/** Upgrades a home folder to the next layout. If an upgrade was interrupted, it is repeated from its beginning. */
export type Upgrade = (home: HomeFolders) => Promise<void>;

/** Upgrades from layout 1 to the current layout. */
const UPGRADES: readonly Upgrade[] = [];

/** Current layout version. A newer release wrote a home with a higher version. */
export const HOME_FORMAT = UPGRADES.length + 1;

/** Content of the format file while a restore or copy into the home is incomplete. */
export const RESTORING = 'restoring';

export function listHomeFolders(path: string): HomeFolders {
  const folder = resolve(path);
  return {
    path: folder,
    documents: join(folder, 'documents'),
    artifacts: join(folder, 'artifacts'),
    stores: join(folder, 'stores'),
    backups: join(folder, 'backups'),
    scratch: join(folder, 'scratch'),
    format: join(folder, 'format'),
  };
}

/**
 * Opens a home exclusively. Creates it if it is absent, and upgrades an older layout.
 * @throws StartRefusal 75 if another process holds it, 78 if its format is newer, or it is incomplete or not writable
 */
export async function openHome(path: string, upgrades: readonly Upgrade[] = UPGRADES): Promise<Home> {
  return openPrepared(path, (home) => bringUpToDate(home, upgrades));
}

/**
 * Opens a home to copy documents into it. If an earlier restore or copy left the home incomplete, opens it without its
 * documents.
 * @throws StartRefusal like `openHome`
 */
export async function openTargetHome(path: string): Promise<Home> {
  return openPrepared(path, async (home) => {
    if ((await readFormat(home)) !== RESTORING) return bringUpToDate(home, UPGRADES);
    await rm(home.documents, { recursive: true, force: true });
  });
}

async function openPrepared(path: string, prepare: (home: HomeFolders) => Promise<void>): Promise<Home> {
  const home = listHomeFolders(path);
  const { path: folder } = home;
  await makeFolders([folder, home.artifacts, home.stores, home.scratch]);
  await restrictToOwner({ folders: [home.backups], files: [home.format] });
  const lock = await lockHome(folder).catch((cause: unknown) => {
    throw cause instanceof StartRefusal ? cause : createUnwritableRefusal(folder, cause);
  });
  try {
    await prepare(home);
    await syncFolder(folder);
  } catch (thrown) {
    await lock.release();
    throw thrown;
  }
  return { ...home, close: () => lock.release() };
}

/**
 * Creates folders that only the user of the service can read. Documents contain digests of keys and locations of
 * databases.
 */
async function makeFolders(folders: readonly string[]): Promise<void> {
  try {
    for (const folder of folders) await makeFolder(folder, 0o700);
    await restrictToOwner({ folders });
  } catch (cause) {
    throw createUnwritableRefusal(folders[0]!, cause);
  }
}

function createUnwritableRefusal(folder: string, cause: unknown): StartRefusal {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new StartRefusal(EXIT_CONFIGURATION, `The home ${folder} cannot be written: ${reason}.`, { cause });
}

async function bringUpToDate(home: HomeFolders, upgrades: readonly Upgrade[]): Promise<void> {
  const newest = upgrades.length + 1;
  const result = await readFormat(home);
  if (result === undefined) return writeFormat(home, newest);
  if (result === RESTORING) {
    throw new StartRefusal(
      EXIT_CONFIGURATION,
      `A restore or copy into the home ${home.path} is incomplete; run \`divisor restore\` or \`divisor copy\` again.`,
    );
  }
  if (result > newest)
    throw new StartRefusal(
      EXIT_CONFIGURATION,
      `The home has format ${result}; this engine reads formats up to ${newest}.`,
    );
  for (let format = result; format < newest; format++) {
    await upgrades[format - 1]!(home);
    await writeFormat(home, format + 1);
  }
}

/**
 * Returns the layout version of a home. Returns undefined if it has none yet.
 * @throws StartRefusal 78 if the file contains neither a number nor the mark of a restore
 */
export async function readFormat({ format: file }: HomeFolders): Promise<number | typeof RESTORING | undefined> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  if (text.trim() === RESTORING) return RESTORING;
  const format = Number(text);
  if (!Number.isInteger(format) || format < 1)
    throw new StartRefusal(EXIT_CONFIGURATION, `The file ${file} contains no format number.`);
  return format;
}

/** Returns the layout version of a home. @throws StartRefusal 78 if there is no home, or a restore has not ended */
export async function requireFormat(home: HomeFolders): Promise<number> {
  const format = await readFormat(home);
  if (typeof format === 'number') return format;
  throw new StartRefusal(EXIT_CONFIGURATION, `The home at ${home.path} is missing or incomplete.`);
}

/** Writes the layout version of a home. It is on disk when the promise resolves. */
export async function writeFormat(
  { path, format: file }: HomeFolders,
  format: number | typeof RESTORING,
): Promise<void> {
  await writeFile(`${file}.new`, `${format}\n`, { mode: 0o600, flush: true });
  await rename(`${file}.new`, file);
  await syncFolder(path);
}
