import { fc } from '../../../fast-check.js';
import { expect, test } from 'vitest';
import type { Canvas } from '#views/report/page.js';
import { fitColumns, layTable } from '#views/report/table-blocks.js';
import type { Typesetter } from '#views/report/text.js';

/** Typesetter in which every character is half as wide as it is high. */
const typesetter = {
  width: (text: string, { size }: { size: number }) => text.length * size * 0.5,
} as unknown as Typesetter;
const GAP = 10;

const content = fc.integer({ min: 1, max: 20 }).chain((count) =>
  fc.record({
    columns: fc.array(
      fc.record({ head: fc.string({ unit: fc.constantFrom('a', 'b', ' '), maxLength: 20 }), isFigure: fc.boolean() }),
      { minLength: count, maxLength: count },
    ),
    rows: fc.array(
      fc.record({
        cells: fc.array(fc.string({ unit: fc.constantFrom('1', 'x', ' '), maxLength: 30 }), {
          minLength: count,
          maxLength: count,
        }),
      }),
      { maxLength: 5 },
    ),
  }),
);

test('columns are side by side within the width, the first one in every group, each other one in one group', () => {
  fc.assert(
    fc.property(content, fc.integer({ min: 250, max: 800 }), ({ columns, rows }, width) => {
      const groups = fitColumns({ columns, rows, width, typesetter, gap: GAP });
      expect(groups.map(([first]) => first!.column)).toEqual(groups.map(() => 0));
      expect(groups.flatMap((group) => group.slice(1).map(({ column }) => column))).toEqual(
        columns.slice(1).map((_, i) => i + 1),
      );
      for (const group of groups) {
        group.forEach((fitted, k) => {
          if (k > 0) expect(fitted.x).toBeGreaterThanOrEqual(group[k - 1]!.x + group[k - 1]!.width + GAP - 1e-9);
        });
        const last = group.at(-1)!;
        if (group.length > 2) expect(last.x + last.width).toBeLessThanOrEqual(width + 1e-6);
      }
    }),
  );
});

test('figures are never split', () => {
  fc.assert(
    fc.property(content, fc.integer({ min: 250, max: 800 }), ({ columns, rows }, width) => {
      for (const { column, width: own } of fitColumns({ columns, rows, width, typesetter, gap: GAP }).flat()) {
        if (!columns[column]!.isFigure) continue;
        for (const { cells } of rows)
          expect(Math.min(width, typesetter.width(cells[column]!, { size: 8 }))).toBeLessThanOrEqual(own + 1e-6);
      }
    }),
  );
});

test('columns that fit with half the padding stay together, and no background exceeds the edge of the table', () => {
  const figures = Array.from({ length: 13 }, () => ({ head: 'Jan', isFigure: true }));
  const columns = [{ head: 'Year', isFigure: false }, ...figures];
  const rows = [{ cells: columns.map(() => '-20.91 %'), tints: columns.map((_, i) => (i === 0 ? null : '#eee')) }];
  const setter = { ...typesetter, fit: (text: string) => [text] } as unknown as Typesetter;
  const leastWidth = fitColumns({ columns, rows, width: 2000, typesetter, gap: 0 })[0]!.reduce(
    (sum, one) => sum + one.width,
    0,
  );
  const width = leastWidth + 13 * 7;
  expect(fitColumns({ columns, rows, width, typesetter, gap: GAP })).toHaveLength(2);
  const sections = layTable({ columns, rows }, width, setter);
  expect(sections).toHaveLength(1);
  const rights: number[] = [];
  const canvas = {
    artifact: (draw: () => void) => draw(),
    element: () => ({}),
    content: () => {},
    line: () => {},
    rectangle: (rectangle: { readonly x: number; readonly width: number }) =>
      rights.push(rectangle.x + rectangle.width),
  } as unknown as Canvas;
  sections[0]!.rows[0]!.draw(canvas, { x: 0, y: 0, parent: {} } as unknown as Parameters<
    (typeof sections)[0]['rows'][0]['draw']
  >[1]);
  expect(rights).toHaveLength(13);
  expect(Math.max(...rights)).toBeLessThanOrEqual(width + 1e-6);
});

test('columns that continue below are distributed over the parts, none by itself next to full ones', () => {
  const columns = Array.from({ length: 14 }, () => ({ head: 'Jan', isFigure: true }));
  const rows = [{ cells: columns.map(() => '-20.91 %') }];
  const ownWidth = fitColumns({ columns, rows, width: 2000, typesetter, gap: GAP })[0]![0]!.width;
  // The width is enough for the first column and six others. 13 columns are divided into 5, 5 and 3, not into 6, 6 and
  // 1.
  const groups = fitColumns({ columns, rows, width: ownWidth + 6 * (ownWidth + GAP) + 1, typesetter, gap: GAP });
  expect(groups.map((group) => group.length - 1)).toEqual([5, 5, 3]);
});
