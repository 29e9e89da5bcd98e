import { expect, test } from 'vitest';
import {
  assertClock,
  CLOCK_REPORTED_MS,
  describeClockFault,
  openDatabaseClock,
} from '#store/postgres/database-clock.js';

/** Opens a machine whose clock is ahead of the database clock. Responses are delayed. */
async function openWorld({ aheadMs = 0, tripMs = 4 } = {}) {
  const world = { monotonicMs: 500, databaseMs: 1_700_000_000_000, aheadMs, tripMs };
  const advanceTime = (ms: number): void => {
    world.monotonicMs += ms;
    world.databaseMs += ms;
  };
  const clock = await openDatabaseClock({
    async ask() {
      advanceTime(world.tripMs / 2);
      const now = world.databaseMs;
      advanceTime(world.tripMs / 2);
      return now;
    },
    systemMs: () => world.databaseMs + world.aheadMs,
    monotonicMs: () => world.monotonicMs,
  });
  return { world, pass: advanceTime, clock };
}

test('the time of records is that of the database, however wrong the clock of the machine is and is set', async () => {
  const { world, pass, clock } = await openWorld({ aheadMs: 3_600_000 });
  expect([clock.now(), clock.offsetMs()]).toEqual([world.databaseMs, 3_600_000]);
  pass(10_000);
  world.aheadMs = -86_400_000;
  expect([clock.now(), clock.offsetMs()]).toEqual([world.databaseMs, -86_400_000]);
});

test('a measurement over a long round trip replaces a better one only after that may have drifted as far', async () => {
  const { world, pass, clock } = await openWorld();
  world.databaseMs += 30; // the database clock was set, or the local clock has drifted
  world.tripMs = 200;
  await clock.measure();
  expect(clock.now()).toBe(world.databaseMs - 30);
  world.tripMs = 4;
  await clock.measure();
  expect(clock.now()).toBe(world.databaseMs);
  world.databaseMs += 30;
  world.tripMs = 200;
  pass(3_600_000);
  await clock.measure();
  expect(clock.now()).toBe(world.databaseMs);
});

test.each([
  [1900, undefined, 'passes'],
  [-2500, 'The clock of this machine is 2.5 s behind the clock of the database (limit 2 s).', 'passes'],
  [29_000, 'The clock of this machine is 29.0 s ahead of the clock of the database (limit 2 s).', 'passes'],
  [-31_000, 'The clock of this machine is 31.0 s behind the clock of the database (limit 2 s).', 'is refused'],
])('a clock that is %i ms ahead is reported beyond 2 s and refused beyond 30 s', async (aheadMs, fault, outcome) => {
  const { clock } = await openWorld({ aheadMs });
  expect(describeClockFault(clock, CLOCK_REPORTED_MS)).toBe(fault);
  const assert = () => assertClock(clock);
  if (outcome === 'passes') expect(assert).not.toThrow();
  else expect(assert).toThrow(/31\.0 s behind .* \(limit 30 s\)\. Set it/);
});
