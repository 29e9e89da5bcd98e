import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { flushFolder } from './flush-folder.js';
import { lockHome } from './home-lock.js';
import { EXIT_CONFIGURATION, StartRefusal } from './start-refusal.js';

/** The folder of one running service: everything it remembers, and nothing else writes there. */
export interface Home {
  readonly path: string;
  /** LMDB environment of the documents. */
  readonly documents: string;
  /** Artifacts by name. */
  readonly artifacts: string;
  /** Managed market stores, one folder each. */
  readonly stores: string;
  /** Copies of the documents, named by time. */
  readonly backups: string;
  /** Gives the home to the next process. */
  close(): Promise<void>;
}

/** Layout of the home; a home of a larger number was written by a newer engine. */
const FORMAT = 1;

/**
 * Opens a home for this process alone, creating it when absent.
 * @throws StartRefusal 75 when another process holds it, 78 when it is of a newer format or cannot be written
 */
export async function openHome(path: string): Promise<Home> {
  const folder = resolve(path);
  const home = {
    path: folder,
    documents: join(folder, 'documents'),
    artifacts: join(folder, 'artifacts'),
    stores: join(folder, 'stores'),
    backups: join(folder, 'backups'),
  };
  await makeFolders([folder, home.artifacts, home.stores]);
  const lock = await lockHome(folder).catch((cause: unknown) => {
    throw cause instanceof StartRefusal ? cause : unwritable(folder, cause);
  });
  try {
    await checkFormat(join(folder, 'format'));
    await flushFolder(folder);
  } catch (thrown) {
    await lock.release();
    throw thrown;
  }
  return { ...home, close: () => lock.release() };
}

/** Readable by the service's user only: documents hold digests of keys and locations of databases. */
async function makeFolders(folders: readonly string[]): Promise<void> {
  try {
    for (const folder of folders) await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (cause) {
    throw unwritable(folders[0]!, cause);
  }
}

function unwritable(folder: string, cause: unknown): StartRefusal {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new StartRefusal(EXIT_CONFIGURATION, `The home ${folder} cannot be written: ${reason}.`, { cause });
}

async function checkFormat(file: string): Promise<void> {
  const text = await readFile(file, 'utf8').catch(() => undefined);
  if (text === undefined) {
    await writeFile(`${file}.new`, `${FORMAT}\n`);
    await rename(`${file}.new`, file);
    return;
  }
  const format = Number(text);
  if (!Number.isInteger(format) || format < 1) throw new StartRefusal(EXIT_CONFIGURATION, `The file ${file} does not hold a format number.`);
  if (format > FORMAT) {
    throw new StartRefusal(EXIT_CONFIGURATION, `The home has format ${format}; this engine reads formats up to ${FORMAT}.`);
  }
}
