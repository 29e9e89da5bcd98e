import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createDeadlines } from '#http/app.js';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance', 'Date'] }));
afterEach(() => void vi.useRealTimers());

test('work is refused at most a second after its deadline, and work that ends in time is not', async () => {
  const { within } = createDeadlines(10);
  const readOutcome = (work: Promise<unknown>): Promise<unknown> =>
    within(work).catch(({ code }: { code: string }) => code);
  const lateOutcome = readOutcome(new Promise(() => {}));
  let resolve!: (value: number) => void;
  const inTime = readOutcome(new Promise<number>((end) => (resolve = end)));
  await vi.advanceTimersByTimeAsync(9000);
  const laterOutcome = readOutcome(new Promise(() => {}));
  resolve(1);
  expect(await inTime).toBe(1);
  await vi.advanceTimersByTimeAsync(2000);
  expect(await Promise.race([lateOutcome, laterOutcome])).toBe('OVERLOADED');
  expect(await Promise.race([laterOutcome, 'waits'])).toBe('waits');
  await vi.advanceTimersByTimeAsync(9000);
  expect(await laterOutcome).toBe('OVERLOADED');
  expect(vi.getTimerCount()).toBe(0);
  await expect(within(Promise.reject(new Error('own')))).rejects.toThrow('own');
});
