import { existsSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { createProject, type Project } from './project.js';

let project: Project;
let buildHere: (options?: { readonly answers?: boolean }) => Promise<readonly string[]>;
beforeAll(async () => {
  project = await createProject();
  const script = pathToFileURL(join(project.folder, 'scripts/build.mjs')).href;
  ({ build: buildHere } = (await import(script)) as { readonly build: typeof buildHere });
});
afterAll(() => project.close());

/**
 * Runs the build script of the project in this process.
 * @returns the steps that it ran, without the compiler
 */
const build = async (options?: { readonly answers?: boolean }) => {
  await buildHere(options);
  return project.steps();
};
/** Runs the build by its command. Its output is not shown. */
const buildByCommand = async () => {
  const { status, written } = await project.run(process.execPath, ['scripts/build.mjs']);
  expect([status, written]).toEqual([0, '']);
  return project.steps();
};
const isPresent = (path: string) => existsSync(join(project.folder, path));
/** Sets the modification time of a file to the past. So the test can see that it is written again later. */
const age = (path: string) => utimesSync(join(project.folder, path), 1000, 1000);
const isNewlyWritten = (path: string) => statSync(join(project.folder, path)).mtimeMs !== 1_000_000;

beforeEach(async () => {
  await build();
});

test('a build without changes runs no step and writes nothing', async () => {
  const files = ['dist/test/first.test.js', 'dist/.build/stamps.json', 'dist/src/clients/typescript/divisor.d.ts'];
  files.forEach(age);
  expect(await buildByCommand()).toEqual([]);
  expect(files.filter(isNewlyWritten)).toEqual([]);
});

test('a touched file with unchanged content runs no step', async () => {
  age('src/main.ts');
  age('data/guide/build.mjs');
  expect(await build()).toEqual([]);
});

test('a change that keeps the size and the modification time of a file is compiled', async () => {
  await project.write('test/first.test.ts', 'export const first = 4;\n');
  age('test/first.test.ts');
  await setTimeout(2100); // until the state of the file is stored with its digest
  await build();
  expect(await project.read('dist/.build/digests.json')).toContain('test/first.test.ts');
  await project.write('test/first.test.ts', 'export const first = 5;\n');
  age('test/first.test.ts');
  await build();
  expect(await project.read('dist/test/first.test.js')).toContain('first = 5');
});

test('a changed test is compiled, and nothing else is rebuilt', async () => {
  age('dist/src/main.js');
  await project.write('test/first.test.ts', 'export const first = 2;\n');
  expect(await build()).toEqual([]);
  expect(await project.read('dist/test/first.test.js')).toContain('first = 2');
  expect(isNewlyWritten('dist/src/main.js')).toBe(false);
  const findChangeTime = (path: string) => statSync(join(project.folder, path)).mtimeMs;
  for (const datedFile of ['dist/bundle/built.json', 'dist/documentation/built.json'])
    expect(findChangeTime(datedFile)).toBeGreaterThanOrEqual(findChangeTime('dist/.build/sources.tsbuildinfo'));
});

test('a changed source rebuilds the bundle with its code cache, the engine, the answers and the documentation; a changed kernel also the kernel; a page of the guide only the guide', async () => {
  await project.write('src/other.ts', 'export const other = 1;\n');
  expect(await build()).toEqual(['answers', 'bundle', 'code-cache', 'compress', 'engine', 'guide']);
  await project.write('kernels/wasm/sum.ts', 'export const sum: f64 = 0;\n');
  expect(await build()).toEqual(['answers', 'bundle', 'code-cache', 'compress', 'engine', 'guide', 'kernels']);
  age('dist/src/other.js');
  await project.write('data/guide/README.md', '# Guide\n');
  expect(await build()).toEqual(['compress', 'guide']);
  expect(isNewlyWritten('dist/src/other.js')).toBe(false);
});

test('the clients are written before the program is compiled, and again only if their contract has changed', async () => {
  await project.remove('src/clients/typescript/contract.ts');
  await project.remove('dist/src/clients/typescript/contract.js');
  expect(await build()).toEqual(['clients']);
  expect(await project.read('dist/src/clients/typescript/contract.js')).toContain('contract = 1');
  await project.write('src/contract/api.ts', 'export const contract = 2;\n');
  expect(await build()).toContain('clients');
  expect(await project.read('dist/src/clients/typescript/contract.js')).toContain('contract = 2');
  await project.write('src/other.ts', 'export const other = 2;\n');
  expect(await build()).not.toContain('clients');
});

test('a start does not record the answers, and the next build does', async () => {
  await project.write('src/main.ts', `${await project.read('src/main.ts')}// changed\n`);
  expect(await build({ answers: false })).toEqual(['bundle', 'code-cache', 'compress', 'engine', 'guide']);
  expect(await build({ answers: false })).toEqual([]);
  expect(await build()).toEqual(['answers']);
});

test('a changed console is rebuilt without the rest, unless it does not compile', async () => {
  age('dist/src/main.js');
  await project.write('src/console/main.tsx', 'export const page = 2;\n');
  expect(await build()).toEqual(['console']);
  expect(isNewlyWritten('dist/src/main.js')).toBe(false);
  await project.write('src/console/main.tsx', "export const page: number = 'two';\n");
  const { status, written } = await project.run(process.execPath, ['scripts/build.mjs', '--compile']);
  expect([status, written]).toEqual([1, expect.stringContaining('src/console/main.tsx(1,14): error TS2322')]);
  await project.write('src/console/main.tsx', 'export const page = 3;\n');
});

test('the output of a removed source is removed; a renamed source is compiled only under its new name', async () => {
  await project.write('test/second.test.ts', 'export const second = 1;\n');
  await build();
  expect(isPresent('dist/test/second.test.js')).toBe(true);
  await project.write('test/third.test.ts', await project.read('test/second.test.ts'));
  await project.remove('test/second.test.ts');
  await build();
  const arePresent = ['first', 'second', 'third'].map((name) => isPresent(`dist/test/${name}.test.js`));
  expect(arePresent).toEqual([true, false, true]);
});

test('missing outputs are built again', async () => {
  const files = [
    'dist/src/main.js',
    'dist/src/clients/typescript/divisor.d.ts',
    'dist/kernels/wasm/kernels.wasm',
    'dist/bundle/built.json',
    'dist/guide.json',
    'dist/console/index.html',
    'dist/src/engine/api.d.ts',
    'dist/engine/built.json',
  ];
  for (const file of files) await project.remove(file);
  await buildByCommand();
  expect(files.filter((file) => !isPresent(file))).toEqual([]);
  await project.remove('dist/documentation/built.json'); // a file written by the step that generates the guide
  await build();
  expect(isPresent('dist/documentation/built.json')).toBe(true);
});

test('the output of another state is not reused', async () => {
  const text = await project.read('test/first.test.ts');
  await project.write('test/first.test.ts', 'export const first = 99;\n');
  expect((await project.run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json'])).status).toBe(
    0,
  );
  await project.write('test/first.test.ts', text);
  await build();
  expect(await project.read('dist/test/first.test.js')).not.toContain('99');
});

test('test:one compiles and builds nothing else, and fails if no title has the given text', async () => {
  await project.write('vitest.config.mjs', "export default { test: { include: ['dist/test/**/*.test.js'] } };\n");
  await project.write('test/sum.test.ts', "import { test } from 'vitest';\ntest('a sum', () => {});\n");
  await project.write('src/other.ts', 'export const other = 3;\n');
  const { status, written } = await project.run(process.execPath, ['scripts/test-one.mjs', 'sum', '-t', 'difference']);
  expect([status, written]).toEqual([1, expect.stringContaining('1 skipped')]);
  expect(written).toContain('No test ran');
  expect(await project.steps()).toEqual([]);
  await project.remove('test/sum.test.ts');
});

test('a source that does not compile fails each build until it is corrected', async () => {
  await project.write('src/wrong.ts', "export const count: number = 'one';\n");
  for (const _ of [1, 2]) {
    const { status, written } = await project.run(process.execPath, ['scripts/build.mjs']);
    expect([status, written]).toEqual([1, expect.stringContaining('src/wrong.ts(1,14): error TS2322')]);
  }
  await project.remove('src/wrong.ts');
  await build();
  expect(isPresent('dist/src/wrong.js')).toBe(false);
});
