// Bundles the compiled modules into a few files in dist/bundle: a process or thread loads the bundle in half of the
// time of hundreds of modules and their packages. The command line is also written as a single script, for
// `src/code-cache.ts`. `src/bundle.ts` describes the use of the other bundles.
import { rmSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { createModuleCollector, isExternal, writePackages } from './bundled-packages.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const OUT = join(ROOT, 'dist/bundle');

/** Entry points by the names of `BundleEntry` in `src/bundle.ts`. */
const ENTRIES = {
  dispatch: 'dist/src/cli/dispatch.js',
  'market-process-tasks': 'dist/src/market/serve/market-process-tasks.js',
  'result-writer': 'dist/workers/sql/result-writer.js',
  tasks: 'dist/workers/tasks.js',
};

/**
 * Plugin that resolves files and thread entry points relative to the compiled module, wherever its code is bundled.
 * Required modules are bundled like imported ones: DuckDB has about a hundred CommonJS modules, which take twice as
 * long to load separately.
 */
const moduleUrlPlugin = {
  name: 'module-urls',
  async load(id) {
    if (!id.startsWith(join(ROOT, 'dist/'))) return null;
    const written = await readFile(id, 'utf8');
    const code = written.replace('const require = createRequire(import.meta.url);\n', '');
    if (code === written && !code.includes('import.meta.url')) return null;
    const place = relative(OUT, id).replaceAll('\\', '/');
    return code.replaceAll('import.meta.url', `new URL(${JSON.stringify(place)}, import.meta.url).href`);
  },
};

const LAZY_PREFIX = '\0when-needed:';

/** Plugin that moves the unconditional requires of a script to the modules that import them. */
const lazyRequirePlugin = {
  name: 'when-needed',
  resolveId(id, _importer, { kind }) {
    if (!isExternal(id) && !isBuiltin(id)) return null;
    return kind === 'import-statement' ? LAZY_PREFIX + id : { id, external: true };
  },
  load: (id) =>
    id.startsWith(LAZY_PREFIX) ? `module.exports = require(${JSON.stringify(id.slice(LAZY_PREFIX.length))});` : null,
};

rmSync(OUT, { recursive: true, force: true });
const options = {
  cwd: ROOT,
  platform: 'node',
  logLevel: 'warn',
  // The conditions of Node: with the first one, the imports of package.json lead to compiled modules.
  resolve: { conditionNames: ['node-addons', 'node', 'module', 'default'] },
};
const collector = createModuleCollector();
const bundle = await rolldown({
  ...options,
  input: ENTRIES,
  external: isExternal,
  plugins: [moduleUrlPlugin, collector.plugin],
});
await bundle.write({
  dir: OUT,
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: '[name]-[hash].js',
});
const alone = await rolldown({
  ...options,
  input: ENTRIES.dispatch,
  plugins: [moduleUrlPlugin, lazyRequirePlugin, collector.plugin],
});
// Comments are removed, because each start reads the whole script.
const script = await alone.generate({ format: 'cjs', codeSplitting: false, comments: false });
await writeFile(
  join(OUT, 'dispatch.cjs'),
  `(function (exports, require, module, __filename) { 'use strict';\n${escapeNonAscii(script.output[0].code)}\n})`,
);
// Also a script, because a script cannot import modules. It is loaded with the first message of an agent.
const agents = await rolldown({ ...options, input: 'dist/src/http/mcp/sdk.js', plugins: [collector.plugin] });
await agents.write({ file: join(OUT, 'mcp-sdk.cjs'), format: 'cjs', codeSplitting: false });
// Loaded with the first delivery by SFTP or mail. Optional native modules of ssh2 are excluded; ssh2 works without
// them.
const NATIVE = ['cpu-features', './crypto/build/Release/sshcrypto.node'];
const transports = await rolldown({
  ...options,
  input: 'dist/src/services/delivery/transports.js',
  external: (id) => NATIVE.includes(id),
  plugins: [collector.plugin],
});
await transports.write({ file: join(OUT, 'transports.cjs'), format: 'cjs', codeSplitting: false });
writePackages(OUT, collector.ids, 'LICENSES.txt');
await writeFile(join(OUT, 'built.json'), `${JSON.stringify(Object.keys(ENTRIES))}\n`);

/** Escapes a program as ASCII: such a script needs one byte per character in memory, and no decoding. */
function escapeNonAscii(code) {
  return code.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
