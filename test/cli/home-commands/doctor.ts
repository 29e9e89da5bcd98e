import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runToEnd, runHere } from '../process.js';
import { home, service, createFolder, listLines } from './set-up.js';

export function describeDoctor(): void {
  describe('the doctor', () => {
    test('reports a served home as healthy, and the process that serves it', async () => {
      const { hostname, port } = new URL(service.url);
      const { status, out } = await runHere(['doctor', '--home', home, '--host', hostname, '--port', port]);
      const result = Object.fromEntries(listLines(out).map(({ subject, state, says }) => [subject, [state, says]]));
      expect(listLines(out).filter(({ state }) => state === 'fault')).toEqual([]);
      expect(status).toBe(0);
      expect(result['lock']).toEqual(['ok', `Process ${service.child.pid} serves the home.`]);
      expect(result['address']).toEqual(['ok', expect.stringMatching(/^Divisor \d.* listens/)]);
      expect(result['documents']).toEqual(['ok', expect.stringContaining('every checksum is correct')]);
    });

    test.each([
      ['their defaults', []],
      ['those given', ['--data-roots', '/usr:/absent/place']],
    ])('lists the allowed folders as the settings show them: %s', async (_, flags) => {
      const folder = await createFolder();
      const configText = (await runHere(['config', '--home', folder, ...flags])).out
        .split('\n')
        .find((line) => line.startsWith('--data-roots '))!;
      const value = configText.split(/ {2,}/)[2]!;
      expect(value).toBe(flags.length === 0 ? folder : '/usr, /absent/place');
      const { out } = await runHere(['doctor', '--home', folder, '--port', '0', ...flags]);
      const match = listLines(out).find(({ subject }) => subject === 'data roots')!;
      expect(match['says']).toContain(
        `Folder stores and file databases must be below ${value}; --data-roots or DIVISOR_DATA_ROOTS sets other folders.`,
      );
      expect(match['state']).toBe(flags.length === 0 ? 'ok' : 'warning');
    });

    test('reports the missing requirements of an unavailable engine, as the built command does', async () => {
      const { out } = await runToEnd(['doctor', '--home', await createFolder(), '--port', '0', '--numerics', 'native']);
      const { says } = listLines(out).find(({ subject }) => subject === 'numerics')!;
      expect(says).toMatch(/^native: |Not native: ./);
    });

    test('warns of dates on which only some securities of the served store have a bar', async () => {
      const folder = await createFolder();
      const csvPath = join(folder, 'market.csv');
      const bars = ['2024-01-02', '2024-01-03'].flatMap((date, t) =>
        ['A', 'B', 'C'].slice(t === 0 ? 0 : 2).map((name) => `${date},${name},10`),
      );
      await writeFile(csvPath, ['date,identifier,CLOSE', ...bars, ''].join('\n'));
      const homeFlags = ['--home', join(folder, 'home')];
      const result = await runHere([
        'import',
        csvPath,
        '--activate',
        '--id',
        'part',
        '--data-roots',
        folder,
        ...homeFlags,
      ]);
      expect(result.status, result.err).toBe(0);
      const { out } = await runHere(['doctor', '--port', '0', ...homeFlags]);
      expect(listLines(out).find(({ subject }) => subject === 'data')).toMatchObject({
        state: 'warning',
        says: expect.stringContaining('1 date has bars of only some securities, the latest 2024-01-03'),
      });
    });

    test('exits with 1 for each problem that needs a repair, with a sentence about it', async () => {
      const folder = await createFolder();
      await writeFile(join(folder, 'format'), '7\n');
      await mkdir(join(folder, 'documents'));
      await writeFile(join(folder, 'documents', 'data.mdb'), '');
      const { status, out } = await runHere([
        'doctor',
        '--home',
        folder,
        '--host',
        '0.0.0.0',
        '--port',
        '0',
        '--data-roots',
        '/absent/place',
      ]);
      expect(status).toBe(1);
      const faults = Object.fromEntries(
        listLines(out)
          .filter(({ state }) => state !== 'ok')
          .map(({ subject, says }) => [subject, says]),
      );
      expect(faults).toMatchObject({
        home: `${folder} has format 7; this engine reads formats up to 1.`,
        documents: expect.stringContaining('is empty'),
        keys: expect.stringContaining('Without a key the service does not listen on 0.0.0.0'),
        'data roots': expect.stringContaining('/absent/place'),
      });
    });
  });
}
