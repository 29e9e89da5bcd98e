import type { Engine } from '../engine.js';
import { assertProduct, type ProductShape } from '../../algebra/gemm.js';
import { assert } from '../../assert.js';
import { BYTES, type Kernels } from './kernels.js';

/** Function that runs a product with this number of multiply-adds, on several threads if that is worth the calls. */
export type TeamProduct = (multiplyAdds: number, work: () => void) => void;

/** Creates the operations for matrix products. */
export function createProductOperations(
  { kernels, arena, operands, run }: Kernels,
  inTeam: TeamProduct,
): Pick<Engine, 'symmetricRankK' | 'gemm' | 'gemv' | 'gemvTransposed' | 'symv' | 'square' | 'rankOneUpdate'> {
  const multiply = (shape: ProductShape, a: Float64Array, b: Float64Array, out: Float64Array): void => {
    assertProduct(shape, a, b, out);
    const { rows, inner, columns, transposeA = false, transposeB = false } = shape;
    run(() => {
      const pa = operands.input(a);
      const pb = operands.input(b);
      const [pc, write] = operands.output(out);
      const scratch = arena.reserve(kernels.gemmScratch());
      const [aRow, aInner] = transposeA ? [BYTES, rows * BYTES] : [inner * BYTES, BYTES];
      const [bInner, bColumn] = transposeB ? [BYTES, inner * BYTES] : [columns * BYTES, BYTES];
      kernels.gemm(rows, inner, columns, pa, aRow!, aInner!, pb, bInner!, bColumn!, pc, columns * BYTES, 1, 0, scratch);
      write();
    });
  };

  return {
    symmetricRankK(x, columns, out) {
      const rows = x.length / columns;
      assert(columns >= 1 && Number.isInteger(rows), `x: ${x.length} values over ${columns} columns`);
      assert(out.length === columns * columns, `out: ${out.length} values for ${columns} columns`);
      run(() => {
        const px = operands.input(x);
        const [pc, write] = operands.result(out);
        inTeam((rows * columns * columns) / 2, () => {
          // The leader of a team needs additional scratch memory.
          const scratch = arena.reserve(kernels.teamSymmetricRankKScratch(rows, columns));
          kernels.teamSymmetricRankK(px, rows, columns, pc, scratch);
        });
        write();
      });
    },

    gemm: multiply,

    gemv(a, x, out) {
      assert(a.length === out.length * x.length, `a: ${a.length} values for ${out.length} x ${x.length}`);
      run(() => {
        const pa = operands.input(a);
        const px = operands.input(x);
        const [py, write] = operands.output(out);
        kernels.gemv(pa, out.length, x.length, x.length * BYTES, px, py);
        write();
      });
    },

    gemvTransposed(a, x, out) {
      assert(a.length === out.length * x.length, `a: ${a.length} values for ${x.length} x ${out.length}`);
      run(() => {
        const pa = operands.input(a);
        const px = operands.input(x);
        const [py, write] = operands.output(out);
        kernels.addTransposed(pa, x.length, out.length, out.length * BYTES, px, py, 1);
        write();
      });
    },

    symv(a, x, out) {
      const n = x.length;
      assert(out.length === n, `out: ${out.length} values for ${n}`);
      assert(a.length === n * n, `a: ${a.length} values for ${n} x ${n}`);
      run(() => {
        const pa = operands.input(a);
        const px = operands.input(x);
        const [py, write] = operands.output(out);
        kernels.symvRows(pa, n, n * BYTES, px, py, 0, n);
        write();
      });
    },

    square(x, out) {
      assert(out.length === x.length, `out: ${out.length} values for ${x.length}`);
      run(() => {
        const px = operands.input(x);
        const [py, write] = operands.output(out);
        kernels.square(px, x.length, py);
        write();
      });
    },

    rankOneUpdate(out, x, { decay, factor }) {
      assert(out.length === x.length * x.length, `out: ${out.length} values for ${x.length} x ${x.length}`);
      run(() => {
        const px = operands.input(x);
        const [pc, write] = operands.inPlace(out);
        kernels.rankOneUpdate(pc, x.length, px, decay, factor);
        write();
      });
    },
  };
}
