// Puts what was compiled into a few files in dist/bundle: a process or thread loads these in half of the time that its
// hundreds of modules and those of its packages take. `src/bundle.ts` says where they are used.
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const OUT = join(ROOT, 'dist/bundle');

/** By the names of `Entry` in `src/bundle.ts`. */
const ENTRIES = {
  dispatch: 'dist/src/cli/dispatch.js',
  'market-process-tasks': 'dist/src/market/process/market-process-tasks.js',
  tasks: 'dist/workers/tasks.js',
};

/** Native, or with files of their own that they look for beside themselves. */
const APART = [
  '@duckdb/node-bindings',
  '@tensorflow/',
  'koffi',
  'lmdb',
  'node-sqlite3-wasm',
  'pdfkit',
  'pg',
  'pg-copy-streams',
  'pino',
  'piscina',
];

/**
 * A module finds its files and the doors of threads where it was compiled to, wherever its code lies. What it requires is put
 * beside it like what it imports: DuckDB has some hundred modules of CommonJS, which take twice as long one by one.
 */
const ownPlaces = {
  name: 'own-places',
  async load(id) {
    if (!id.startsWith(join(ROOT, 'dist/'))) return null;
    const written = await readFile(id, 'utf8');
    const code = written.replace('const require = createRequire(import.meta.url);\n', '');
    if (code === written && !code.includes('import.meta.url')) return null;
    const place = relative(OUT, id).replaceAll('\\', '/');
    return code.replaceAll('import.meta.url', `new URL(${JSON.stringify(place)}, import.meta.url).href`);
  },
};

rmSync(OUT, { recursive: true, force: true });
const bundle = await rolldown({
  cwd: ROOT,
  input: ENTRIES,
  platform: 'node',
  external: (id) => APART.some((name) => id === name || id.startsWith(name.endsWith('/') ? name : `${name}/`)),
  plugins: [ownPlaces],
  logLevel: 'warn',
});
const { output } = await bundle.write({
  dir: OUT,
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: '[name]-[hash].js',
});
const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
await writeFile(join(OUT, 'LICENSES.txt'), licencesOf(modules));
await writeFile(join(OUT, 'built.json'), `${JSON.stringify(Object.keys(ENTRIES))}\n`);

/** The licences of the packages whose code is in the bundle, as the packages state them. */
function licencesOf(paths) {
  const folders = paths.flatMap((path) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(path)?.[0] ?? []);
  return [...new Set(folders)]
    .toSorted()
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
      const texts = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file));
      const text = texts.map((file) => readFileSync(join(folder, file), 'utf8').trim()).join('\n\n');
      return `${name} ${version} (${license})\n\n${text}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}
