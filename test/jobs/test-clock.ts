import type { Clock } from '#jobs/port/clock.js';

export interface TestClock {
  readonly clock: Clock;
  /** Sets the wall clock, as an administrator or a time server would. */
  jump(ms: number): void;
  /** Advances time in ticks and runs the timers that expire in this time. */
  pass(ms: number): Promise<void>;
}

export function createTestClock(): TestClock {
  let nowMs = 0;
  let wallMs = Date.UTC(2026, 10, 20);
  const timers = new Map<number, { readonly at: number; readonly call: () => void }>();
  let count = 0;
  const clock: Clock = {
    now: () => wallMs + nowMs,
    monotonicMs: () => nowMs,
    after(ms, call) {
      const id = count++;
      timers.set(id, { at: nowMs + ms, call });
      return () => timers.delete(id);
    },
  };
  return {
    clock,
    jump(ms) {
      wallMs += ms;
    },
    async pass(ms) {
      for (const end = nowMs + ms; nowMs < end;) {
        nowMs += Math.min(1000, end - nowMs);
        for (const [id, { at, call }] of timers) if (at <= nowMs && timers.delete(id)) call();
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  };
}
