import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const page = readFileSync('docs/performance.md', 'utf8');
const table = page.slice(page.indexOf('\n## Benches'), page.indexOf('\n## A warm backtest'));
const files = readdirSync('bench', { recursive: true, encoding: 'utf8' });

test('every benchmark is found by a word of the table in docs/performance.md', () => {
  const words = [...table.matchAll(/`([a-z]+[a-z/-]+)`/g)].map(([, word]) => word!);
  const benches = files.filter((file) => file.endsWith('.bench.ts'));
  expect(benches.length).toBeGreaterThan(0);
  expect(benches.filter((file) => !words.some((word) => file.includes(word)))).toEqual([]);
});

test('every variable that a benchmark reads stands in that table', () => {
  const own = new Set(['BENCH_LIMITS', 'BARE_BODY']); // Given by a benchmark to its own processes.
  const read = files
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => {
      const text = readFileSync(`bench/${file}`, 'utf8');
      return [...text.matchAll(/(?:process\.env\[|(?:number|words|list)From\()'([A-Z_]+)'/g)].map(([, name]) => name!);
    });
  expect(read.length).toBeGreaterThan(0);
  expect([...new Set(read)].filter((name) => !own.has(name) && !table.includes(`\`${name}\``))).toEqual([]);
});

test('every source that docs/performance.md names is there', () => {
  const named = [...page.matchAll(/`([\w/-]+\.ts)`/g)].map(([, path]) => path!);
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((path) => !existsSync(path) && !existsSync(`src/${path}`))).toEqual([]);
});
