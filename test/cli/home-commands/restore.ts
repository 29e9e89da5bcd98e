import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runDivisor, runHere, startServiceHere } from '../process.js';
import { home, createFolder, listLines } from './set-up.js';

export function describeRestore(): void {
  describe('a restore', () => {
    test('does not change a home that is served, nor a home with documents unless the option allows it', async () => {
      const folder = await createFolder();
      const backupFolder = join(folder, 'backup');
      await runHere(['backup', backupFolder, '--home', home]);
      expect((await runHere(['restore', backupFolder, '--home', home, '--replace'])).status).toBe(75);

      const otherHome = join(folder, 'home');
      await runHere(['restore', backupFolder, '--home', otherHome]);
      const refusal = await runHere(['restore', backupFolder, '--home', otherHome]);
      expect([refusal.status, refusal.err]).toEqual([
        78,
        `divisor: The home ${otherHome} already contains documents, artifacts, stores; --replace moves them aside.\n`,
      ]);
      const replacedOutcome = await runHere(['restore', backupFolder, '--home', otherHome, '--replace']);
      expect(replacedOutcome.status).toBe(0);
      const asideFolder = String(listLines(replacedOutcome.out)[0]!['aside']);
      expect((await readdir(asideFolder)).toSorted()).toEqual(['artifacts', 'documents', 'stores']);
      expect((await runHere(['verify', '--home', otherHome])).status).toBe(0);
    });

    test('that was interrupted is not served, and completes when it is run again', async () => {
      const folder = await createFolder();
      const backupFolder = join(folder, 'backup');
      const otherHome = join(folder, 'home');
      await runHere(['backup', backupFolder, '--home', home]);
      await runHere(['restore', backupFolder, '--home', otherHome]);
      await writeFile(join(otherHome, 'format'), 'restoring\n');
      await rm(join(otherHome, 'artifacts'), { recursive: true });
      await expect(startServiceHere(otherHome)).rejects.toMatchObject({
        exitStatus: 78,
        message: expect.stringContaining('is incomplete') as string,
      });
      expect((await runHere(['restore', backupFolder, '--home', otherHome])).status).toBe(0);
      expect((await runHere(['verify', '--home', otherHome])).status).toBe(0);
    });
  });

  test('a command ends without an error message when the reader of its output disconnects', async () => {
    const run = runDivisor(['verify', '--home', home]);
    run.child.stdout.destroy();
    expect([await run.ended, run.err()]).toEqual([141, '']);
  });
}
