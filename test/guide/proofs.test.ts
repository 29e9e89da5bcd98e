import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { TAKEN } from '../console/picture.js';

/** Pages that state which test proves each promise. They must not name deleted tests. */
const PAGES = ['threats', 'promises'];

/** Returns the names of tests in the tables of a page. A name is `room/name` or a folder of tests. */
function listTestsNamed(page: string): string[] {
  const rows = readFileSync(`data/guide/${page}.md`, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| '));
  const cells = rows.flatMap((row) => row.split('|').slice(-3));
  return [
    ...new Set(
      cells
        .flatMap((cell) => cell.split(/[,;]/))
        .map((word) => word.trim().replaceAll('`', ''))
        .filter((word) => /^[a-z]+(?:\/[a-z-]+)+$|^(?:fuzz|overload)$/.test(word)),
    ),
  ];
}

test.each(PAGES)('every test that the page %s names exists', (page) => {
  const names = listTestsNamed(page);
  expect(names.length).toBeGreaterThan(15);
  expect(names.filter((name) => !existsSync(`test/${name}.test.ts`) && !existsSync(`test/${name}`))).toEqual([]);
});

test('each guarantee names a test that proves it', () => {
  const [, table = ''] = readFileSync('data/guide/promises.md', 'utf8').split('## Guarantees and tests');
  const rows = table
    .split('\n## ')[0]!
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1); // the first row has the titles
  expect(rows.length).toBeGreaterThan(15);
  const exists = (name: string) => existsSync(`test/${name}.test.ts`) || existsSync(`test/${name}`);
  const withoutTest = rows.filter((row) => {
    const names = row.split('|')[2]!.split(/[,;]/);
    return names.length === 0 || !names.every((name) => name.trim() !== '' && exists(name.trim()));
  });
  expect(withoutTest).toEqual([]);
});

test('every picture of the guide was taken from the console of this version, by PICTURES=1', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string };
  const taken = JSON.parse(readFileSync(TAKEN, 'utf8')) as Readonly<Record<string, string>>;
  const pages = ['README.md', ...readdirSync('data/guide').map((name) => `data/guide/${name}`)];
  const shown = pages
    .filter((file) => file.endsWith('.md'))
    .flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/pictures\/([a-z-]+)\.webp/g)].map((match) => match[1]!),
    );
  const names = [...new Set(shown)].toSorted();
  expect(names.length).toBeGreaterThan(5);
  expect(names.filter((name) => !existsSync(`data/guide/pictures/${name}.webp`))).toEqual([]);
  expect(taken).toEqual(Object.fromEntries(names.map((name) => [name, version])));
});
