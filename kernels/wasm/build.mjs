// Compiles the AssemblyScript kernels to two modules, of plain SIMD and of relaxed SIMD; does nothing when the modules are those of these
// sources already.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const TARGET = fileURLToPath(new URL('../../dist/kernels/wasm/', import.meta.url));

/** Largest arena a module may be linked with, in 64 KiB pages: just under 2 GiB, so that every address is a positive int32. */
const ARENA_PAGES_MAX = 32_767;

const FLAGS = [
  '--runtime', 'stub', '-O3', '--noAssert',
  '--importMemory', '--sharedMemory', '--initialMemory', '2', '--maximumMemory', String(ARENA_PAGES_MAX),
];

/** By the file of a module: what a machine needs to have. */
const FEATURES = {
  'kernels.wasm': 'simd,threads,bulk-memory',
  'kernels-relaxed.wasm': 'simd,threads,bulk-memory,relaxed-simd',
};

const { version } = createRequire(import.meta.url)('assemblyscript/package.json');
const sources = readdirSync(FOLDER).filter((name) => name.endsWith('.ts')).toSorted();
const hash = createHash('sha256').update(JSON.stringify([version, FLAGS, FEATURES]));
for (const name of sources) hash.update(name).update(readFileSync(FOLDER + name));
const stamp = hash.digest('hex');

const modules = Object.entries(FEATURES);
const stampFile = `${TARGET}kernels.sha256`;
const isBuilt = [stampFile, ...modules.map(([name]) => TARGET + name)].every((file) => existsSync(file));
if (!isBuilt || readFileSync(stampFile, 'utf8') !== stamp) {
  mkdirSync(TARGET, { recursive: true });
  for (const [name, features] of modules) {
    const { error, stdout, stderr, bytes } = await compile(features);
    if (error !== null || bytes === undefined) {
      process.stderr.write(`${stderr.toString()}${stdout.toString()}${error?.message ?? ''}\n`);
      process.exit(1);
    }
    writeFileSync(TARGET + name, bytes);
  }
  writeFileSync(stampFile, stamp);
}

async function compile(features) {
  const { main } = await import('assemblyscript/asc');
  let bytes;
  const result = await main([`${FOLDER}index.ts`, '--outFile', 'kernels.wasm', ...FLAGS, '--enable', features], {
    readFile: (name, base) => read(name, base),
    writeFile: (name, contents) => {
      if (name.endsWith('.wasm')) bytes = contents;
    },
    listFiles: () => [],
  });
  return { ...result, bytes };
}

function read(name, base) {
  const path = name.startsWith('/') ? name : `${base}/${name}`;
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
}
