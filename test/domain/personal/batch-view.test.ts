import { expect, test } from 'vitest';
import { createBatchSummary } from '#domain/personal/batch-summary.js';
import type { AccountOutcome } from '#domain/personal/account-result.js';

test('percentiles of the tracking error are interpolated linearly between the solved accounts', () => {
  const summary = createBatchSummary();
  for (const error of [0.04, 0.02]) {
    summary.add({
      status: 'optimal',
      conflicts: [],
      tracking_error: error,
      tracking_error_before: 2 * error,
      certificate: { gap: 0 },
      avoided_wash_sales: [],
      value: 100,
      tax: 0,
      tax_saved: 0,
      costs: 0,
    } as unknown as AccountOutcome); // the summary reads no other members
  }
  summary.add({ status: 'refused', account_id: null, findings: [] });
  const { tracking_error: error, tracking_error_before: errorBefore, refused } = summary.end();
  expect(error!['p0']).toBe(0.02);
  expect(error!['p25']).toBeCloseTo(0.025, 12);
  expect(error!['p50']).toBeCloseTo(0.03, 12);
  expect(error!['p100']).toBe(0.04);
  expect(errorBefore!['p50']).toBeCloseTo(0.06, 12);
  expect(errorBefore!['p0']).toBe(0.04);
  expect(refused.map(({ position }) => position)).toEqual([2]);
});
