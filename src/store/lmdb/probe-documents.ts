import { spawn } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EXIT_CONFIGURATION, StartRefusal } from '../start-refusal.js';

/** Time one walk may take; 10 GiB from a slow disk. A walk that takes longer is given up and the store is opened. */
const WALK_SECONDS_MAX = 120;

/**
 * Opens and walks the documents in a process of its own: a damaged file ends whoever reads it (SIGSEGV, SIGBUS),
 * and an empty one would silently become a new store.
 *
 * @throws StartRefusal 78, naming the newest backup when there is one
 */
export async function probeDocuments(folder: string, backups?: string): Promise<void> {
  const file = join(folder, 'data.mdb');
  const size = await sizeOf(file);
  if (size === undefined) return;
  const fault = size === 0 ? 'is empty' : await walk(folder);
  if (fault === undefined) return;
  const remedy = await newestBackup(backups);
  throw new StartRefusal(EXIT_CONFIGURATION, `The document store ${file} ${fault}; ${remedy}.`);
}

async function sizeOf(file: string): Promise<number | undefined> {
  try {
    return (await stat(file)).size;
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

async function newestBackup(folder: string | undefined): Promise<string> {
  const names = folder === undefined ? [] : await readdir(folder).catch(() => []);
  const newest = names.sort().at(-1);
  return folder === undefined || newest === undefined
    ? 'no backup of it was found'
    : `restore it from ${join(folder, newest)}`;
}
