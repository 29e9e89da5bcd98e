import { fc } from '../../../fast-check.js';
import { describe, expect, test } from 'vitest';
import { Refusal } from '#domain/base/refusals.js';
import { type LaidBlock, paginate, type Part, type Placement } from '#views/report/page.js';

const frame = { top: 40, height: 500 };
const createPart = (height: number): Part => ({ height, draw() {} });

interface Sketch {
  readonly title: number;
  readonly head: number;
  readonly rows: readonly number[];
  readonly isHalf: boolean;
}

const sketches = fc.array(
  fc.record({
    title: fc.constantFrom(0, 20),
    head: fc.constantFrom(0, 15),
    rows: fc.array(fc.integer({ min: 5, max: 200 }), { minLength: 1, maxLength: 40 }),
    isHalf: fc.boolean(),
  }),
  { minLength: 1, maxLength: 12 },
);

function layBlock({ title, head, rows }: Sketch): LaidBlock {
  return {
    title: title === 0 ? null : createPart(title),
    sections: [{ head: head === 0 ? null : createPart(head), rows: rows.map(createPart) }],
  };
}

/** Returns bands as in a report. Two blocks of half width share a band. */
function listBands(blocks: readonly Sketch[]) {
  const bands: { block: LaidBlock; x: number }[][] = [];
  let isOpen = false;
  for (const sketch of blocks) {
    const block = layBlock(sketch);
    if (sketch.isHalf && isOpen) bands.at(-1)!.push({ block, x: 300 });
    else bands.push([{ block, x: 0 }]);
    isOpen = sketch.isHalf && !isOpen;
  }
  return bands;
}

const computeBottom = ({ y, part: { height } }: Placement): number => y + height;

describe('pages', () => {
  test('contain every part once, complete, in reading order', () => {
    fc.assert(
      fc.property(sketches, (blocks) => {
        const bands = listBands(blocks);
        const pages = paginate(bands, frame);
        const rows = bands.flat().flatMap(({ block }) => block.sections.flatMap((section) => section.rows));
        const placedBlocks = pages.flatMap((placements, page) =>
          placements.map((placement) => ({ ...placement, page })),
        );
        for (const row of rows) expect(placedBlocks.filter((placement) => placement.part === row)).toHaveLength(1);
        for (const placement of placedBlocks) {
          expect(placement.y).toBeGreaterThanOrEqual(frame.top);
          expect(computeBottom(placement)).toBeLessThanOrEqual(frame.top + frame.height + 1e-6);
        }
        for (const { block } of bands.flat()) {
          const rowPages = block.sections
            .flatMap((section) => section.rows.map((row) => placedBlocks.find((placement) => placement.part === row)!))
            .map(({ page, y }) => page * 10_000 + y);
          expect(rowPages).toEqual(rowPages.toSorted((a, b) => a - b));
        }
      }),
    );
  });

  test('never overlap two parts of a column', () => {
    fc.assert(
      fc.property(sketches, (blocks) => {
        for (const placements of paginate(listBands(blocks), frame)) {
          const full = new Set(placements.filter(({ x }) => x === 300).map(({ block }) => block - 1));
          for (const upperPlacement of placements) {
            for (const right of placements) {
              if (upperPlacement === right || upperPlacement.x !== right.x) continue;
              if (upperPlacement.y < computeBottom(right) - 1e-9 && right.y < computeBottom(upperPlacement) - 1e-9)
                throw new Error(
                  `parts of blocks ${upperPlacement.block} and ${right.block} overlap; ${full.size} pairs`,
                );
            }
          }
        }
      }),
    );
  });

  test('draw the head of a section above its rows on every page, and the title directly above the head', () => {
    fc.assert(
      fc.property(sketches, (blocks) => {
        const bands = listBands(blocks);
        const pages = paginate(bands, frame);
        bands.flat().forEach(({ block }, position) => {
          const [section] = block.sections;
          for (const placements of pages) {
            const blockPlacements = placements.filter((placement) => placement.block === position);
            const rows = blockPlacements.filter((placement) => section!.rows.includes(placement.part));
            if (section!.head !== null && rows.length > 0)
              expect(blockPlacements.filter((placement) => placement.part === section!.head)).toHaveLength(1);
            const title = blockPlacements.find((placement) => placement.part === block.title);
            if (title !== undefined)
              expect(blockPlacements.some((placement) => Math.abs(placement.y - computeBottom(title)) < 1e-9)).toBe(
                true,
              );
          }
        });
      }),
    );
  });
});

test('halves begin side by side', () => {
  const half = { title: 20, head: 0, rows: [100], isHalf: true };
  const [page] = paginate(listBands([{ ...half, rows: [200], isHalf: false }, half, { ...half, rows: [150] }]), frame);
  const titles = page!.filter(({ part: { height } }) => height === 20);
  expect(titles[1]!.y).toBe(titles[2]!.y);
});

test('a small block that does not fit is not split', () => {
  const pages = paginate(
    listBands([
      { title: 0, head: 0, rows: [450], isHalf: false },
      { title: 20, head: 10, rows: [30, 30, 30], isHalf: false },
    ]),
    frame,
  );
  expect(pages.map((placements) => placements.length)).toEqual([1, 5]);
});

test('a report of too many pages is refused', () => {
  const block = { title: 0, head: 0, rows: Array.from({ length: 201 }, () => 500), isHalf: false };
  expect(() => paginate(listBands([block]), frame)).toThrow(Refusal);
  expect(() => paginate(listBands([{ ...block, rows: block.rows.slice(1) }]), frame)).not.toThrow();
});
