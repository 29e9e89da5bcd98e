import { expect, test } from 'vitest';
import { createPollSchedule } from '#jobs/distributed/presence.js';

/** Returns the queries per second of several nodes, averaged over many pauses. */
function simulateLooksPerSecond(nodes: number): number {
  const lookOut = createPollSchedule();
  lookOut.nodes = nodes;
  const pauses = Array.from({ length: 20_000 }, () => lookOut.watchPauseMs());
  expect(Math.max(...pauses)).toBeLessThanOrEqual(20_000);
  return (nodes * 1000 * pauses.length) / pauses.reduce((sum, ms) => sum + ms, 0);
}

test('ten nodes each look for silent nodes every two seconds; more nodes together look no more often', () => {
  expect(simulateLooksPerSecond(1)).toBeCloseTo(1 / 2);
  expect(simulateLooksPerSecond(10)).toBeCloseTo(5);
  // The mean of 20,000 uniform pauses is within 2 % of half the longest pause. This is five standard deviations.
  expect(Math.abs(simulateLooksPerSecond(40) - 5)).toBeLessThan(0.1 + 0.05);
});
