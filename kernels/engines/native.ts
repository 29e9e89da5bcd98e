import { createHash } from 'node:crypto';
import type { Engine } from './engine.js';
import { compileKernelModule } from './kernel-module.js';
import { openNativeKernels } from './native-kernels.js';
import { type Arena, createArena, type KernelExports } from './wasm-instance.js';
import { createWasmEngine, type WasmEngineOptions } from './wasm.js';

/** First digits of the SHA-256 of the result of each trial on the WebAssembly kernels; equal on every machine. */
const EXPECTED_HASHES: Readonly<Record<string, string>> = {
  "X'X": 'dbb0b2fdcda7a69b',
  products: 'abbeda548565efe6',
  Cholesky: 'ae779f004e5dc035',
  solves: 'f1b21a5d0f7b61fc',
  'symmetric products': '9974cbe03606f1d7',
};

/**
 * Runs kernels on small problems with known results.
 * @throws Error naming the kernel whose result is not bit-identical to that of WebAssembly
 */
export function testBits(kernels: KernelExports, arena: Arena): void {
  for (const [kernel, run] of Object.entries(TRIALS)) {
    const mark = arena.mark();
    const { address, length } = run(kernels, arena);
    const bytes = new Uint8Array(arena.memory.buffer, address, length * BYTES);
    const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
    arena.release(mark);
    if (hash !== EXPECTED_HASHES[kernel]) throw new Error(`the bits of its ${kernel} are not those of wasm: ${hash}`);
  }
}

/**
 * Sizes of the test problems: more than a slab of rows and a block of columns, with partial tiles at every edge, but
 * small because every thread runs the test.
 */
const ROWS = 325;
const COLUMNS = 29;
const ORDER = 133;
const BYTES = 8;

type Trial = (kernels: KernelExports, arena: Arena) => { readonly address: number; readonly length: number };

/** Fills an array of the arena with seeded numbers that use all digits, and returns its address. */
function fill(arena: Arena, length: number, seed: number): number {
  const address = arena.reserve(length * BYTES);
  const values = arena.view(address, length);
  for (let k = 0; k < length; k++) values[k] = ((seed + k * 0.618033988749895) % 1) - 0.5;
  return address;
}

function fillDominantMatrix(arena: Arena): number {
  const address = fill(arena, ORDER * ORDER, 0.3);
  const values = arena.view(address, ORDER * ORDER);
  for (let i = 0; i < ORDER; i++) values[i * (ORDER + 1)] = ORDER / 3 + i / ORDER;
  return address;
}

const TRIALS: Readonly<Record<string, Trial>> = {
  "X'X"(kernels, arena) {
    const x = fill(arena, ROWS * COLUMNS, 0.1);
    const address = arena.reserve(COLUMNS * COLUMNS * BYTES);
    const scratch = arena.reserve(kernels.teamSymmetricRankKScratch(ROWS, COLUMNS));
    kernels.teamSymmetricRankK(x, ROWS, COLUMNS, address, scratch);
    return { address, length: COLUMNS * COLUMNS };
  },
  products(kernels, arena) {
    const [a, b] = [fill(arena, COLUMNS * ROWS, 0.2), fill(arena, ROWS * COLUMNS, 0.7)];
    const address = fill(arena, COLUMNS * COLUMNS, 0.9);
    const scratch = arena.reserve(kernels.gemmScratch());
    const [n, long, short] = [COLUMNS, ROWS * BYTES, COLUMNS * BYTES];
    kernels.gemm(n, ROWS, n, a, long, BYTES, b, short, BYTES, address, short, -1, 0, scratch);
    kernels.gemm(n, ROWS, n, b, BYTES, short, a, BYTES, long, address, short, 1, 1, scratch);
    return { address, length: COLUMNS * COLUMNS };
  },
  Cholesky(kernels, arena) {
    const address = fillDominantMatrix(arena);
    kernels.cholesky(address, ORDER, arena.reserve(kernels.choleskyScratch(ORDER)));
    return { address, length: ORDER * ORDER };
  },
  solves(kernels, arena) {
    const l = fillDominantMatrix(arena);
    const address = fill(arena, ORDER * COLUMNS, 0.4);
    const scratch = arena.reserve(kernels.triangularSolveScratch());
    kernels.solveLower(l, ORDER, address, COLUMNS, scratch);
    kernels.solveLowerTransposed(l, ORDER, address, COLUMNS, scratch);
    return { address, length: ORDER * COLUMNS };
  },
  'symmetric products'(kernels, arena) {
    const [a, x] = [fillDominantMatrix(arena), fill(arena, ORDER, 0.6)];
    const address = fill(arena, ORDER, 0.8);
    kernels.symvRows(a, ORDER, ORDER * BYTES, x, address, 0, ORDER);
    return { address, length: ORDER };
  },
};

/**
 * Creates the `wasm` engine with native kernels for larger products, factorisations and solves. A self-test verifies
 * that the native kernels are bit-identical.
 *
 * @throws Error with the reason if the engine is unavailable: koffi is not installed, no library, a processor without
 * wide vectors, or results that are not bit-identical
 */
export function openNativeEngine(options: WasmEngineOptions = {}): Engine {
  const { native = openNativeKernels() } = options;
  const arena = createArena();
  testBits(native.instantiate(compileKernelModule(), arena.memory, 0), arena);
  return createWasmEngine(
    compileKernelModule(),
    { ...options, native },
    {
      name: 'native',
      description: `native kernels, ${native.name}, float64, with the same results as WebAssembly in every bit`,
    },
  );
}
