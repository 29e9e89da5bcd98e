import { cpSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from 'vitest';
import { temporaryFolders } from '../store/temporary-folder.js';

const newFolder = temporaryFolders();

const COMPILED = 'dist/.build/sources.tsbuildinfo';
const BUILT = 'dist/bundle/built.json';

/** Where the entry of the command is taken from, in a package with these files and their times in seconds. */
async function bundledIn(times: Readonly<Record<string, number>>): Promise<string | undefined> {
  const folder = await newFolder();
  const place = (path: string) => join(folder, path);
  mkdirSync(dirname(place('dist/src/bundle.mjs')), { recursive: true });
  cpSync(resolve('dist/src/bundle.js'), place('dist/src/bundle.mjs'));
  for (const [path, time] of Object.entries(times)) {
    mkdirSync(dirname(place(path)), { recursive: true });
    writeFileSync(place(path), '');
    utimesSync(place(path), time, time);
  }
  const { bundled } = (await import(pathToFileURL(place('dist/src/bundle.mjs')).href)) as typeof import('#bundle');
  return bundled('dispatch')?.replace(pathToFileURL(folder).href, '');
}

test('a bundle is taken where it was built after the sources, or comes without the state of the compiler', async () => {
  expect(await bundledIn({ [COMPILED]: 1000, [BUILT]: 1001 })).toBe('/dist/bundle/dispatch.js');
  expect(await bundledIn({ [BUILT]: 1000 })).toBe('/dist/bundle/dispatch.js');
});

test('sources that were compiled since are taken themselves, as those that were never bundled', async () => {
  expect(await bundledIn({ [COMPILED]: 1001, [BUILT]: 1000 })).toBeUndefined();
  expect(await bundledIn({ [COMPILED]: 1000 })).toBeUndefined();
});
