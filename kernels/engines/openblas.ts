import { eigenvalueRangeBy } from '../algebra/eigenvalue-range.js';
import { assertProduct } from '../algebra/gemm.js';
import { mirrorUpper } from '../algebra/mirror-upper.js';
import { assertEigen, largestOf, orientRow, scaleOf } from '../algebra/symmetric-eigen.js';
import { columnsOf } from '../algebra/triangular-solve.js';
import { assert } from '../assert.js';
import type { Engine } from './engine.js';
import { optionalPackage } from './optional-package.js';
import { referenceEngine } from './reference.js';
import { selfTest } from './self-test.js';

/** Where the libraries live, by platform; the first that loads and passes its test is taken. */
const LIBRARIES: Readonly<Record<string, readonly string[]>> = {
  linux: ['libopenblas.so.0', 'libopenblas.so'],
  darwin: ['/System/Library/Frameworks/Accelerate.framework/Accelerate', 'libopenblas.dylib'],
  win32: ['libopenblas.dll'],
};

const ROW_MAJOR = 101;
const PLAIN = 111;
const TRANSPOSED = 112;
const UPPER = 121;
const LOWER = 122;
const NON_UNIT = 131;
const LEFT = 141;

/** The called routines, in the C and Fortran conventions; hidden lengths of character arguments come last. */
interface Routines {
  readonly dsyrk: (
    order: number,
    uplo: number,
    trans: number,
    n: number,
    k: number,
    alpha: number,
    a: Float64Array,
    lda: number,
    beta: number,
    c: Float64Array,
    ldc: number,
  ) => void;
  readonly dgemm: (
    order: number,
    transA: number,
    transB: number,
    m: number,
    n: number,
    k: number,
    alpha: number,
    a: Float64Array,
    lda: number,
    b: Float64Array,
    ldb: number,
    beta: number,
    c: Float64Array,
    ldc: number,
  ) => void;
  readonly dgemv: (
    order: number,
    trans: number,
    m: number,
    n: number,
    alpha: number,
    a: Float64Array,
    lda: number,
    x: Float64Array,
    incX: number,
    beta: number,
    y: Float64Array,
    incY: number,
  ) => void;
  readonly dsymv: (
    order: number,
    uplo: number,
    n: number,
    alpha: number,
    a: Float64Array,
    lda: number,
    x: Float64Array,
    incX: number,
    beta: number,
    y: Float64Array,
    incY: number,
  ) => void;
  readonly dtrsm: (
    order: number,
    side: number,
    uplo: number,
    trans: number,
    diag: number,
    m: number,
    n: number,
    alpha: number,
    a: Float64Array,
    lda: number,
    b: Float64Array,
    ldb: number,
  ) => void;
  readonly dpotrf: (uplo: string, n: number[], a: Float64Array, lda: number[], info: number[], length: number) => void;
  readonly dsyevd: (
    job: string,
    uplo: string,
    n: number[],
    a: Float64Array,
    lda: number[],
    w: Float64Array,
    work: Float64Array,
    lwork: number[],
    iwork: Int32Array,
    liwork: number[],
    info: number[],
    length1: number,
    length2: number,
  ) => void;
}

type Library = import('koffi').LibraryHandle;

/**
 * The engine of the system's BLAS and LAPACK, called in place through koffi, one thread a process. It serves the
 * products, factorisations and eigenvalues; passes bound by memory stay with `base`.
 *
 * @param base  Engine that allocates, and computes everything for which a BLAS has no routine.
 * @throws      Error saying why there is none: koffi not installed, no library, or a failed self-test.
 */
export async function openblasEngine(base: Engine = referenceEngine): Promise<Engine> {
  const koffi = (await optionalPackage('koffi')) as typeof import('koffi');
  const failures: string[] = [];
  for (const path of LIBRARIES[process.platform] ?? []) {
    try {
      const library = koffi.load(path);
      const engine = engineOn(routinesOf(library), describe(library, path), base);
      selfTest(engine);
      return engine;
    } catch (failure) {
      failures.push(`${path}: ${failure instanceof Error ? failure.message.split('\n')[0] : String(failure)}`);
    }
  }
  throw new Error(failures.length > 0 ? failures.join('; ') : `no library is known for ${process.platform}`);
}

/** Library, version and the instruction set it chose; sets one thread: the pool's threads are the parallelism. */
function describe(library: Library, path: string): string {
  const ask = (prototype: string): unknown => {
    try {
      return library.func(prototype)();
    } catch {
      return undefined; // Accelerate has none of these.
    }
  };
  try {
    library.func('void openblas_set_num_threads(int)')(1);
  } catch {
    // Accelerate threads by itself and has no such switch.
  }
  const config = ask('str openblas_get_config()');
  const core = ask('str openblas_get_corename()');
  const name = typeof config === 'string' ? config.split(' ').slice(0, 2).join(' ') : path;
  return typeof core === 'string' ? `${name}, ${core}, 1 thread` : name;
}

