import { describe, expect, test } from 'vitest';
import { KernelFault } from '#kernels/assert.js';
import { openWasmEngine } from '#kernels/engines/wasm.js';
import { countHalves, computeHalvingChoices, type BlockSums } from '#kernels/sums/halving-choices.js';
import { expectEqual } from '../../equal.js';
import { createRandomPanel } from '../engines/random-matrices.js';

const SHAPES = [
  [1, 2],
  [2, 4],
  [7, 8],
  [30, 10],
] as const;

/** Returns block sums. The last two variants are equal, and the first is constant. */
function createSums(variants: number, blocks: number): BlockSums {
  const first = createRandomPanel(blocks, variants);
  const second = createRandomPanel(blocks, variants).map((value, i) => (i % variants === 0 ? 0 : 1 + value * value));
  const means = createRandomPanel(1, variants);
  for (let i = 0; i < first.length; i += variants) first[i] = 0;
  if (variants > 2)
    for (const rows of [first, second, means])
      for (let i = variants - 1; i < rows.length; i += variants) rows[i] = rows[i - 1]!;
  return { first, second, means, half: 40, varianceMin: 1e-30 };
}

/**
 * Computes the rank and the ratio for each half of the blocks, one half at a time. The variant is chosen on one half
 * and measured on the other.
 * @returns pairs sorted by size
 */
function listOneByOne({ first, second, means, half }: BlockSums): number[][] {
  const variants = means.length;
  const blocks = first.length / variants;
  const figures: number[][] = [];
  for (let mask = 0; mask < 2 ** blocks; mask++) {
    const isInside = Array.from({ length: blocks }, (_, block) => (mask & (1 << block)) !== 0);
    if (isInside.filter(Boolean).length !== blocks / 2) continue;
    const computeRatios = (wanted: boolean) =>
      Array.from(means, (mean, n) => {
        let [sum, squares] = [0, 0];
        for (let block = 0; block < blocks; block++) {
          if (isInside[block] !== wanted) continue;
          sum += first[block * variants + n]!;
          squares += second[block * variants + n]!;
        }
        const variance = (squares - (sum * sum) / half) / (half - 1);
        return variance > 0 ? (mean + sum / half) / Math.sqrt(variance) : 0;
      });
    const [inside, outside] = [computeRatios(true), computeRatios(false)];
    const value = outside[inside.indexOf(Math.max(...inside))]!;
    const belowCount = outside.filter((one) => one < value).length;
    const equalCount = outside.filter((one) => one === value).length;
    figures.push([belowCount + (equalCount + 1) / 2, value]);
  }
  return figures;
}

const sortFigures = (figures: readonly (readonly number[])[]) =>
  figures.toSorted((a, b) => a[0]! - b[0]! || a[1]! - b[1]!);

describe.each([
  ['the definition', computeHalvingChoices],
  ['WebAssembly', openWasmEngine().halvingChoices],
] as const)('%s', (_, listChoices) => {
  test.each(SHAPES)('chooses one of %i variants on each half of %i blocks', (variants, blocks) => {
    const sums = createSums(variants, blocks);
    const out = new Float64Array(2 * countHalves(blocks));
    listChoices(sums, out);
    const figures = Array.from({ length: countHalves(blocks) }, (_, i) => [out[2 * i]!, out[2 * i + 1]!]);
    expect(sortFigures(figures)).toEqual(sortFigures(listOneByOne(sums)));
  });

  test('refuses an odd number of blocks, too many blocks, and output of another size', () => {
    const [three, eighteen, two] = [createSums(2, 3), createSums(2, 18), createSums(2, 2)];
    expect(() => listChoices(three, new Float64Array(6))).toThrow(KernelFault);
    expect(() => listChoices(eighteen, new Float64Array(2 * countHalves(18)))).toThrow(KernelFault);
    expect(() => listChoices(two, new Float64Array(3))).toThrow(KernelFault);
  });
});

test.each(SHAPES)(
  'WebAssembly and the definition choose from %i variants and %i blocks in the same order and to the same bits',
  (variants, blocks) => {
    const sums = createSums(variants, blocks);
    const [plainSums, fastSums] = [
      new Float64Array(2 * countHalves(blocks)),
      new Float64Array(2 * countHalves(blocks)),
    ];
    computeHalvingChoices(sums, plainSums);
    openWasmEngine().halvingChoices(sums, fastSums);
    expectEqual(fastSums, plainSums);
  },
);
