import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Refusal } from '#domain/base/refusals.js';
import { createCircuitBreaker } from '#store/postgres/database.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const advanceTime = (ms: number): Promise<unknown> => vi.advanceTimersByTimeAsync(ms);
const waitForever = (): Promise<never> => new Promise<never>(() => {});

function openWorld() {
  const server = { isAlive: false, probes: 0 };
  const changes: boolean[] = [];
  const breaker = createCircuitBreaker({
    async probe() {
      server.probes++;
      return server.isAlive;
    },
    onSilence: () => new Refusal('STORE_UNAVAILABLE', 'silent'),
    onChange: (isOpen) => void changes.push(isOpen),
  });
  const readOutcome = (work: () => Promise<unknown>): Promise<string> =>
    breaker.run(work).then(String, (thrown: Error) => thrown.message);
  return { server, changes, breaker, outcome: readOutcome };
}

test('a silent server is abandoned after 1.5 s: pending and new calls are refused', async () => {
  const { breaker, changes, outcome } = openWorld();
  const waitingOutcome = outcome(waitForever);
  await advanceTime(1400);
  expect(breaker.isOpen).toBe(false);
  await advanceTime(200);
  expect(await waitingOutcome).toBe('silent');
  expect([breaker.isOpen, changes]).toEqual([true, [true]]);
  let runs = 0;
  expect(await outcome(async () => void runs++)).toBe('The database does not answer.');
  expect(runs).toBe(0);
});

test('one response to the probe, which is sent twice a second, closes it', async () => {
  const { server, breaker, changes, outcome } = openWorld();
  void outcome(waitForever);
  await advanceTime(4000);
  expect(breaker.isOpen).toBe(true);
  expect(server.probes).toBeGreaterThanOrEqual(4);
  server.isAlive = true;
  await advanceTime(750);
  expect([breaker.isOpen, changes]).toEqual([false, [true, false]]);
  expect(await outcome(async () => 42)).toBe('42');
});

test('a long statement of a responsive server does not open it', async () => {
  const { server, breaker, outcome } = openWorld();
  server.isAlive = true;
  let answer!: (value: number) => void;
  const long = outcome(() => new Promise((resolve) => (answer = resolve)));
  await advanceTime(20_000);
  expect(breaker.isOpen).toBe(false);
  answer(7);
  expect(await long).toBe('7');
  const { probes } = server;
  await advanceTime(20_000);
  expect(server.probes).toBe(probes); // no probes are sent while no call is waiting
});

test('answers to other calls, also refusals, count as responses', async () => {
  const { server, breaker, outcome } = openWorld();
  void outcome(waitForever);
  for (let i = 0; i < 20; i++) {
    await advanceTime(500);
    await outcome(async () => {
      if (i % 2 === 0) throw new Error('syntax error');
    });
  }
  expect([breaker.isOpen, server.probes]).toEqual([false, 0]);
});

test('time in which the process paused does not count as silence', async () => {
  const { breaker, outcome } = openWorld();
  void outcome(waitForever);
  vi.setSystemTime(Date.now() + 60_000);
  await advanceTime(250);
  expect(breaker.isOpen).toBe(false);
});
