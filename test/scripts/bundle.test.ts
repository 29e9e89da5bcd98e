import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { openTemporaryFolders } from '../store/temporary-folder.js';

const createFolder = openTemporaryFolders();

const COMPILED = 'dist/.build/sources.tsbuildinfo';
const BUILD_FILE = 'dist/bundle/built.json';

/**
 * Returns where the entry point of the command is. The package has the given files with modification times in seconds.
 */
async function bundleInMode(times: Readonly<Record<string, number>>): Promise<string | undefined> {
  const folder = await createFolder();
  const place = (path: string) => join(folder, path);
  mkdirSync(dirname(place('dist/src/bundle.mjs')), { recursive: true });
  cpSync(resolve('dist/src/bundle.js'), place('dist/src/bundle.mjs'));
  for (const [path, time] of Object.entries(times)) {
    mkdirSync(dirname(place(path)), { recursive: true });
    writeFileSync(place(path), '');
    utimesSync(place(path), time, time);
  }
  const { findBundlePath: bundlePath } = (await import(
    pathToFileURL(place('dist/src/bundle.mjs')).href
  )) as typeof import('#bundle');
  return bundlePath('dispatch')?.replace(pathToFileURL(folder).href, '');
}

test('a bundle is used if it is newer than the sources, or has no compiler state', async () => {
  expect(await bundleInMode({ [COMPILED]: 1000, [BUILD_FILE]: 1001 })).toBe('/dist/bundle/dispatch.js');
  expect(await bundleInMode({ [BUILD_FILE]: 1000 })).toBe('/dist/bundle/dispatch.js');
});

test('newer compiled sources are used directly, as are sources that were never bundled', async () => {
  expect(await bundleInMode({ [COMPILED]: 1001, [BUILD_FILE]: 1000 })).toBeUndefined();
  expect(await bundleInMode({ [COMPILED]: 1000 })).toBeUndefined();
});

/** Creates a package and runs its command. @returns the form of the command that ran, which it prints */
async function createCommandPackage(cache: 'none' | 'of the script' | 'of another'): Promise<string> {
  const folder = await createFolder();
  const place = (path: string) => join(folder, path);
  const write = (path: string, text: string | Buffer) => {
    mkdirSync(dirname(place(path)), { recursive: true });
    writeFileSync(place(path), text);
  };
  write('package.json', '{ "type": "module" }');
  for (const file of ['bundle', 'code-cache', 'main'])
    write(`dist/src/${file}.js`, readFileSync(`dist/src/${file}.js`));
  write(BUILD_FILE, '');
  write('dist/bundle/dispatch.js', "export const dispatch = () => console.log('module') ?? 0;");
  const script = "(function (exports) { exports.dispatch = () => console.log('script') ?? 0; })";
  write('dist/bundle/dispatch.cjs', script);
  const { version, platform, arch } = process;
  const run = promisify(execFile);
  if (cache !== 'none') {
    const file = JSON.stringify(place(`dist/bundle/dispatch-${version}-${platform}-${arch}.cache`));
    const result = JSON.stringify(cache === 'of the script' ? script : `${script};`);
    // Runs in a separate process. V8 requires the flags of the compilation, and the test runner has different flags.
    const program = `fs.writeFileSync(${file}, new vm.Script(${result}).createCachedData())`;
    await run(process.execPath, ['-e', program]);
  }
  return (await run(process.execPath, [place('dist/src/main.js')])).stdout.trim();
}

test('the command is a script if its bundle is current, and modules if the bundle is missing or outdated', async () => {
  const caches = ['none', 'of the script', 'of another'] as const;
  expect(await Promise.all(caches.map(createCommandPackage))).toEqual(['module', 'script', 'module']);
});

test('the script of the command imports nothing at run time: code cached by V8 cannot', () => {
  const lines = readFileSync('dist/bundle/dispatch.cjs', 'latin1').split('\n');
  const codeLines = lines.filter((line) => !/^\s*(?:\*|\/\/|\/\*)/.test(line));
  expect(codeLines.filter((line) => /(?<![\w.$])import\(/.test(line))).toEqual([]);
});

const { imports } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  imports: Record<string, { readonly 'node-addons': string }>;
};

/** Returns the compiled module to which an import refers, or undefined for a package. */
function resolveModule(name: string, importer: string): string | undefined {
  if (name.startsWith('.')) return join(dirname(importer), name);
  const [room = '', ...path] = name.split('/');
  return imports[`${room}/*.js`]?.['node-addons'].replace('*.js', path.join('/'));
}

/** Returns the modules that a compiled module loads before it runs. */
function listLoadedFiles(entry: string, seenFiles = new Set<string>()): ReadonlySet<string> {
  if (seenFiles.has(entry)) return seenFiles;
  seenFiles.add(entry);
  const bundleText = readFileSync(entry, 'utf8');
  for (const [, name = ''] of bundleText.matchAll(/^(?:import|export)\s[^'";]*?'?([^'";\s]+)';$/gm)) {
    const place = resolveModule(name, entry);
    if (place !== undefined) listLoadedFiles(place, seenFiles);
  }
  return seenFiles;
}

test('a command loads nothing that only a service or another command needs', () => {
  const folders = [
    'dist/src/domain/decide/',
    'dist/src/domain/optimisation/',
    'dist/src/domain/backtest/',
    'dist/src/market/',
    'dist/src/services/',
    'dist/kernels/',
    'dist/workers/',
  ];
  const loadedFiles = [...listLoadedFiles('dist/src/cli/dispatch.js')];
  expect(loadedFiles).toContain('dist/src/cli/commands/indices.js');
  expect(loadedFiles.filter((module) => folders.some((room) => module.startsWith(room)))).toEqual([]);
  expect([...listLoadedFiles('dist/src/cli/commands/serve.js')]).toContain(
    'dist/src/domain/definition/rule-pipeline.js',
  );
});
