import { expect, test } from 'vitest';
import type { Run } from '#domain/backtest/run.js';
import { fc } from '../../fast-check.js';
import { expectNear, runIndexCase, listShareChanges, listWeekdays } from './index-case.js';

const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 20);
/** Number of sessions. A book lists the changes of its share counts only if it has more than 64 sessions. */
const SESSIONS = 100;
const NAMES = ['A', 'B', 'C', 'D', 'E'];
const DAYS = listWeekdays(SESSIONS);

/**
 * Changes of a share count from session to session. Most are zero, because a book lists changes only if at most an
 * eighth of its counts change.
 */
const STEPS = [...Array.from({ length: 60 }, () => 0), 1, 2, -3, 4, 7, null, null];

const randomCase = fc.record({
  /** Change of the share count by security and session, or null if the data has no count. */
  steps: fc.array(fc.constantFrom(...STEPS), { minLength: 500, maxLength: 500 }),
  prices: fc.array(fc.integer({ min: -30, max: 30 }), { minLength: 500, maxLength: 500 }),
  hasFloat: fc.boolean(),
  threshold: fc.constantFrom(0, 0.03, 0.05),
  members: fc.constantFrom(2, 3, 5),
  split: fc.record({ name: fc.nat(4), at: fc.integer({ min: 1, max: SESSIONS - 1 }) }),
});
type RandomCase = typeof randomCase extends fc.Arbitrary<infer T> ? T : never;

/** Returns the share counts of a security in the data. A count is null if the data has none. */
function listCounts({ steps, split }: RandomCase, n: number): (number | null)[] {
  let count = 100 + 20 * n;
  return DAYS.map((_, t) => {
    if (split.name === n && split.at === t) count *= 2;
    const step = steps[n * SESSIONS + t]!;
    if (step === null) return null;
    count *= 1 + step / 100;
    return count;
  });
}

function runOf(drawnCase: RandomCase): Run {
  const { prices, hasFloat, threshold, members, split } = drawnCase;
  const close = (n: number): number[] => {
    let price = 40 + 10 * n;
    return DAYS.map((_, t) => {
      if (split.name === n && split.at === t) price /= 2;
      return (price *= 1 + prices[n * SESSIONS + t]! / 1000);
    });
  };
  const floats = Object.fromEntries(NAMES.map((name) => [name, { FREE_FLOAT: 0.5 }]));
  return runIndexCase({
    close: Object.fromEntries(NAMES.map((name, n) => [name, close(n)])),
    fields: { SHARES_OUTSTANDING: Object.fromEntries(NAMES.map((name, n) => [name, listCounts(drawnCase, n)])) },
    ...(hasFloat ? { reference: floats } : {}),
    actions: [{ name: NAMES[split.name]!, type: 'SPLIT', value: 2, ex: DAYS[split.at]! }],
    selection: [{ id: 'top', type: 'TopN', params: { field: 'CLOSE', count: members } }],
    weighting: { type: 'MarketCapWeight' },
    rebalance: { frequency: 'monthly' },
    events: { share_changes: 'effective', threshold },
  });
}

/** Returns the changes by definition. It compares every share count of every constituent on every session. */
function listPlainChanges(run: Run, drawnCase: RandomCase) {
  const { split, threshold, hasFloat } = drawnCase;
  const counts = NAMES.map((_, n) => listCounts(drawnCase, n).map((count) => count && count * (hasFloat ? 0.5 : 1)));
  const [adoptedCounts, latestCounts] = [new Map<number, number | null>(), new Map<number, number>()];
  const changes: ReturnType<typeof listShareChanges> = [];
  DAYS.forEach((_, session) => {
    for (const column of [...adoptedCounts.keys()].toSorted((a, b) => a - b)) {
      const [count, base] = [counts[column]![session]!, adoptedCounts.get(column)!];
      const before = base === null ? null : base * (split.name === column && split.at === session ? 2 : 1);
      adoptedCounts.set(column, before);
      if (count === null || count === latestCounts.get(column)) continue;
      latestCounts.set(column, count);
      if (before === null) adoptedCounts.set(column, count);
      else if (count !== before && Math.abs(count / before - 1) >= threshold - 1e-12) {
        adoptedCounts.set(column, count);
        changes.push({ session, column, before, after: count });
      }
    }
    const review = run.rebalances.find((one) => one.session === session);
    if (review === undefined) return;
    adoptedCounts.clear();
    latestCounts.clear();
    for (const column of review.columns) {
      const count = counts[column]![session]!;
      adoptedCounts.set(column, count);
      if (count !== null) latestCounts.set(column, count);
    }
  });
  return changes;
}

test('changes of counts that a book lists at its beginning are those found by comparing every count on every session', () => {
  let seenCount = 0;
  fc.assert(
    fc.property(randomCase, (drawnCase) => {
      const run = runOf(drawnCase);
      const changes = listShareChanges(run);
      expect(changes).toEqual(listPlainChanges(run, drawnCase));
      seenCount += changes.length;
      // The level has no jump, because the divisor changes by the market value of the new shares.
      const { divisor, weights, columns } = run.index.book;
      for (const { session } of changes) {
        const sessionChanges = changes.filter((one) => one.session === session);
        const growth = sessionChanges.reduce((sum, { column, before, after }) => {
          const weight = weights[(session - 1) * columns.length + columns.indexOf(column)]!;
          return sum + weight * (after / before - 1);
        }, 1);
        if (run.rebalances.every((one) => one.session !== session))
          expectNear(divisor[session]! / divisor[session - 1]!, growth);
      }
    }),
    { numRuns: RUNS },
  );
  expect(seenCount).toBeGreaterThan(RUNS);
});
