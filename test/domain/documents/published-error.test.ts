import { fc } from '../../fast-check.js';
import { expect, test } from 'vitest';
import { decideError } from '#domain/definition/publication.js';

const policy = { materiality_bps: 5, correction_window: 3 };
const listDifferences = (...bps: readonly number[]) =>
  bps.map((size, i) => ({ date: `2024-01-${String(i + 1).padStart(2, '0')}`, bps: size, age: bps.length - i }));

test('differences below the threshold are left, however old', () => {
  expect(decideError(policy, listDifferences(4.99, 1, 0, 0))).toMatchObject({ decision: 'left', materialFrom: null });
  expect(decideError(policy, listDifferences(0)).decision).toBe('left');
});

test('a material difference is restated within the window, from its first material date', () => {
  expect(decideError(policy, listDifferences(0.1, 5, 0.2, 6))).toEqual({
    decision: 'restated',
    materialFrom: '2024-01-02',
    reason:
      'The largest difference is 6 bp, at or above the threshold of 5 bp, and began 3 sessions ago, within the window of 3 sessions.',
  });
});

test('a material difference that began before the window is announced, even if it persists', () => {
  expect(decideError(policy, listDifferences(5, 0, 0, 9))).toMatchObject({
    decision: 'announced',
    materialFrom: '2024-01-01',
  });
});

test('a higher threshold or a shorter window never restates more', () => {
  const rank = { restated: 2, announced: 1, left: 0 };
  const sizes = fc.array(fc.double({ min: 0, max: 50, noNaN: true }), { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(sizes, fc.double({ min: 0.1, max: 30, noNaN: true }), fc.integer({ min: 1, max: 12 }), (bps, m, w) => {
      const decision = decideError({ materiality_bps: m, correction_window: w }, listDifferences(...bps));
      const stricter = decideError({ materiality_bps: 2 * m, correction_window: w }, listDifferences(...bps));
      const longerDecision = decideError({ materiality_bps: m, correction_window: w + 1 }, listDifferences(...bps));
      if (decision.decision === 'left') expect(stricter.decision).toBe('left');
      expect(rank[longerDecision.decision]).toBeGreaterThanOrEqual(rank[decision.decision]);
    }),
  );
});
