import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runHere, startServiceHere } from '../process.js';
import { home, service, createFolder, ask, listLines } from './set-up.js';

/** Paths of the versions, stored runs and publications that a backup must keep. `verify` checks the audit log. */
const KEPT_PATHS = [
  '/indices/EVEN/versions',
  '/indices/EVEN/versions/1',
  '/data/stores/market/versions',
  '/analytics/EVEN/runs',
  '/analytics/EVEN/published',
  '/analytics/EVEN/published/keys',
];

export function describeBackup(): void {
  describe('a backup', () => {
    test('is taken while clients write, restored elsewhere, and served with all its content', async () => {
      const folder = join(await createFolder(), 'copy');
      expect((await ask(service.url, 'POST', '/analytics/EVEN/publish', {})).status).toBe(200);
      await ask(service.url, 'GET', '/audit'); // reading the audit log signs it
      const stopController = new AbortController();
      const writtenSerials: number[] = [];
      const writes = (async () => {
        for (let i = 0; !stopController.signal.aborted; i++) {
          const { status } = await ask(service.url, 'PUT', '/data/watchlists/busy', {
            name: `v${i}`,
            identifiers: ['A'],
          });
          if (status < 300) writtenSerials.push(i);
        }
      })();
      await expect.poll(() => writtenSerials.length).toBeGreaterThan(3);
      const before = writtenSerials.at(-1)!;
      const { status, out, err } = await runHere(['backup', folder, '--home', home]);
      stopController.abort();
      await writes;
      expect({ status, err }).toEqual({ status: 0, err: '' });
      expect(listLines(out)[0]).toMatchObject({ folder, damaged: [] });

      const otherHome = join(await createFolder(), 'elsewhere');
      expect((await runHere(['restore', folder, '--home', otherHome])).status).toBe(0);
      const recordText = await (await fetch(`${service.url}/analytics/EVEN/record`)).text();
      const restoredAnswers = await Promise.all(KEPT_PATHS.map((path) => ask(service.url, 'GET', path)));
      expect(restoredAnswers.map(({ status: found }) => found)).toEqual(KEPT_PATHS.map(() => 200));
      const secondService = await startServiceHere(otherHome);
      try {
        expect(await (await fetch(`${secondService.url}/analytics/EVEN/record`)).text()).toBe(recordText);
        expect(await Promise.all(KEPT_PATHS.map((path) => ask(secondService.url, 'GET', path)))).toEqual(
          restoredAnswers,
        );
        const busySerial = Number(
          String((await ask(secondService.url, 'GET', '/data/watchlists/busy')).body['name']).slice(1),
        );
        expect(busySerial).toBeGreaterThanOrEqual(before);
        await expect
          .poll(async () => (await ask(secondService.url, 'GET', '/data/stores/market')).body['active'])
          .toBe(true);
        expect((await ask(secondService.url, 'GET', '/data/stores/market')).body['location']).toContain(otherHome);
      } finally {
        await secondService.stop();
      }
      expect((await runHere(['verify', '--home', otherHome])).status).toBe(0);
    });

    test('is written only to a new folder, and leaves nothing in the home', async () => {
      const folder = await createFolder();
      await writeFile(join(folder, 'mine'), '');
      const { status, err } = await runHere(['backup', folder, '--home', home]);
      expect([status, err]).toEqual([
        78,
        `divisor: The folder ${folder} is not empty; a backup requires a new folder.\n`,
      ]);
      expect((await readdir(home)).filter((name) => name.startsWith('.'))).toEqual([]);
    });

    test('removes the files that a killed backup left in the home', async () => {
      await mkdir(join(home, '.backup-4194300-ab', 'artifacts'), { recursive: true });
      const folder = join(await createFolder(), 'copy');
      expect((await runHere(['backup', folder, '--home', home])).status).toBe(0);
      expect((await readdir(home)).filter((name) => name.startsWith('.'))).toEqual([]);
    });

    test('of no home is refused', async () => {
      const folder = await createFolder();
      expect((await runHere(['backup', join(folder, 'copy'), '--home', join(folder, 'none')])).status).toBe(78);
    });
  });
}
