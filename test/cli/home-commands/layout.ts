import { cp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openHome } from '#store/home/home.js';
import { openStore } from '#store/open-store.js';
import { runHere, startServiceHere } from '../process.js';
import { createFolder } from './set-up.js';

export function describeLayout(): void {
  describe('the layout of a home', () => {
    test('is upgraded step by step, repeating an interrupted step', async () => {
      const path = await createFolder();
      await (await openHome(path)).close();
      const steps: string[] = [];
      let isCut = true;
      const upgrades = [
        async () => void steps.push('1 to 2'),
        async () => {
          steps.push('2 to 3');
          if (isCut) throw new Error('the power failed');
        },
      ];
      await expect(openHome(path, upgrades)).rejects.toThrow('the power failed');
      expect(await readFile(join(path, 'format'), 'utf8')).toBe('2\n');
      isCut = false;
      await (await openHome(path, upgrades)).close();
      expect(steps).toEqual(['1 to 2', '2 to 3', '2 to 3']);
      expect(await readFile(join(path, 'format'), 'utf8')).toBe('3\n');
      await expect(openHome(path)).rejects.toMatchObject({
        exitStatus: 78,
        message: 'The home has format 3; this engine reads formats up to 1.',
      });
    });

    test('of version 0.1.0 is read completely', async () => {
      const path = join(await createFolder(), 'home');
      await cp('test/golden/home-0.1.0', path, { recursive: true });
      expect(await runHere(['migrate', '--home', path])).toMatchObject({
        status: 0,
        out: '9 documents were converted.\n',
      });
      const openedHome = await openHome(path);
      const store = await openStore({
        home: openedHome,
        onFailure: (cause) => {
          throw cause;
        },
      });
      const ids = JSON.parse(await readFile('test/golden/home-0.1.0/ids.json', 'utf8')) as Record<string, string[]>;
      for (const [kind, expected] of Object.entries(ids)) {
        expect(await store.documents.ids(kind as never), kind).toEqual(expected);
        for (const id of expected)
          expect(await store.documents.get(kind as never, id), `${kind} ${id}`).toHaveProperty('body');
      }
      await store.close();
      await openedHome.close();
      expect((await runHere(['verify', '--home', path])).status).toBe(0);
    });

    test('with results but without documents is refused, and no file is removed', async () => {
      const path = await createFolder();
      await (await openHome(path)).close();
      await writeFile(join(path, 'artifacts', `${'a'.repeat(32)}.art`), 'x');
      await expect(startServiceHere(path)).rejects.toMatchObject({
        exitStatus: 78,
        message: expect.stringContaining('contains 1 results but no documents') as string,
      });
      expect(await readdir(join(path, 'artifacts'))).toHaveLength(1);
    });
  });
}
