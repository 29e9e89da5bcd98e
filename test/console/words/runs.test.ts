import { expect, test } from 'vitest';
import type { StoredRun } from '#clients/typescript/divisor.js';
import { formatRunChange } from '#console/pages/index/changed-terms.js';
import { createDrawdownScenarios } from '#console/pages/index/scenario-windows.js';

const run = {
  run_hash: 'a',
  index_version: 1,
  store_content_hash: 'c',
  engine_version: '1',
  start: '2020-01-02',
  end: '2024-12-31',
  request: { transaction_cost_bps: 10, benchmark: null },
} as unknown as StoredRun; // only the members that determine a result

test('a run with the inputs of the run before it is identical; otherwise the differing inputs are named', () => {
  expect(formatRunChange(run, undefined)).toBe(null);
  expect(formatRunChange(run, { ...run, run_id: 'other' })).toBe('identical');
  const changedRun = { ...run, run_hash: 'b' };
  expect(formatRunChange({ ...changedRun, index_version: 2, engine_version: '2' }, run)).toBe('definition, engine');
  expect(formatRunChange({ ...changedRun, request: { transaction_cost_bps: 5, benchmark: null } }, run)).toBe('terms');
  expect(formatRunChange({ ...changedRun, store_content_hash: 'd', end: '2025-01-31' }, run)).toBe('data, dates');
  // The order of the members of a request is not a difference.
  const reorderedRun = { ...changedRun, request: { benchmark: null, transaction_cost_bps: 10 } };
  expect(formatRunChange(reorderedRun, run)).toBe('underlying index');
});

test('the drawdowns of an index are scenarios named by depth and month, in the order of their peaks', () => {
  const deepest = { peak: '2020-02-03', trough: '2020-03-20', depth: -0.341 };
  const earlierDrawdown = { peak: '2018-09-20', trough: '2018-12-24', depth: -0.19778 };
  expect(createDrawdownScenarios([deepest, earlierDrawdown])).toEqual([
    { name: '19.8% drawdown, 2018-09', window: { start: '2018-09-20', end: '2018-12-24' } },
    { name: '34.1% drawdown, 2020-02', window: { start: '2020-02-03', end: '2020-03-20' } },
  ]);
});
