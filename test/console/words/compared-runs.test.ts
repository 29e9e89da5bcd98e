import { expect, test } from 'vitest';
import { findComparedRuns, replaceComparedRuns } from '#console/pages/dashboard/compared-runs.js';
import { formatCompareAddress } from '#console/words/addresses.js';

test('a choice of runs changes the parts that compare the same runs, and no other part', () => {
  const first = { address: formatCompareAddress(['A', 'B']), part: 'Levels compared' };
  const parts = [{ address: '/', part: 'indices' }, first, { address: '/console/compare?ids=C,D', part: 'Drawdowns' }];
  expect(findComparedRuns(parts)).toEqual(['A', 'B']);
  const replacedParts = replaceComparedRuns(parts, ['A', 'C']);
  expect(findComparedRuns(replacedParts)).toEqual(['A', 'C']);
  expect(replacedParts).toEqual([parts[0], { ...first, address: formatCompareAddress(['A', 'C']) }, parts[2]]);
  expect(findComparedRuns([parts[0]!])).toBeNull();
});
