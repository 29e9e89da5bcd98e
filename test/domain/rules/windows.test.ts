import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import {
  fillWindowDeviations,
  computeMedianInPlace,
  computeProduct,
  rankPositions,
  type Statistic,
  STATISTICS,
} from '#domain/datapoints/statistics.js';
import {
  computeOverWindow,
  countOver,
  createSampleReader,
  createTally,
  createTrail,
} from '#domain/datapoints/windows.js';
import type { Series } from '#domain/datapoints/series.js';
import { IS_SOAK } from '../../soak.js';

const SESSIONS = 90;
const NAMES = 7;

/** Definition of each statistic. It is applied to the values that exist. */
const DEFINITIONS: Readonly<
  Record<string, { readonly fast: Statistic; readonly slow: (values: readonly number[]) => number }>
> = {
  mean: { fast: STATISTICS.mean, slow: (values) => computeTotal(values) / values.length },
  sum: { fast: STATISTICS.sum, slow: computeTotal },
  min: { fast: STATISTICS.min, slow: (values) => Math.min(...values) },
  max: { fast: STATISTICS.max, slow: (values) => Math.max(...values) },
  median: { fast: STATISTICS.median, slow: findMiddle },
  std: { fast: STATISTICS.std, slow: spread },
  deviation: { fast: fillWindowDeviations, slow: spread },
  product: { fast: computeProduct, slow: (values) => values.reduce((result, value) => result * value, 1) },
};

