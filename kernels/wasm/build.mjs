// Compiles the AssemblyScript kernels to a module, unless the existing module was built from the same sources.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const TARGET = fileURLToPath(new URL('../../dist/kernels/wasm/', import.meta.url));

/**
 * Maximum size of an arena that a module may be linked with, in 64 KiB pages. It is just under 2 GiB, so that every
 * address is a positive int32.
 */
const ARENA_PAGES_MAX = 32_767;

const FLAGS = [
  '--runtime', 'stub', '-O3', '--noAssert',
  '--importMemory', '--sharedMemory', '--initialMemory', '2', '--maximumMemory', String(ARENA_PAGES_MAX),
  '--enable', 'simd,threads,bulk-memory',
];

const { version } = createRequire(import.meta.url)('assemblyscript/package.json');
const sources = readdirSync(FOLDER).filter((name) => name.endsWith('.ts')).toSorted();
const hash = createHash('sha256').update(JSON.stringify([version, FLAGS]));
for (const name of sources) hash.update(name).update(readFileSync(FOLDER + name));
const stamp = hash.digest('hex');

const moduleFile = `${TARGET}kernels.wasm`;
const stampFile = `${TARGET}kernels.sha256`;
if (!existsSync(moduleFile) || !existsSync(stampFile) || readFileSync(stampFile, 'utf8') !== stamp) {
  const { error, stdout, stderr, bytes } = await compile();
  if (error !== null || bytes === undefined) {
    process.stderr.write(`${stderr.toString()}${stdout.toString()}${error?.message ?? ''}\n`);
    process.exit(1);
  }
  mkdirSync(TARGET, { recursive: true });
  writeFileSync(moduleFile, bytes);
  writeFileSync(stampFile, stamp);
}

async function compile() {
  const { main } = await import('assemblyscript/asc');
  let bytes;
  const result = await main([`${FOLDER}index.ts`, '--outFile', 'kernels.wasm', ...FLAGS], {
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
