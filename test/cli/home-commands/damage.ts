import { cp, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { flipDocument } from '../../store/flip-document.js';
import { runHere, startServiceHere } from '../process.js';
import { home, createFolder, ask, listLines } from './set-up.js';

export function describeDamage(): void {
  describe('a damaged home or backup', () => {
    let wholeHome: string;
    beforeAll(async () => {
      wholeHome = join(await mkdtemp(join(tmpdir(), 'divisor-whole-')), 'backup');
      expect((await runHere(['backup', wholeHome, '--home', home])).status).toBe(0);
    });
    afterAll(() => rm(dirname(wholeHome), { recursive: true }));

    async function createBackup(folder: string): Promise<string> {
      const backupFolder = join(folder, 'backup');
      await cp(wholeHome, backupFolder, { recursive: true });
      return backupFolder;
    }

    /** Restores the backup to a new home that no process uses. */
    async function restoreIdleHome(): Promise<string> {
      const otherHome = join(await createFolder(), 'home');
      await runHere(['restore', wholeHome, '--home', otherHome]);
      return otherHome;
    }

    /** Changes one bit in the middle of a file. */
    async function flip(file: string): Promise<void> {
      const bytes = await readFile(file);
      const offset = Math.floor(bytes.length / 2);
      bytes[offset] = bytes[offset]! ^ 1;
      await writeFile(file, bytes);
    }

    test('is reported part by part, with names and reasons', async () => {
      const otherHome = await restoreIdleHome();
      const [managed] = await readdir(join(otherHome, 'stores'));
      await flip(join(otherHome, 'stores', managed!, 'market.parquet'));
      const artifacts = await readdir(join(otherHome, 'artifacts'));
      await flip(join(otherHome, 'artifacts', artifacts[0]!));
      await rm(join(otherHome, 'artifacts', artifacts[1]!));
      await flipDocument(otherHome, 'main\u0000watchlist\u0000mine');

      const { status, out } = await runHere(['verify', '--home', otherHome]);
      expect(status).toBe(1);
      const damagedParts = Object.fromEntries(listLines(out).map(({ part, damaged: found }) => [part, found]));
      expect(damagedParts['watchlist']).toEqual([{ name: 'mine', reason: 'its checksum differs' }]);
      expect(damagedParts['stores']).toEqual([{ name: 'market/market', reason: 'its checksum differs' }]);
      const damagedRun = { documents: expect.arrayContaining(['run EVEN']) };
      const reportedLines = [
        { ...damagedRun, name: artifacts[0], reason: 'its checksum differs' },
        { ...damagedRun, name: artifacts[1], reason: 'the file is missing' },
      ];
      expect(damagedParts['artifacts']).toHaveLength(2);
      expect(damagedParts['artifacts']).toEqual(expect.arrayContaining(reportedLines));
      expect(damagedParts['index']).toEqual([]);

      const folder = join(await createFolder(), 'copy');
      const copiedOutcome = await runHere(['backup', folder, '--home', otherHome]);
      expect(copiedOutcome.status).toBe(1);
      expect(listLines(copiedOutcome.out)[0]!['damaged']).toEqual(
        expect.arrayContaining([`artifacts/${artifacts[0]}`, `artifacts/${artifacts[1]}`]),
      );
    });

    test('with an unreadable store document keeps the folder that the document named', async () => {
      const otherHome = await restoreIdleHome();
      const before = await readdir(join(otherHome, 'stores'));
      await flipDocument(otherHome, 'main\u0000store\u0000market');
      const secondService = await startServiceHere(otherHome);
      await expect.poll(async () => (await ask(secondService.url, 'GET', '/data/stores')).body['skipped']).toBe(1);
      await secondService.stop();
      expect([before.length, await readdir(join(otherHome, 'stores'))]).toEqual([1, before]);
    });

    test('is not restored, and the home stays as it was', async () => {
      const folder = await createFolder();
      const backupFolder = await createBackup(folder);
      await flip(join(backupFolder, 'documents', 'data.mdb'));
      expect((await runHere(['verify', '--backup', backupFolder])).status).toBe(1);
      const otherHome = join(folder, 'home');
      const { status, err } = await runHere(['restore', backupFolder, '--home', otherHome]);
      expect([status, err]).toEqual([
        78,
        `divisor: The backup ${backupFolder} is damaged and was not restored: documents/data.mdb.\n`,
      ]);
      await expect(stat(otherHome)).rejects.toThrow('ENOENT');
    });

    test.each([
      ['the home format of a newer engine', { home_format: 99 }, 'format 99'],
      ['a newer layout of backups', { format: 2 }, 'has the format 2'],
      ['a path outside it', { files: [{ path: '../../outside', bytes: 1, sha256: '0'.repeat(64) }] }, 'manifest'],
      [
        'a path that leaves its folder',
        { files: [{ path: 'stores/../documents', bytes: 1, sha256: '0'.repeat(64) }] },
        'manifest',
      ],
      ['a dot in a path', { files: [{ path: 'stores/./documents', bytes: 1, sha256: '0'.repeat(64) }] }, 'manifest'],
    ])('with %s is refused', async (_name, change, says) => {
      const folder = await createFolder();
      const backupFolder = await createBackup(folder);
      const file = join(backupFolder, 'manifest.json');
      await writeFile(file, JSON.stringify({ ...(JSON.parse(await readFile(file, 'utf8')) as object), ...change }));
      const { status, err } = await runHere(['restore', backupFolder, '--home', join(folder, 'home')]);
      expect(status).toBe(78);
      expect(err).toContain(says);
    });
  });
}
