import { readdirSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { describe, expect, test, vi } from 'vitest';
import { createArena, createKernelImports, type KernelExports } from '#kernels/engines/wasm-instance.js';
import { openNativeEngine, testBits } from '#kernels/engines/native.js';
import { compileKernelModule } from '#kernels/engines/kernel-module.js';
import { openNativeKernels } from '#kernels/engines/native-kernels.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { expectEqual } from '../../equal.js';
import { FEWER_ORDERS, testAgreement } from './agreement.js';
import { hashSolution, listProblems, listSupportedSets } from './native-problems.js';
import { createRandomDefinite, createRandomPanel, createRandomSymmetric } from './random-matrices.js';

const arena = createArena();
const plainInstance = new WebAssembly.Instance(compileKernelModule(), createKernelImports(arena.memory))
  .exports as KernelExports;

test('the WebAssembly kernels give the bits with which native kernels are checked at a start', () => {
  testBits(plainInstance, arena);
});

const sets = listSupportedSets();

for (const instructionSet of ['avx512', 'avx2', 'neon'] as const)
  if (!sets.includes(instructionSet))
    console.log(`Native kernels of ${instructionSet} are not tested in this process: it has none.`);

const expectedHashes = new Map(
  sets.length === 0 ? [] : listProblems().map((problem) => [problem, hashSolution(plainInstance, arena, problem)]),
);

describe.skipIf(sets.length === 0).each(sets.length === 0 ? ['none' as never] : sets)('native kernels of %s', (set) => {
  const kernels =
    sets.length === 0 ? plainInstance : openNativeKernels(set).instantiate(compileKernelModule(), arena.memory, 0);

  test('are bit-identical to WebAssembly for every kernel and size', () => {
    for (const [problem, expected] of expectedHashes)
      expectEqual(hashSolution(kernels, arena, problem), expected, `${problem.kernel} ${problem.sizes.join(' x ')}`);
  });

  test('stop at the pivot that is not positive', () => {
    for (const [n, wrong] of [
      [5, 0],
      [40, 39],
      [300, 7],
      [300, 131],
      [300, 299],
    ] as const) {
      const a = createRandomDefinite(n);
      a[wrong * (n + 1)] = -1;
      const mark = arena.mark();
      const address = arena.reserve(a.byteLength);
      arena.view(address, a.length).set(a);
      expect(kernels.cholesky(address, n, arena.reserve(kernels.choleskyScratch(n)))).toBe(wrong);
      arena.release(mark);
    }
  });

  test('are refused if one bit differs', () => {
    const wrongKernels: KernelExports = {
      ...kernels,
      cholesky(a, n, scratch) {
        const pivots = kernels.cholesky(a, n, scratch);
        arena.view(a + 80, 1)[0]! *= 1 + 2 ** -52;
        return pivots;
      },
    };
    expect(() => testBits(kernels, arena)).not.toThrow();
    expect(() => testBits(wrongKernels, arena)).toThrow(/the bits of its Cholesky are not those of wasm/);
  });
});

describe.skipIf(sets.length === 0)('the native engine', () => {
  const engine = sets.length === 0 ? openWasmEngine() : openNativeEngine();
  describe('agrees with the definitions', () => testAgreement(engine, FEWER_ORDERS));

  test('states which instruction set it uses', () => {
    expect(engine.description).toMatch(/^native kernels, (AVX-512|AVX2|NEON), float64/);
  });

  test('is bit-identical to WebAssembly on arrays of its memory, also after that grew, and on other arrays', () => {
    const [rows, columns] = [400, 130];
    const x = createRandomPanel(rows, columns);
    const expected = new Float64Array(columns * columns);
    openWasmEngine().symmetricRankK(x, columns, expected);
    const actual = new Float64Array(columns * columns);
    engine.symmetricRankK(x, columns, actual);
    expectEqual(actual, expected);
    engine.scope(() => {
      const [ownInput, ownOutput] = [engine.allocate(x.length), engine.allocate(columns * columns)];
      ownInput.set(x);
      engine.allocate(8_000_000);
      engine.symmetricRankK(ownInput, columns, ownOutput);
      expectEqual(ownOutput, expected);
    });
  });

  test('is bit-identical to WebAssembly while other threads run', () => {
    const n = 401;
    const [a, x] = [createRandomSymmetric(n), createRandomPanel(997, 203)];
    const results = [openWasmEngine, openNativeEngine].map((openEngine) => {
      const smallEngine = openEngine({ threads: () => 3, teamOrder: 64, sharedMin: 0 });
      const [values, vectors, product] = [n, n * n, 203 * 203].map((length) => new Float64Array(length));
      expect(smallEngine.symmetricEigen(a, n, values!, vectors!)).toBe(true);
      smallEngine.symmetricRankK(x, 203, product!);
      return [values, vectors, product];
    });
    expectEqual(results[1], results[0]);
  });
});

/** Counts the processors on which a thread of this process may run. */
function countProcessors(thread: number): number {
  const status = readFileSync(`/proc/self/task/${thread}/status`, 'utf8');
  const mask = BigInt(`0x${/Cpus_allowed:\t(\S+)/.exec(status)![1]!.replaceAll(',', '')}`);
  return mask.toString(2).replaceAll('0', '').length;
}

describe.skipIf(sets.length === 0 || process.platform !== 'linux' || availableParallelism() < 2)('a thread', () => {
  test('is kept away from one processor until it may run on those of another thread', () => {
    const { threads } = openNativeKernels();
    const own = threads.getId();
    const other = readdirSync('/proc/self/task')
      .map(Number)
      .find((id) => id !== own)!;
    const count = countProcessors(own);
    threads.wakeElsewhere(own);
    expect(countProcessors(own)).toBe(count - 1);
    threads.runAnywhere(other);
    expect(countProcessors(own)).toBe(count);
  });

  test('that has helped may run on all processors again', async () => {
    const engine = openNativeEngine({ threads: () => 2, teamOrder: 64 });
    const count = countProcessors(openNativeKernels().threads.getId());
    engine.eigenvalueRange(createRandomDefinite(64), 64);
    // threads of other tests may help at this moment, or end
    await vi.waitFor(() => {
      for (const id of readdirSync('/proc/self/task')) expect(countProcessors(Number(id)), id).toBe(count);
    });
  });
});
