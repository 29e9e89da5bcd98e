// Builds `divisor/engine`: the index engine with its kernels, calendars and dependencies in a few modules that run in
// both Node and browsers. Modules of `src/engine/embedded` replace modules of Node. The same modules are the worker of
// `dist/page`, a folder of static files with which the engine can be tried without an installation.
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { createModuleCollector, writePackages } from './bundled-packages.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const OUT = join(ROOT, 'dist/engine');
const PAGE = join(ROOT, 'dist/page');
const PAGE_FILES = ['index.html', 'page.css', 'page.js', 'chart.js'];
const CALENDARS = join(ROOT, 'data/calendars');
const QUICKJS = fileURLToPath(import.meta.resolve('@jitl/quickjs-wasmfile-release-sync/wasm'));

/** Maximum compressed size for a page, in bytes. */
const COMPRESSED_BYTES_MAX = 1.5e6;

/** Modules, relative to dist, that the bundle replaces with modules of `src/engine/embedded`. */
const EMBEDDED = {
  'kernels/engines/team.js': 'team',
  'kernels/engines/kernel-module.js': 'kernel-module',
  'kernels/memory/paged-memory.js': 'memory',
  'src/base/sandbox/quickjs-files.js': 'quickjs-files',
  'src/engine/version.js': 'version',
  'src/market/serve/calendar-files.js': 'calendar-files',
};
const EMBEDDED_NODE = { 'node:crypto': 'crypto', 'node:timers/promises': 'timers' };

const embeddedModulePlugin = {
  name: 'in-place',
  async resolveId(id, importer, options) {
    const own = EMBEDDED_NODE[id];
    if (own !== undefined) return getEmbeddedPath(own);
    if (id.startsWith('node:')) throw new Error(`${importer} needs ${id}, which no browser has.`);
    const resolved = await this.resolve(id, importer, { ...options, skipSelf: true });
    const name = EMBEDDED[resolved?.id.slice(join(ROOT, 'dist/').length)];
    return name === undefined ? resolved : getEmbeddedPath(name);
  },
};

/** Plugin that replaces the global object of Zod, so that its schemas stay apart from those of the host program. */
const schemaPlugin = {
  name: 'own-schemas',
  transform: (code, id) =>
    id.includes('/zod/') && code.includes('__zod_global')
      ? `const ownGlobal = {};\n${code.replaceAll('globalThis', 'ownGlobal')}`
      : null,
};

const getEmbeddedPath = (name) => join(ROOT, `dist/src/engine/embedded/${name}.js`);

/** Maps the files of the calendar folder to the names that `createCalendars` requests. */
function readCalendarFiles() {
  const names = readdirSync(CALENDARS, { recursive: true }).filter((name) => name.endsWith('.json'));
  const files = names
    .toSorted()
    .map((name) => [
      name.replaceAll('\\', '/').replace(/\.json$/, ''),
      JSON.parse(readFileSync(join(CALENDARS, name), 'utf8')),
    ]);
  return JSON.stringify(Object.fromEntries(files));
}

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));

rmSync(OUT, { recursive: true, force: true });
const collector = createModuleCollector();
const options = {
  cwd: ROOT,
  platform: 'browser',
  // The imports of package.json lead Node, which alone has this condition, to compiled modules.
  resolve: { conditionNames: ['node-addons', 'browser', 'module', 'default'] },
  logLevel: 'warn',
  plugins: [embeddedModulePlugin, schemaPlugin, collector.plugin],
  transform: {
    define: {
      EMBEDDED_CALENDARS: JSON.stringify(readCalendarFiles()),
      EMBEDDED_KERNELS: JSON.stringify(readFileSync(join(ROOT, 'dist/kernels/wasm/kernels.wasm')).toString('base64')),
      EMBEDDED_QUICKJS: JSON.stringify(readFileSync(QUICKJS).toString('base64')),
      EMBEDDED_VERSION: JSON.stringify(version),
    },
  },
};
const written = { dir: OUT, format: 'esm', entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' };

// Line breaks are preserved, because an unhandled error prints the whole line in which it occurs.
const minify = { compress: true, mangle: true, codegen: { removeWhitespace: false } };
const library = await rolldown({ ...options, input: { engine: 'dist/src/engine/main.js' } });
const { output } = await library.write({ ...written, minify });
const worker = await rolldown({ ...options, input: { 'verify-worker': 'dist/src/engine/verify-worker.js' } });
const { output: ofPage } = await worker.write({ ...written, minify: true, codeSplitting: false });
for (const { code } of ofPage) {
  const bytes = Buffer.from(code);
  writeFileSync(join(OUT, 'verify-worker.js.br'), brotliCompressSync(bytes));
  writeFileSync(join(OUT, 'verify-worker.js.gzip'), gzipSync(bytes, { level: 9 }));
}
// The second-highest compression level takes a tenth of the time and adds a tenth to the size, which is still within
// the limit.
const quick = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
const bytes = output.reduce((sum, file) => sum + brotliCompressSync(file.code, quick).length, 0);
if (bytes > COMPRESSED_BYTES_MAX)
  throw new Error(`The engine has ${bytes} bytes once compressed; at most ${COMPRESSED_BYTES_MAX} are allowed.`);
// The interpreter of plug-ins is embedded as a file.
writePackages(OUT, [...collector.ids, QUICKJS], 'LICENSES.txt');
await writePage();
writeFileSync(join(OUT, 'built.json'), `${JSON.stringify({ bytes })}\n`);

/** Writes the page, with the hashes that its first results have in Node: the page compares them with its own. */
async function writePage() {
  rmSync(PAGE, { recursive: true, force: true });
  mkdirSync(PAGE, { recursive: true });
  const bundle = await rolldown({ ...options, input: { worker: 'dist/src/engine/page-worker.js' } });
  await bundle.write({ ...written, dir: PAGE, minify: true });
  for (const name of PAGE_FILES) copyFileSync(join(ROOT, 'data/page', name), join(PAGE, name));
  copyFileSync(join(OUT, 'LICENSES.txt'), join(PAGE, 'LICENSES.txt'));
  const examples = JSON.parse(readFileSync(join(ROOT, 'data/proof/indices.json'), 'utf8'));
  const { openPage } = await import('../dist/src/engine/page.js');
  const page = await openPage(examples);
  const hashes = examples.indices.map((document) => [document.id, page.run(document).hash]);
  const built = {
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
    hashes: Object.fromEntries(hashes),
  };
  writeFileSync(join(PAGE, 'examples.json'), JSON.stringify({ ...examples, built }));
}
