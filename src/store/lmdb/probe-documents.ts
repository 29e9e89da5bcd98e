import { spawn } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EXIT_CONFIGURATION, StartRefusal } from '../start-refusal.js';

/**
 * Time limit of the check in seconds, enough for 10 GiB from a slow disk. Afterwards, the check is abandoned and the
 * store is opened.
 */
const WALK_SECONDS_MAX = 120;

/** Resolution of file times: two changes within a few milliseconds may have the same time. */
const TICK_MS = 20;

/** State of each file when this process last checked or closed it. */
const walkedStates = new Map<string, string>();

/**
 * Reads all documents in a separate process. A damaged file terminates the process that reads it (SIGSEGV, SIGBUS), and
 * an empty file would become a new store without a message. A file that is unchanged since this process checked or
 * closed it is not read again.
 * @throws StartRefusal 78, naming the newest backup if there is one
 */
export async function probeDocuments(folder: string, backups?: string): Promise<void> {
  const file = join(folder, 'data.mdb');
  const result = await readState(file);
  if (result === undefined) return;
  const { size, state } = result;
  if (state !== undefined && walkedStates.get(file) === state) return;
  const fault = size === 0n ? 'is empty' : await walk(folder);
  if (fault === undefined) return remember(file, state);
  const backupHint = await findNewestBackup(backups);
  throw new StartRefusal(EXIT_CONFIGURATION, `The document store ${file} ${fault}; ${backupHint}.`);
}

/** Records the state of the files of a folder after this process has closed its documents. */
export async function recordClosedDocuments(folder: string): Promise<void> {
  const file = join(folder, 'data.mdb');
  remember(file, (await readState(file))?.state);
}

function remember(file: string, state: string | undefined): void {
  if (state === undefined) walkedStates.delete(file);
  else walkedStates.set(file, state);
}

interface FileState {
  readonly size: bigint;
  /** Metadata that every change of a file alters. It is undefined if the file changed too recently. */
  readonly state: string | undefined;
}

async function readState(file: string): Promise<FileState | undefined> {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs, ctimeMs } = await stat(file, { bigint: true });
    const isSettled = Date.now() - Number(ctimeMs) >= TICK_MS;
    return { size, state: isSettled ? [dev, ino, size, mtimeNs, ctimeNs].join(' ') : undefined };
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOENT') return undefined;
    throw thrown;
  }
}

function walk(folder: string): Promise<string | undefined> {
  const child = spawn(process.execPath, [fileURLToPath(new URL('./walk-documents.js', import.meta.url)), folder], {
    stdio: 'ignore',
  });
  const timer = setTimeout(() => child.kill('SIGTERM'), WALK_SECONDS_MAX * 1000);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('exit', (code, signal) => {
      clearTimeout(timer);
      const isSound = code === 0 || signal === 'SIGTERM';
      resolve(isSound ? undefined : `is damaged (reading it ended with ${signal ?? `status ${code}`})`);
    });
  });
}

async function findNewestBackup(folder: string | undefined): Promise<string> {
  const names = folder === undefined ? [] : await readdir(folder).catch(() => []);
  const newestName = names.sort().at(-1);
  return folder === undefined || newestName === undefined
    ? 'no backup of it was found'
    : `restore it from ${join(folder, newestName)}`;
}