function computeTotal(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

function findMiddle(values: readonly number[]): number {
  const sortedValues = values.toSorted((a, b) => a - b);
  const upper = sortedValues.length >> 1;
  return sortedValues.length % 2 === 1 ? sortedValues[upper]! : (sortedValues[upper - 1]! + sortedValues[upper]!) / 2;
}

function spread(values: readonly number[]): number {
  if (values.length < 2) return NaN;
  const mean = computeTotal(values) / values.length;
  return Math.sqrt(computeTotal(values.map((value) => (value - mean) ** 2)) / (values.length - 1));
}

const cell = fc.oneof(
  { arbitrary: fc.double({ min: 0.5, max: 2, noNaN: true }), weight: 4 },
  { arbitrary: fc.constant(NaN), weight: 1 },
  { arbitrary: fc.constant(1), weight: 1 },
);

/** Random windows, requested in random order. */
const questions = fc.array(
  fc.record({
    end: fc.integer({ min: 0, max: SESSIONS - 1 }),
    length: fc.integer({ min: 1, max: 60 }),
    observationsMin: fc.integer({ min: 0, max: 20 }),
    columns: fc.subarray(
      Array.from({ length: NAMES }, (_, column) => column),
      { minLength: 1 },
    ),
  }),
  { minLength: 1, maxLength: 12 },
);

const panels = fc.array(cell, { minLength: SESSIONS * NAMES, maxLength: SESSIONS * NAMES });

/**
 * Returns the values in one of two forms: as cells of a panel in which one session has no row, or as a series without
 * this session.
 */
function createSeries(
  cells: readonly number[],
  { inPanel, absent }: { readonly inPanel: boolean; readonly absent: number },
): Series {
  const panel = Float64Array.from(cells);
  return {
    ...(inPanel
      ? {
          panel: { cells: panel, rowAt: (session) => (session === absent ? -1 : session * NAMES), less: 0, gaps: null },
        }
      : {}),
    fill(session, columns, out) {
      columns.forEach((column, k) => (out[k] = session === absent ? NaN : panel[session * NAMES + column]!));
    },
  };
}

function computeValuesIn(
  cells: readonly number[],
  {
    column,
    end,
    length,
    absent,
  }: { readonly column: number; readonly end: number; readonly length: number; readonly absent: number },
): number[] {
  const values: number[] = [];
  for (let session = Math.max(0, end - length + 1); session <= end; session++) {
    const value = cells[session * NAMES + column]!;
    if (session !== absent && !Number.isNaN(value)) values.push(value);
  }
  return values;
}

describe('a statistic over trailing sessions', () => {
  const cases = Object.entries(DEFINITIONS).flatMap(([name, definition]) =>
    [true, false].map((inPanel) => ({ name, inPanel, ...definition })),
  );

  test.for(cases)(
    'is the $name of the values in the window whatever was read before (of a panel: $inPanel)',
    ({ fast, slow, inPanel }) => {
      fc.assert(
        fc.property(
          panels,
          questions,
          fc.nat(SESSIONS - 1),
          fc.constantFrom(200, 1_000_000),
          (cells, requests, absent, cellsMax) => {
            const series = createSeries(cells, { inPanel, absent });
            const trail = createTrail(series, NAMES, cellsMax);
            for (const { end, length, observationsMin, columns } of requests) {
              const window = [{ end, length, observationsMin }, Int32Array.from(columns)] as const;
              const result = computeOverWindow(trail, fast, ...window);
              expect(computeOverWindow(createSampleReader(series, cellsMax), fast, ...window)).toEqual(result);
              columns.forEach((column, k) => {
                const values = computeValuesIn(cells, { column, end, length, absent });
                const expected = values.length < Math.max(1, observationsMin) ? NaN : slow(values);
                if (Number.isNaN(expected)) expect(result[k]).toBeNaN();
                else expect(result[k]).toBeCloseTo(expected, 10);
              });
            }
          },
        ),
        { numRuns: 40 },
      );
    },
  );

  test('does not depend on the number of securities in a batch or on cached values, to the last bit', () => {
    fc.assert(
      fc.property(panels, questions, (cells, requests) => {
        const series = createSeries(cells, { inPanel: true, absent: -1 });
        const trail = createTrail(series, NAMES);
        const otherWindows = [
          createTrail(series, NAMES, 1),
          createSampleReader(series),
          createSampleReader(series, 100),
          createSampleReader(series, 1),
        ];
        for (const { end, length, observationsMin, columns } of requests) {
          const window = [{ end, length, observationsMin }, Int32Array.from(columns)] as const;
          for (const { fast } of Object.values(DEFINITIONS)) {
            const result = computeOverWindow(trail, fast, ...window);
            for (const other of otherWindows) expect(computeOverWindow(other, fast, ...window)).toEqual(result);
          }
        }
      }),
      { numRuns: 20 },
    );
  });
});

test('a count over trailing sessions is the count of values in the window whatever was read before', () => {
  fc.assert(
    fc.property(panels, questions, fc.boolean(), fc.nat(SESSIONS - 1), (cells, requests, inPanel, absent) => {
      const tally = createTally(createSeries(cells, { inPanel, absent }), NAMES);
      for (const { end, length, observationsMin, columns } of requests) {
        const tallies = countOver(tally, { end, length, observationsMin }, Int32Array.from(columns));
        const counts = columns.map((column) => computeValuesIn(cells, { column, end, length, absent }).length);
        expect([...tallies]).toEqual(counts.map((count) => (count < observationsMin ? NaN : count)));
      }
    }),
    { numRuns: 60 },
  );
});

test('a window that ends before the first session has no values', () => {
  const series = createSeries(
    Array.from({ length: SESSIONS * NAMES }, () => 1),
    { inPanel: true, absent: -1 },
  );
  expect([
    ...computeOverWindow(
      createTrail(series, NAMES),
      STATISTICS.mean,
      { end: -1, length: 5, observationsMin: 1 },
      Int32Array.of(0),
    ),
  ]).toEqual([NaN]);
  expect([
    ...countOver(createTally(series, NAMES), { end: -1, length: 5, observationsMin: 0 }, Int32Array.of(0)),
  ]).toEqual([0]);
});

describe('the median', () => {
  const value = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(0, 1, 2, 1e308, -1e308, 5e-324),
    fc.double({ min: 1, max: 1.000001, noNaN: true }),
  );

  test('is the middle of the sorted values', () => {
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 400 }), (values) => {
        const result = computeMedianInPlace(Float64Array.from(values), values.length);
        const expected = findMiddle(values);
        expect(result === expected || (Math.abs(expected) === Infinity && result === expected)).toBe(true);
      }),
      { numRuns: IS_SOAK ? 2000 : 500 },
    );
  });

  test('accepts infinite values', () => {
    const values = [...Array.from({ length: 30 }, () => Infinity), ...Array.from({ length: 31 }, (_, i) => i)];
    expect(computeMedianInPlace(Float64Array.from(values), 61)).toBe(30);
    expect(computeMedianInPlace(Float64Array.from([Infinity, ...values]), 62)).toBe(Infinity);
  });
});

test('a ranking is the stable sort by value, securities without a value last', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.integer({ min: -20, max: 20 }), fc.constantFrom(NaN, Infinity, -Infinity, -0)), {
        maxLength: 300,
      }),
      fc.boolean(),
      (values, ascending) => {
        const positions = values.map((_, position) => position).filter((position) => position % 5 !== 2);
        const expected = positions.toSorted((a, b) => {
          const [x, y] = [values[a]!, values[b]!];
          if (Number.isNaN(x) || Number.isNaN(y)) return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
          if (x === y) return 0;
          return x < y === ascending ? -1 : 1;
        });
        expect([...rankPositions(Float64Array.from(values), Int32Array.from(positions), ascending)]).toEqual(expected);
      },
    ),
    { numRuns: IS_SOAK ? 500 : 150 },
  );
});
