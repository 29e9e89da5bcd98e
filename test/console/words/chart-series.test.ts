import { expect, test } from 'vitest';
import {
  computeLabelSpace,
  layerCovered,
  type Line,
  placeLabel,
  sortForDrawing,
  toBins,
} from '#console/components/chart/series.js';
import { averagePeriods, placeOnAxis } from '#console/pages/names/periods.js';

test('marks that would overlap are one mark with their number', () => {
  expect(toBins([0, 5, 20], 11)).toEqual([
    { at: 2.5, count: 2 },
    { at: 20, count: 1 },
  ]);
});

test('lines that stay close to an earlier line are wider and below it; other lines have the usual width', () => {
  const lines = [
    [100, 200],
    [100, 201],
    [100, 150],
    [null, 200],
  ].map((values, k) => ({ id: String(k), label: String(k), values, colour: k + 1 }));
  const layers = layerCovered(lines);
  const [first = 0, second = 0, third, fourth = 0] = layers.map(({ width }) => width);
  expect(third).toBeUndefined();
  expect([first < second, second < fourth]).toEqual([true, true]);
  expect(sortForDrawing(layers).map(({ id }: Line) => id)).toEqual(['3', '1', '2', '0']);
  expect(layerCovered([lines[0]!, lines[2]!])).toEqual([lines[0], lines[2]]);
});

test('volumes of a long period are averages by week or month on the first date of each', () => {
  // A Friday, and the Monday and Tuesday after it. They are in another week and in another month.
  const dates = ['2021-01-29', '2021-02-01', '2021-02-02'];
  expect(averagePeriods(dates, [1, 2, 4], 3)).toEqual({ dates, values: [1, 2, 4], period: '' });
  const averages = { dates: ['2021-01-29', '2021-02-01'], values: [1, 3] };
  expect(averagePeriods(dates, [1, 2, 4], 1000)).toEqual({ ...averages, period: 'week' });
  expect(averagePeriods(dates, [1, 2, 4], 5000)).toEqual({ ...averages, period: 'month' });
  // A Sunday belongs to the week of the Monday before it.
  expect(averagePeriods(['2021-01-31', '2021-02-01'], [1, null], 1000).values).toEqual([1, null]);
});

test('the label of a flag never covers the flag, and is on its left near the right end of the chart', () => {
  const chart = { left: 0, right: 400 };
  expect(placeLabel({ start: 100, end: 109, width: 80, gap: 3 }, chart)).toBe(112);
  const left = placeLabel({ start: 350, end: 359, width: 80, gap: 3 }, chart);
  expect(left + 80).toBeLessThan(350);
});

test('labels at most half a year apart have space for a year and a month', () => {
  const years = 365 * 86_400;
  expect(computeLabelSpace(12 * years, 1080)).toBe(72); // steps of 44 pixels are 179 days
  expect(computeLabelSpace(12 * years, 1060)).toBe(44);
  expect(computeLabelSpace(years, 400)).toBe(72);
});

test('the lines of a table share a time axis: a shorter history begins later, and an ended one may have no line', () => {
  const place = (dates: readonly string[]) => placeOnAxis({ dates, closes: dates.map((_, at) => at) }, '2024-12-31');
  expect(place(['2023-12-29', '2024-12-31'])).toEqual({ closes: [0, 1], positions: [0, 1] });
  const half = place(['2024-07-01', '2024-12-31']);
  expect(half.positions[0]).toBeCloseTo(0.5, 2);
  expect(half.positions[1]).toBe(1);
  // A security that ended within the year keeps its closes on the axis.
  const ended = place(['2023-07-03', '2023-12-28', '2024-01-31', '2024-06-28']);
  expect(ended.closes).toEqual([1, 2, 3]);
  expect(ended.positions.at(-1)).toBeLessThan(0.5);
  expect(place(['2022-01-03', '2022-12-30'])).toEqual({ closes: [], positions: [] });
});
