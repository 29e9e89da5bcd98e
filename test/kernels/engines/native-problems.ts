import type { Arena, KernelExports } from '#kernels/engines/wasm-instance.js';
import { listNativeSets, type NativeSet } from '#kernels/engines/native-kernels.js';
import { createRandomDefinite, createRandomPanel } from './random-matrices.js';

/** Returns the instruction sets that this processor supports. The list is empty without a native library. */
export function listSupportedSets(): readonly NativeSet[] {
  try {
    return listNativeSets();
  } catch (failure) {
    console.log(`Native kernels are not tested here: ${(failure as Error).message}`);
    return [];
  }
}

/** A problem for a kernel, with its operands. The result overwrites the last operand. */
export interface Problem {
  readonly kernel: 'rank-k' | 'product' | 'cholesky' | 'solve' | 'solve-transposed' | 'symmetric-product';
  /**
   * Sizes of the problem. For a product, flags (1 or 0) follow: A transposed, B transposed, subtracted, upper triangle
   * only.
   */
  readonly sizes: readonly number[];
  readonly operands: readonly Float64Array[];
}

const BYTES = 8;

/**
 * Returns problems with sizes near the tiles (4, 8, 12, 24), groups (48), blocks (64, 128, 192, 336, 384) and depths
 * (256, 320) of the kernels.
 */
export function listProblems(): Problem[] {
  return [
    ...[1, 3, 319, 321, 650].flatMap((rows) =>
      [1, 7, 24, 25, 49, 97].map((columns) => createPanelProduct(rows, columns)),
    ),
    createPanelProduct(2, 401),
    createPanelProduct(0, 9),
    ...[1, 5, 64, 257].flatMap((k) =>
      [1, 23, 49, 130].flatMap((m) => [1, 8, 25, 195].map((n) => createProduct(m, k, n))),
    ),
    createProduct(97, 30, 701),
    ...[1, 2, 4, 7, 8, 13, 31, 65, 127, 128, 129, 131, 200, 258, 515].map(createCholeskyProblem),
    ...[2, 9, 63, 64, 66, 130, 193].flatMap((n) => [2, 8, 25, 66].flatMap((columns) => listSolveProblems(n, columns))),
    ...[1, 4, 6, 11, 13, 22, 31, 133].flatMap((n) => [
      createSymmetricProduct(n, 0, n),
      createSymmetricProduct(n, 0, (n >> 1) & ~3),
      createSymmetricProduct(n, (n >> 1) & ~3, n),
    ]),
  ];
}

function createPanelProduct(rows: number, columns: number): Problem {
  const out = new Float64Array(columns * columns).fill(Number.NaN); // uninitialised memory may contain any values
  return { kernel: 'rank-k', sizes: [rows, columns], operands: [createRandomPanel(rows, columns), out] };
}

/** Creates a problem of a matrix product. Its variant depends on the sizes. */
function createProduct(m: number, k: number, n: number): Problem {
  const flags = [m % 2, k % 2, n % 2, (m + k + n) % 2];
  const operands = [createRandomPanel(m, k, 5), createRandomPanel(k, n, 6), createRandomPanel(m, n, 7)];
  return { kernel: 'product', sizes: [m, k, n, ...flags], operands };
}

function createCholeskyProblem(n: number): Problem {
  return { kernel: 'cholesky', sizes: [n], operands: [createRandomDefinite(n)] };
}

function listSolveProblems(n: number, columns: number): Problem[] {
  const operands = [createRandomDefinite(n), createRandomPanel(n, columns, 9)];
  return (['solve', 'solve-transposed'] as const).map((kernel) => ({ kernel, sizes: [n, columns], operands }));
}

/** Creates a symmetric product over a range of rows. */
function createSymmetricProduct(n: number, first: number, last: number): Problem {
  const operands = [createRandomPanel(n, n, 3), createRandomPanel(1, n, 4), createRandomPanel(1, n, 5)];
  return { kernel: 'symmetric-product', sizes: [n, first, last], operands };
}

/** Solves a problem with kernels. @returns a hash of the bits of the result */
export function hashSolution(kernels: KernelExports, arena: Arena, { kernel, sizes, operands }: Problem): Uint8Array {
  const mark = arena.mark();
  const places = operands.map((values) => {
    const address = arena.reserve(values.byteLength);
    arena.view(address, values.length).set(values);
    return address;
  });
  RUN[kernel](kernels, arena, sizes, places);
  const result = new Uint8Array(arena.memory.buffer, places.at(-1)!, operands.at(-1)!.byteLength).slice();
  arena.release(mark);
  return result;
}

type Run = (kernels: KernelExports, arena: Arena, sizes: readonly number[], places: readonly number[]) => void;

const solveBy =
  (name: 'solveLower' | 'solveLowerTransposed'): Run =>
  (kernels, arena, [n, columns], [l, b]) =>
    kernels[name](l!, n!, b!, columns!, arena.reserve(kernels.triangularSolveScratch()));

const RUN: Readonly<Record<Problem['kernel'], Run>> = {
  'rank-k'(kernels, arena, [rows, columns], [x, c]) {
    const scratch = arena.reserve(kernels.teamSymmetricRankKScratch(rows!, columns!));
    kernels.teamSymmetricRankK(x!, rows!, columns!, c!, scratch);
  },
  product(kernels, arena, [m, k, n, transposeA, transposeB, subtracts, upper], [a, b, c]) {
    const [aRow, aInner] = transposeA === 1 ? [1, m!] : [k!, 1];
    const [bInner, bColumn] = transposeB === 1 ? [1, k!] : [n!, 1];
    const scratch = arena.reserve(kernels.gemmScratch());
    const strides = [aRow! * BYTES, aInner! * BYTES, bInner! * BYTES, bColumn! * BYTES] as const;
    const sign = subtracts === 1 ? -1 : 1;
    kernels.gemm(
      m!,
      k!,
      n!,
      a!,
      strides[0],
      strides[1],
      b!,
      strides[2],
      strides[3],
      c!,
      n! * BYTES,
      sign,
      upper!,
      scratch,
    );
  },
  cholesky: (kernels, arena, [n], [a]) => void kernels.cholesky(a!, n!, arena.reserve(kernels.choleskyScratch(n!))),
  'symmetric-product': (kernels, _, [n, first, last], [a, x, out]) =>
    kernels.symvRows(a!, n!, n! * BYTES, x!, out!, first!, last!),
  solve: solveBy('solveLower'),
  'solve-transposed': solveBy('solveLowerTransposed'),
};
