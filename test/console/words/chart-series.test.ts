import { expect, test } from 'vitest';
import { placeLabel } from '#console/components/chart/label-place.js';
import { layerCovered, sortForDrawing, toBins, type Line } from '#console/components/chart/series.js';
import { averagePeriods } from '#console/pages/names/traded.js';

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
