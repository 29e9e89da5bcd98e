import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, onTestFinished } from 'vitest';

/** Returns a function that creates folders for one test file. Each folder is removed after the test that created it. */
export function openTemporaryFolders(): () => Promise<string> {
  const folders: string[] = [];
  afterEach(async () => {
    for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
  });
  return async () => {
    const folder = await mkdtemp(join(tmpdir(), 'divisor-'));
    folders.push(folder);
    return folder;
  };
}

/** Creates a folder, for modules that several test files share. It is removed after the test that created it. */
export async function createTemporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'divisor-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