function routinesOf(library: Library): Routines {
  const routine = <F>(prototype: string): F => library.func(prototype) as unknown as F; // The prototype in C is that of the interface.
  return {
    dsyrk: routine('void cblas_dsyrk(int, int, int, int, int, double, void*, int, double, void*, int)'),
    dgemm: routine(
      'void cblas_dgemm(int, int, int, int, int, int, double, void*, int, void*, int, double, void*, int)',
    ),
    dgemv: routine('void cblas_dgemv(int, int, int, int, double, void*, int, void*, int, double, void*, int)'),
    dsymv: routine('void cblas_dsymv(int, int, int, double, void*, int, void*, int, double, void*, int)'),
    dtrsm: routine('void cblas_dtrsm(int, int, int, int, int, int, int, double, void*, int, void*, int)'),
    dpotrf: routine('void dpotrf_(str, int*, void*, int*, _Out_ int*, size_t)'),
    dsyevd: routine(
      'void dsyevd_(str, str, int*, void*, int*, void*, void*, int*, void*, int*, _Out_ int*, size_t, size_t)',
    ),
  };
}

function engineOn(blas: Routines, description: string, base: Engine): Engine {
  const solve =
    (trans: number) =>
    (l: Float64Array, n: number, b: Float64Array): void => {
      const columns = columnsOf(l, n, b);
      if (b.length > 0) blas.dtrsm(ROW_MAJOR, LEFT, LOWER, trans, NON_UNIT, n, columns, 1, l, n, b, columns);
    };

  const eigenvalues: Engine['symmetricEigenvalues'] = (a, n, values) => {
    assertEigen(a, n, values);
    return decompose(blas, 'N', a.slice(), n, values);
  };

  const decomposed: Engine['symmetricEigen'] = (a, n, values, vectors) => {
    assertEigen(a, n, values);
    assert(vectors.length === n * n, `vectors: ${vectors.length} values for ${n} x ${n}`);
    vectors.set(a);
    const converged = decompose(blas, 'V', vectors, n, values);
    for (let k = 0; k < n; k++) orientRow(vectors, k * n, n); // LAPACK's columns are our rows.
    return converged;
  };

  return {
    ...base,
    name: 'openblas',
    description,

    symmetricRankK(x, columns, out) {
      const rows = x.length / columns;
      assert(columns >= 1 && Number.isInteger(rows), `x: ${x.length} values over ${columns} columns`);
      assert(out.length === columns * columns, `out: ${out.length} values for ${columns} columns`);
      blas.dsyrk(ROW_MAJOR, UPPER, TRANSPOSED, columns, rows, 1, x, columns, 0, out, columns);
      mirrorUpper(out, columns);
    },

    gemm(shape, a, b, out) {
      assertProduct(shape, a, b, out);
      const { rows, inner, columns, transposeA = false, transposeB = false } = shape;
      if (inner === 0) out.fill(0);
      else {
        const lda = transposeA ? rows : inner;
        const ldb = transposeB ? inner : columns;
        blas.dgemm(
          ROW_MAJOR,
          transposeA ? TRANSPOSED : PLAIN,
          transposeB ? TRANSPOSED : PLAIN,
          rows,
          columns,
          inner,
          1,
          a,
          lda,
          b,
          ldb,
          0,
          out,
          columns,
        );
      }
    },

    gemv(a, x, out) {
      assert(a.length === out.length * x.length, `a: ${a.length} values for ${out.length} x ${x.length}`);
      blas.dgemv(ROW_MAJOR, PLAIN, out.length, x.length, 1, a, x.length, x, 1, 0, out, 1);
    },

    gemvTransposed(a, x, out) {
      assert(a.length === out.length * x.length, `a: ${a.length} values for ${x.length} x ${out.length}`);
      blas.dgemv(ROW_MAJOR, TRANSPOSED, x.length, out.length, 1, a, out.length, x, 1, 0, out, 1);
    },

    symv(a, x, out) {
      assert(out.length === x.length, `out: ${out.length} values for ${x.length}`);
      assert(a.length === x.length * x.length, `a: ${a.length} values for ${x.length} x ${x.length}`);
      blas.dsymv(ROW_MAJOR, UPPER, x.length, 1, a, x.length, x, 1, 0, out, 1);
    },

    cholesky(a, n) {
      assert(a.length === n * n, `a: ${a.length} values for ${n} x ${n}`);
      if (n === 0) return 0;
      const info = [0];
      blas.dpotrf('U', [n], a, [n], info, 1); // LAPACK reads columns: its upper triangle is our lower one.
      return info[0] === 0 ? n : info[0]! - 1;
    },

    solveLower: solve(PLAIN),
    solveLowerTransposed: solve(TRANSPOSED),

    symmetricEigenvalues: eigenvalues,
    eigenvalueRange: (a, n) => eigenvalueRangeBy(eigenvalues, a, n),
    symmetricEigen: decomposed,
    largestEigen: (a, n, values, vectors) => largestOf(decomposed, a, n, values, vectors),
  };
}

/** dsyevd in place. NaN makes some versions loop or abort, so it is refused before the call. */
function decompose(blas: Routines, job: 'N' | 'V', a: Float64Array, n: number, values: Float64Array): boolean {
  if (n === 0) return true;
  if (Number.isNaN(scaleOf(a))) {
    values.fill(Number.NaN);
    return false;
  }
  const work = new Float64Array(job === 'V' ? 1 + 6 * n + 2 * n * n : Math.max(2 * n + 1, 64 * n));
  const iwork = new Int32Array(3 + 5 * n);
  const info = [0];
  blas.dsyevd(job, 'L', [n], a, [n], values, work, [work.length], iwork, [iwork.length], info, 1, 1);
  return info[0] === 0;
}
