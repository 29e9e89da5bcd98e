import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { expect, test } from 'vitest';

const pageText = readFileSync('docs/performance.md', 'utf8');
const tableText = pageText.slice(pageText.indexOf('\n## Benches'), pageText.indexOf('\n## Compared with others'));
const files = readdirSync('bench', { recursive: true, encoding: 'utf8' });

test('every benchmark is found by a word of the table in docs/performance.md', () => {
  const words = [...tableText.matchAll(/`([a-z]+[a-z/-]+)`/g)].map(([, word]) => word!);
  const benches = files.filter((file) => file.endsWith('.bench.ts'));
  expect(benches.length).toBeGreaterThan(0);
  expect(benches.filter((file) => !words.some((word) => file.includes(word)))).toEqual([]);
});

test('the benches need at most 48 files', () => {
  expect(
    files.filter((file) => /\.\w+$/.test(basename(file)) && !file.startsWith('results/')).length,
  ).toBeLessThanOrEqual(48);
});

test('every source named in docs/decisions/fast-paths.md exists', () => {
  const reasonsText = readFileSync('docs/decisions/fast-paths.md', 'utf8');
  const namedFiles = [...reasonsText.matchAll(/`([\w/-]+\.ts)`/g)].map(([, path]) => path!);
  expect(namedFiles.length).toBeGreaterThan(10);
  expect(namedFiles.filter((path) => !existsSync(path) && !existsSync(`src/${path}`))).toEqual([]);
});
