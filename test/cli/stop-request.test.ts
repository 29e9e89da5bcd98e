import { afterEach, expect, test, vi } from 'vitest';
import { onStopRequest } from '#cli/terminal.js';

let ignoreRequest = () => {};
afterEach(() => {
  ignoreRequest();
  vi.restoreAllMocks();
});

/**
 * Emits signals in this process at times of a simulated clock, in ms. @returns the signals that started a stop, and the
 * statuses of requested exits
 */
function stopAfter(...signals: readonly (readonly [number, 'SIGINT' | 'SIGTERM'])[]) {
  const statuses: unknown[] = [];
  vi.spyOn(process, 'exit').mockImplementation(((status: number) => void statuses.push(status)) as typeof process.exit);
  const startedStops: string[] = [];
  let clock = 0;
  ignoreRequest = onStopRequest(
    ['SIGINT', 'SIGTERM'],
    (signal) => startedStops.push(signal),
    () => clock,
  );
  for (const [ms, signal] of signals) {
    clock = ms;
    process.emit(signal, signal);
  }
  return { started: startedStops, statuses };
}

test('the first signal requests the stop', () => {
  expect(stopAfter([5, 'SIGTERM'])).toEqual({ started: ['SIGTERM'], statuses: [] });
});

test('Ctrl-C that arrives from the terminal and from npm is one request', () => {
  expect(stopAfter([5, 'SIGINT'], [40, 'SIGINT'])).toEqual({ started: ['SIGINT'], statuses: [] });
});

test('a second request does not wait for the first', () => {
  expect(stopAfter([5, 'SIGINT'], [1500, 'SIGINT'])).toEqual({ started: ['SIGINT'], statuses: [130] });
  ignoreRequest();
  expect(stopAfter([5, 'SIGINT'], [1500, 'SIGTERM'])).toEqual({ started: ['SIGINT'], statuses: [143] });
});
