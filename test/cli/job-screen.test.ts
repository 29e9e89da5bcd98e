import { afterEach, expect, test, vi } from 'vitest';
import { createJobScreen } from '#cli/terminal.js';
import { shortenStore } from '#cli/commands/import.js';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test('a command in a pipe that waits long for a response reports this on standard error until the response arrives', async () => {
  vi.useFakeTimers();
  const writeSpy = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  let answer = (_store: string) => {};
  const waitedJob = createJobScreen('import', { json: true, csv: false }).waiting(
    new Promise<string>((resolve) => (answer = resolve)),
  );
  await vi.advanceTimersByTimeAsync(9_999);
  expect(writeSpy).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(10_001);
  expect(writeSpy.mock.calls.map(([line]) => line)).toEqual([
    'divisor import: still waiting for the response after 10 s\n',
    'divisor import: still waiting for the response after 20 s\n',
  ]);
  answer('desk');
  expect(await waitedJob).toBe('desk');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(writeSpy).toHaveBeenCalledTimes(2);
});

test('a line about a store of many files lists the first files and their number', () => {
  const createStore = (count: number) => ({
    store_id: 'desk',
    files: Array.from({ length: count }, (_, i) => ({ label: `market/${i}.csv` })),
  });
  expect(shortenStore(createStore(10))).toEqual(createStore(10));
  expect(shortenStore(createStore(469))).toEqual({ ...createStore(10), files_total: 469 });
});
