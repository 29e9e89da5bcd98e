import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { createArena, createKernelImports, type KernelExports } from '#kernels/engines/wasm-instance.js';
import { compileKernelModule } from '#kernels/engines/kernel-module.js';
import { IS_SOAK } from '../../soak.js';
import { hashSolution, listProblems, listSupportedSets, type Problem } from './native-problems.js';

interface Build {
  readonly compile: (
    compiler: string,
    architecture: string,
    program: string,
    options: { kind: readonly string[]; otherFiles: readonly string[] },
  ) => Promise<void>;
}

/** Instruction sets. Each has a compiler and an emulator that work on any machine. */
const MACHINES = [
  { set: 'avx2', architecture: 'x64', compiler: 'x86_64-linux-gnu-gcc', emulator: ['qemu-x86_64', '-cpu', 'max'] },
  { set: 'avx512', architecture: 'x64', compiler: 'x86_64-linux-gnu-gcc', emulator: ['qemu-x86_64', '-cpu', 'max'] },
  { set: 'neon', architecture: 'arm64', compiler: 'aarch64-linux-gnu-gcc', emulator: ['qemu-aarch64'] },
] as const;

const folder = mkdtempSync(join(tmpdir(), 'divisor-emulated-'));
afterAll(() => rmSync(folder, { recursive: true }));
const arena = createArena();
const plainInstance = new WebAssembly.Instance(compileKernelModule(), createKernelImports(arena.memory))
  .exports as KernelExports;

/** Sample of problems. It includes every kernel. An emulator takes a tenth of a second to start. */
const sample = listProblems().filter((_, k) => k % (IS_SOAK ? 9 : 27) === 0);
test('the sample has problems of every kernel', () => {
  expect(new Set(sample.map(({ kernel }) => kernel))).toEqual(new Set(listProblems().map(({ kernel }) => kernel)));
});

const isInstalled = (command: string): boolean => spawnSync(command, ['--version']).status === 0;

/** Instruction sets of this processor. `native.test.ts` tests every problem on them without an emulator. */
const SUPPORTED_SETS = listSupportedSets();
const EMULATED_SETS = MACHINES.filter(({ set }) => IS_SOAK || !SUPPORTED_SETS.includes(set));

describe.each(EMULATED_SETS)('on an emulator, native kernels of $set', ({ set, architecture, compiler, emulator }) => {
  test('are bit-identical to WebAssembly', { timeout: 300_000 }, async ({ skip }) => {
    const missing = [compiler, emulator[0]].filter((command) => !isInstalled(command));
    const skipEmulation = (why: string) => {
      console.log(`Native kernels of ${set} are not tested on an emulator: ${why}.`);
      skip(why);
    };
    if (missing.length > 0) return skipEmulation(`${missing.join(' and ')} not installed`);
    const programPath = join(folder, set);
    const { compile } = (await import(pathToFileURL(resolve('kernels/native/build.mjs')).href)) as Build;
    const otherFiles = [resolve('test/kernels/native-problem.c')];
    await compile(compiler, architecture, programPath, { kind: ['-static'], otherFiles });
    const run = (problem: Problem) => runEmulated([...emulator, programPath, set], problem);
    if (run(sample[0]!).signal === 'SIGILL') return skipEmulation(`${emulator[0]} has no ${set}`);
    for (const problem of sample) {
      const { status, stdout } = run(problem);
      const name = `${problem.kernel} ${problem.sizes.join(' x ')}`;
      expect([name, status]).toEqual([name, 0]);
      expect(Buffer.compare(stdout, hashSolution(plainInstance, arena, problem)), name).toBe(0);
    }
  });
});

function runEmulated(command: readonly string[], { kernel, sizes, operands }: Problem) {
  const words = [...command.slice(1), kernel, operands.length, ...operands.map(({ length }) => length), ...sizes];
  const input = Buffer.concat(operands.map(({ buffer, byteLength }) => new Uint8Array(buffer, 0, byteLength)));
  return spawnSync(command[0]!, words.map(String), { input, maxBuffer: 2 ** 26 });
}
