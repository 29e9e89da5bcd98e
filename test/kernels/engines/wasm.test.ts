import { describe, expect, test } from 'vitest';
import { createArena } from '#kernels/engines/wasm-instance.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { KernelFault } from '#kernels/assert.js';
import { referenceEngine } from '#kernels/engines/reference.js';
import { expectEqual } from '../../equal.js';
import { expectClose } from '../closeness.js';
import { testAgreement } from './agreement.js';
import { createRandomPanel, createRandomSymmetric } from './random-matrices.js';

describe('the WebAssembly engine agrees with the definitions', () => testAgreement(openWasmEngine()));

describe('the arena', () => {
  test('frees the memory of a scope and keeps what was allocated around it', () => {
    const arena = createArena();
    const engine = openWasmEngine({ arena });
    engine.scope(() => {
      const outer = engine.allocate(10).fill(3);
      const before = arena.mark();
      engine.scope(() => engine.allocate(1000).fill(9));
      expect(arena.mark()).toBe(before);
      expect([...outer]).toEqual(Array.from({ length: 10 }, () => 3));
      expect([...engine.allocate(1000)].every((value) => value === 0)).toBe(true);
    });
  });

  test('frees memory when the work throws', () => {
    const arena = createArena();
    const engine = openWasmEngine({ arena });
    const before = arena.mark();
    expect(() =>
      engine.scope(() => {
        engine.allocate(10);
        throw new Error('stop');
      }),
    ).toThrow('stop');
    expect(arena.mark()).toBe(before);
  });

  test('still recognises arrays allocated before it grew', () => {
    const arena = createArena();
    const engine = openWasmEngine({ arena });
    const earlyArray = engine.allocate(16);
    engine.allocate(4_000_000);
    expect(arena.addressOf(earlyArray)).toBeDefined();
    earlyArray.set(createRandomPanel(4, 4));
    expect(engine.pairwiseSum(earlyArray)).toBe(engine.pairwiseSum(createRandomPanel(4, 4)));
  });

  test('refuses more than its maximum', () => {
    expect(() => createArena().reserve(3 * 2 ** 30)).toThrow(/out of memory/);
  });

  test('detects a release out of order', () => {
    const arena = createArena();
    expect(() => arena.release(arena.mark() + 64)).toThrow(KernelFault);
  });
});

test('permuting columns permutes a product bit for bit: each pair has its own order of summation', () => {
  const columns = 75;
  const x = createRandomPanel(400, columns);
  const order = Array.from({ length: columns }, (_, i) => (i * 32) % columns); // a permutation, because 32 and 75 have no common divisor
  const permutedPanel = Float64Array.from(x, (_, i) => x[Math.floor(i / columns) * columns + order[i % columns]!]!);
  const engine = openWasmEngine();
  const plainProduct = new Float64Array(columns * columns);
  const movedProduct = new Float64Array(columns * columns);
  engine.symmetricRankK(x, columns, plainProduct);
  engine.symmetricRankK(permutedPanel, columns, movedProduct);
  const expected = movedProduct.map(
    (_, i) => plainProduct[order[Math.floor(i / columns)]! * columns + order[i % columns]!]!,
  );
  expectEqual(movedProduct, expected);
});

test.each([
  [0, 5],
  [1, 1],
  [3, 2],
  [191, 6],
  [192, 8],
  [193, 10],
  [255, 9],
  [256, 12],
  [257, 67],
  [387, 145],
  [600, 203],
  [258, 802],
])(
  'a panel of %i x %i times itself is bit-identical to its definition: each pair in the order of the rows',
  (rows, columns) => {
    const x = createRandomPanel(rows, columns);
    const expected = new Float64Array(columns * columns);
    const actual = new Float64Array(columns * columns).fill(Number.NaN); // uninitialised memory may contain any values
    referenceEngine.symmetricRankK(x, columns, expected);
    openWasmEngine().symmetricRankK(x, columns, actual);
    expectEqual(actual, expected);
  },
);

test(
  'one, two and four threads find the same eigenvalues and vectors of a large matrix, to the bit',
  { timeout: 300_000 },
  () => {
    const n = 401; // not a multiple of a tile
    const a = createRandomSymmetric(n);
    const listEigen = (threads: number, isWhole: boolean): readonly Float64Array[] => {
      const requests: number[] = [];
      const engine = openWasmEngine({ threads: () => (requests.push(threads), threads), teamOrder: n });
      const values = new Float64Array(n);
      const vectors = new Float64Array(isWhole ? n * n : 0);
      expect(isWhole ? engine.symmetricEigen(a, n, values, vectors) : engine.symmetricEigenvalues(a, n, values)).toBe(
        true,
      );
      expect(requests).toEqual([threads]);
      return [values, vectors];
    };
    const singleThreaded = listEigen(1, false);
    const trace = Array.from({ length: n }, (_, i) => a[i * (n + 1)]!).reduce((sum, value) => sum + value);
    const size = Math.max(...singleThreaded[0]!.map(Math.abs));
    expectClose([singleThreaded[0]!.reduce((sum, value) => sum + value)], [trace], 1e-11, size);
    expectEqual(listEigen(4, false), singleThreaded);
    const computeEndsOnThreads = (threads: number) =>
      openWasmEngine({ threads: () => threads, teamOrder: n }).eigenvalueRange(a, n)!;
    expect(computeEndsOnThreads(2)).toEqual(computeEndsOnThreads(1));
    expectClose(
      [computeEndsOnThreads(1).smallest, computeEndsOnThreads(1).largest],
      [singleThreaded[0]![0]!, singleThreaded[0]![n - 1]!],
      1e-14,
      size,
    );
    const [one, two] = [listEigen(1, true), listEigen(2, true)];
    expectEqual(two, one);
  },
);

test('threads that remain after a large problem share a product of a panel, to the bit', () => {
  const [rows, columns] = [997, 203]; // four slabs and five groups of tile rows
  const x = createRandomPanel(rows, columns);
  const expected = new Float64Array(columns * columns);
  referenceEngine.symmetricRankK(x, columns, expected);
  const engine = openWasmEngine({ threads: () => 3, teamOrder: 64, sharedMin: 0 });
  const values = new Float64Array(64);
  for (let repeat = 0; repeat < 5; repeat++) {
    expect(engine.symmetricEigenvalues(createRandomSymmetric(64), 64, values)).toBe(true);
    const actual = new Float64Array(columns * columns).fill(Number.NaN); // uninitialised memory may contain any values
    engine.symmetricRankK(x, columns, actual);
    expectEqual(actual, expected);
  }
});

test('threads are used from order 1,500', () => {
  const tryThreadedValues = (n: number): boolean =>
    openWasmEngine({
      threads: () => {
        throw new Error('asked');
      },
    }).symmetricEigenvalues(new Float64Array(n * n), n, new Float64Array(n));
  expect(() => tryThreadedValues(1_500)).toThrow('asked');
  expect(tryThreadedValues(300)).toBe(true);
});

test('tile rows shared among workers are bit-identical to one worker, on both sides of the diagonal', async () => {
  const { instantiateForTest } = await import('./tile-rows.js');
  const x = createRandomPanel(400, 75);
  const [wholeProduct, parts] = instantiateForTest(x, 75, [0, 3, 8, 13]);
  const expected = new Float64Array(75 * 75);
  referenceEngine.symmetricRankK(x, 75, expected);
  expect(wholeProduct).toEqual(expected);
  expect(parts).toEqual(expected);
});
