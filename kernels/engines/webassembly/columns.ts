import type { Engine } from '../engine.js';
import { assertCentre } from '../../algebra/centre-columns.js';
import { assertGroups, type ColumnGroups } from '../../algebra/centre-groups.js';
import { assertColumns } from '../../algebra/column-deviations.js';
import { assertSelection } from '../../algebra/select-columns.js';
import { assertRowSums } from '../../algebra/squared-row-sums.js';
import { assertHalving } from '../../sums/halving-choices.js';
import { assertPercentiles } from '../../sums/weighted-percentiles.js';
import { BYTES, type Kernels } from './kernels.js';

/** Creates the operations for sums, means and squares of columns and of groups of columns. */
export function createColumnOperations({
  kernels,
  arena,
  operands,
  run,
}: Kernels): Pick<
  Engine,
  | 'centreColumns'
  | 'squaredRowSums'
  | 'columnDeviations'
  | 'selectColumns'
  | 'centreGroups'
  | 'pairwiseSum'
  | 'weightedPercentiles'
  | 'halvingChoices'
> {
  return {
    centreColumns(x, rowWeights, means, squares) {
      const rows = assertCentre(x, rowWeights, means, squares);
      const { weights, factors } = rowWeights;
      run(() => {
        const [px, writeRows] = operands.inPlace(x);
        const [pm, writeMeans] = operands.result(means);
        const [ps, writeSquares] = operands.result(squares);
        kernels.columnSums(px, rows, means.length, weights === undefined ? 0 : operands.input(weights), pm);
        const sums = arena.view(pm, means.length);
        if (weights === undefined) for (let i = 0; i < sums.length; i++) sums[i]! /= rows;
        kernels.centreRows(px, rows, means.length, pm, operands.input(factors), ps);
        writeRows();
        writeMeans();
        writeSquares();
      });
    },

    squaredRowSums(x, weights) {
      const rows = assertRowSums(x, weights);
      return run(() => kernels.squaredRowSums(operands.input(x), rows, weights.length, operands.input(weights)));
    },

    columnDeviations(x, out) {
      const rows = assertColumns(x, out);
      run(() => {
        const px = operands.input(x);
        const [po, write] = operands.output(out);
        const pm = arena.reserve(out.length * BYTES);
        const means = arena.view(pm, out.length);
        kernels.columnSums(px, rows, out.length, 0, pm);
        for (let i = 0; i < means.length; i++) means[i]! /= rows;
        kernels.columnSquaresAbout(px, rows, out.length, pm, po);
        write();
      });
    },

    selectColumns(x, selection, out) {
      const rows = assertSelection(x, selection, out);
      const { width, columns, less } = selection;
      run(() => {
        const px = operands.input(x);
        const [po, write] = operands.result(out);
        kernels.selectColumns(px, rows, width, operands.integers(columns), columns.length, less, po);
        write();
      });
    },

    centreGroups(x, groups, means) {
      const { rows, sizes } = assertGroups(x, groups, means);
      const columns = groups.groupAt.length;
      run(() => {
        const [px, writeRows] = operands.inPlace(x);
        const [pm, writeMeans] = operands.result(means);
        kernels.centreGroups(
          px,
          rows,
          columns,
          operands.integers(computeOffsetsByGroup(groups, sizes)),
          operands.integers(sizes),
          groups.count,
          pm,
        );
        writeRows();
        writeMeans();
      });
    },

    pairwiseSum: (values) => run(() => kernels.pairwiseSum(operands.input(values), values.length)),

    weightedPercentiles(weightedValues, shares, out) {
      assertPercentiles(weightedValues, shares, out);
      const { values, weights, count } = weightedValues;
      const mark = arena.mark();
      try {
        const pv = arena.addressOf(values) ?? operands.input(values);
        const pw = arena.addressOf(weights) ?? operands.input(weights);
        const ps = arena.addressOf(shares) ?? operands.input(shares);
        const outAddress = arena.addressOf(out);
        const po = outAddress ?? arena.reserve(out.length * BYTES);
        const scratch = arena.reserve(kernels.weightedPercentilesScratch(count, shares.length));
        kernels.weightedPercentiles(pv, pw, count, ps, shares.length, po, scratch);
        if (outAddress === undefined) out.set(arena.view(po, out.length));
      } finally {
        arena.release(mark);
      }
    },

    halvingChoices(sums, out) {
      const blocks = assertHalving(sums, out);
      const { means, half, varianceMin } = sums;
      run(() => {
        const [pf, ps, pm] = [operands.input(sums.first), operands.input(sums.second), operands.input(means)];
        const [po, write] = operands.result(out);
        const scratch = arena.reserve(kernels.halvingChoicesScratch(means.length, blocks));
        kernels.halvingChoices(pf, ps, pm, means.length, blocks, half, varianceMin, po, scratch);
        write();
      });
    },
  };
}

/**
 * Returns the byte offsets of columns from the beginning of a row, ordered by group and ascending within each group.
 */
function computeOffsetsByGroup({ groupAt }: ColumnGroups, sizes: Int32Array): Int32Array {
  const next = new Int32Array(sizes.length);
  for (let g = 1; g < sizes.length; g++) next[g] = next[g - 1]! + sizes[g - 1]!;
  const offsets = new Int32Array(groupAt.length);
  for (let i = 0; i < groupAt.length; i++) offsets[next[groupAt[i]!]!++] = i * BYTES;
  return offsets;
}
