import { expect, test } from 'vitest';
import {
  chooseOverviewRuns,
  findComparedRuns,
  findSharedBenchmark,
  replaceComparedRuns,
} from '#console/pages/dashboard/compared-runs.js';
import { formatCompareAddress } from '#console/words/addresses.js';

const createRun = (id: string, benchmark: string | null, variant: 'total' | 'price' = 'total') => ({
  index_id: id,
  benchmark,
  return_variant: variant,
});

test('a choice of runs changes the parts that compare the same runs, and no other part', () => {
  const first = { address: formatCompareAddress(['A', 'B']), part: 'Levels compared' };
  const parts = [{ address: '/', part: 'indices' }, first, { address: '/console/compare?ids=C,D', part: 'Drawdowns' }];
  expect(findComparedRuns(parts)).toEqual(['A', 'B']);
  const runs = [createRun('A', 'X'), createRun('B', null), createRun('C', 'X')];
  const replacedParts = replaceComparedRuns(parts, ['A', 'C'], runs);
  expect(findComparedRuns(replacedParts)).toEqual(['A', 'C']);
  expect(replacedParts).toEqual([parts[0], { ...first, address: '/console/compare?ids=A%2CC&benchmark=X' }, parts[2]]);
  expect(findComparedRuns([parts[0]!])).toBeNull();
});

test('compared runs have a benchmark only if all of them share it', () => {
  const runs = [createRun('A', 'X'), createRun('B', 'X'), createRun('C', 'A'), createRun('D', null)];
  expect(findSharedBenchmark(runs, ['A', 'B'])).toBe('X');
  // The benchmark of a run can be compared with it.
  expect(findSharedBenchmark(runs, ['C', 'A'])).toBe('A');
  expect(findSharedBenchmark(runs, ['A', 'C', 'B'])).toBeNull();
  expect(findSharedBenchmark(runs, ['A', 'D'])).toBeNull();
});

test('an overview prefers runs that share a benchmark to newer runs that do not', () => {
  const runs = [createRun('LONE', null), createRun('A', 'X'), createRun('P', 'X', 'price'), createRun('B', 'X')];
  expect(chooseOverviewRuns(runs, 3)).toEqual(['A', 'B']);
  // Of two groups that fill the overview, the first is shown.
  const others = ['C', 'D', 'E', 'F'].map((id) => createRun(id, 'Y'));
  expect(chooseOverviewRuns([...runs, createRun('G', 'X'), ...others], 3)).toEqual(['A', 'B', 'G']);
  expect(chooseOverviewRuns([runs[2]!, runs[0]!, runs[1]!], 3)).toEqual(['P']);
});
