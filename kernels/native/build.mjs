// Compiles the native kernels to a shared library for this platform if it has a C compiler: CC, cc, gcc or clang.
// Without a compiler, or if compilation fails, services use WebAssembly, and `built.json` contains the reason.
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { arch, platform, stderr } from 'node:process';
import { fileURLToPath } from 'node:url';
import { findCompiler } from '../../scripts/c-compiler.mjs';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));
const TARGET = fileURLToPath(new URL('../../dist/kernels/native/', import.meta.url));

/**
 * Compiler flags by which each product and each sum is rounded in the order of the source. Other flags would change the
 * bits of results.
 */
const FLAGS = ['-std=c11', '-O3', '-ffp-contract=off', '-fno-fast-math', '-fPIC', '-Wall', '-Wextra'];

/** Compiler flags of each instruction set, by architecture and by the suffix of its function names. */
const SETS = {
  x64: {
    avx2: ['-DLANES=4', '-mavx2'],
    avx512: ['-DLANES=8', '-mavx512f', '-mprefer-vector-width=512'],
  },
  arm64: { neon: ['-DLANES=2'] },
};

/**
 * Compiles the kernels of an architecture to a library, optionally with other sources.
 * @throws Error with the message of the compiler
 */
export async function compile(compiler, architecture, library, { kind = ['-shared'], others = [] } = {}) {
  if (SETS[architecture] === undefined) throw new Error(`there are no kernels for ${architecture}`);
  const folder = mkdtempSync(join(tmpdir(), 'divisor-kernels-'));
  try {
    const sets = Object.entries(SETS[architecture]).map(([set, flags]) => [
      set,
      [join(FOLDER, 'kernels.c'), `-DSET=${set}`, ...flags],
    ]);
    const common = ['sets', 'threads'].map((name) => [name, [join(FOLDER, `${name}.c`)]]);
    const parts = [...common, ...sets, ...others.map((source, k) => [`other-${k}`, [source]])];
    const objects = parts.map(async ([name, words]) => {
      const object = join(folder, `${name}.o`);
      await run(compiler, [...FLAGS, ...words, '-c', '-o', object]);
      return object;
    });
    mkdirSync(dirname(library), { recursive: true });
    await run(compiler, [...kind, '-o', `${library}.new`, ...(await Promise.all(objects)), '-lm']);
    renameSync(`${library}.new`, library); // A running process keeps the previous library.
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function run(command, words) {
  const child = spawn(command, words, { stdio: ['ignore', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text));
  const status = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  if (status !== 0) throw new Error(`${command} ended with ${status}: ${said.trim().slice(0, 2000)}`);
}

/** Builds the library of this machine, or records why there is no library. */
async function build() {
  const library = `kernels-${platform}-${arch}.${platform === 'win32' ? 'dll' : platform === 'darwin' ? 'dylib' : 'so'}`;
  const compiler = findCompiler();
  rmSync(join(TARGET, library), { force: true });
  let why = null;
  if (compiler === undefined) why = 'there was no C compiler at the build';
  else {
    try {
      await compile(compiler, arch, join(TARGET, library));
    } catch (failure) {
      why = `the C compiler failed at the build: ${failure.message}`;
      stderr.write(`The native kernels were not built: ${failure.message}\n`);
    }
  }
  mkdirSync(TARGET, { recursive: true });
  writeFileSync(join(TARGET, 'built.json'), `${JSON.stringify({ library: why === null ? library : null, why })}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await build();
