// Puts what was compiled into a few files in dist/bundle: a process or thread loads these in half of the time that its
// hundreds of modules and those of its packages take. `src/bundle.ts` says where they are used.
import { readFile, writeFile } from 'node:fs/promises';
import { rmSync } from 'node:fs';
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
  '@duckdb/',
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

/** A module finds its files and the doors of threads where it was compiled to, wherever its code lies. */
const ownPlaces = {
  name: 'own-places',
  async load(id) {
    if (!id.startsWith(join(ROOT, 'dist/'))) return null;
    const code = await readFile(id, 'utf8');
    if (!code.includes('import.meta.url')) return null;
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
await bundle.write({ dir: OUT, format: 'esm', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' });
await writeFile(join(OUT, 'built.json'), `${JSON.stringify(Object.keys(ENTRIES))}\n`);
