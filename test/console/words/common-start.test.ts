import { expect, test } from 'vitest';
import { rebaseAtCommonStart } from '#console/words/common-start.js';

test('levels are 100 at the first date that all series have reached', () => {
  const early = { dates: ['2019-01-02', '2019-12-30', '2020-02-03', '2020-03-02'], levels: [100, 160, 200, null] };
  const late = { dates: ['2020-01-02', '2020-02-03', '2020-03-02'], levels: [50, 75, 40] };
  expect(rebaseAtCommonStart([early, late])).toEqual({
    dates: ['2020-01-02', '2020-02-03', '2020-03-02'],
    levels: [
      [100, 125, null],
      [100, 150, 80],
    ],
  });
  expect(rebaseAtCommonStart([])).toEqual({ dates: [], levels: [] });
});
