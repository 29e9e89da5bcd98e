import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { flushFolder } from '../files/flush-folder.js';
import { restrictToOwner } from '../files/own-files.js';
import { makeFolder } from '../files/make-folder.js';
import { lockHome } from './home-lock.js';
import { EXIT_CONFIGURATION, StartRefusal } from '../start-refusal.js';

/** Paths of a home. */
export interface HomeFolders {
  readonly path: string;
  /** Folder of the LMDB environment of the documents. */
  readonly documents: string;
  /** Folder of artifacts. */
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
    await flushFolder(folder);
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

/** Writes the layout version of a home. It is on disk when the promise resolves. */
export async function writeFormat(
  { path, format: file }: HomeFolders,
  format: number | typeof RESTORING,
): Promise<void> {
  await writeFile(`${file}.new`, `${format}\n`, { mode: 0o600, flush: true });
  await rename(`${file}.new`, file);
  await flushFolder(path);
}
