import { vi } from 'vitest';

/**
 * Time after which a test counts as hanging, also for `expect.poll`. It is long, because a shared machine may be
 * several times slower for minutes.
 */
const WAIT = { timeout: 150_000, interval: 20 } as const;

/** Repeats a probe until it does not throw. @returns the result of the probe */
export const waitFor = <T>(probe: () => T | Promise<T>): Promise<T> => vi.waitFor(probe, WAIT);

/** Repeats a probe until its result is truthy. @returns this result */
export const waitUntil = <T>(probe: () => T | Promise<T>) => vi.waitUntil(probe, WAIT);
