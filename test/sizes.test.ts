import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

function listSizeViolations(files: Readonly<Record<string, string>>): readonly string[] {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  const words = ['-c', '.sizes.oxlintrc.json', '--format=unix', ...Object.keys(files)];
  const { stdout } = spawnSync(join(folder, 'node_modules/.bin/oxlint'), words, { cwd: folder, encoding: 'utf8' });
  return stdout
    .split('\n')
    .flatMap((line) => /^([^:]+):.*?: (.*) \[/.exec(line)?.slice(1, 3).join(': ') ?? [])
    .toSorted();
}

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'divisor-sizes-'));
  mkdirSync(join(folder, 'test'));
  for (const path of ['node_modules', '.sizes.oxlintrc.json', 'test/own-lines.mjs'])
    symlinkSync(resolve(path), join(folder, path));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Returns the text of a function with this number of lines. The first and the last line count as well. */
const formatLines = (count: number, within = '') => {
  const inner = within === '' ? 0 : within.split('\n').length;
  return `export function f() {\n${within}${within === '' ? '' : '\n'}${'  g();\n'.repeat(count - 2 - inner)}}`;
};

test('a function has at most 100 lines, excluding its inner functions', () => {
  const inner = formatLines(40).replace('export function f', 'const h = function');
  expect(
    listSizeViolations({
      'src/a.ts': formatLines(100),
      'src/b.ts': formatLines(101),
      'kernels/b.ts': formatLines(101),
      'src/c.ts': formatLines(100 + 39, inner),
      'src/d.ts': formatLines(101 + 39, inner),
    }),
  ).toEqual([
    'kernels/b.ts: The function has 101 lines; at most 100 are allowed.',
    'src/b.ts: The function has 101 lines; at most 100 are allowed.',
    'src/d.ts: The function has 101 lines; at most 100 are allowed.',
  ]);
});

test('a literal of any length may be the result of an arrow function, like a literal outside functions', () => {
  expect(listSizeViolations({ 'src/h.ts': `export const h = () => ({\n${'  a: g(),\n'.repeat(110)}});\n` })).toEqual(
    [],
  );
});

test('a file has at most 1,200 lines, also in kernels', () => {
  const shortText = `${'g();\n'.repeat(1200)}`;
  expect(
    listSizeViolations({
      'src/e.ts': shortText,
      'src/f.ts': `${shortText}g();\n`,
      'kernels/g.ts': `${shortText}g();\n`,
    }),
  ).toEqual(['kernels/g.ts: File has too many lines (1201).', 'src/f.ts: File has too many lines (1201).']);
});
