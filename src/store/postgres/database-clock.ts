import { EXIT_TEMPORARY, StartRefusal } from '../start-refusal.js';

/** The time of a database: that of every record, whichever machine writes it. */
export interface DatabaseClock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Milliseconds by which the clock of this machine is ahead of it. */
  offsetMs(): number;
  /** Reads the time of the database. */
  measure(): Promise<void>;
}

export interface DatabaseClockDependencies {
  /** Asks the database for its time, milliseconds since 1970. */
  readonly ask: () => Promise<number>;
  /** The clock of this machine, which may be set. */
  readonly systemMs?: () => number;
  /** A clock that is never set. */
  readonly monotonicMs?: () => number;
}

/** A node whose clock differs by more is reported. */
export const CLOCK_REPORTED_MS = 2000;
/** A node whose clock differs by more is refused: certificates, signatures of requests and dates of users would be wrong. */
export const CLOCK_REFUSED_MS = 30_000;
/** Round trips up to this one are as good as any: half of it is the error. */
const ROUND_TRIP_MS = 20;
/** Drift of a clock that is never set, milliseconds an hour: a later measurement is taken although its round trip is longer. */
const DRIFT_MS_PER_HOUR = 180;

/** @throws what asking throws */
export async function openDatabaseClock({
  ask,
  systemMs = Date.now,
  monotonicMs = () => performance.now(),
}: DatabaseClockDependencies): Promise<DatabaseClock> {
  let base = await read();

  /** The time of the database and how wrong it may be: it was read at some moment of the round trip. */
  async function read() {
    const startMs = monotonicMs();
    const databaseMs = await ask();
    const endMs = monotonicMs();
    return { databaseMs, atMs: (startMs + endMs) / 2, errorMs: Math.max(endMs - startMs, ROUND_TRIP_MS) / 2 };
  }

  const now = (): number => base.databaseMs + monotonicMs() - base.atMs;
  return {
    now,
    offsetMs: () => systemMs() - now(),
    async measure() {
      const next = await read();
      const driftMs = ((next.atMs - base.atMs) / 3_600_000) * DRIFT_MS_PER_HOUR;
      if (next.errorMs <= base.errorMs + driftMs) base = next;
    },
  };
}

/** By how much a clock is wrong, in a sentence; undefined up to a limit. */
export function clockFault({ offsetMs }: Pick<DatabaseClock, 'offsetMs'>, limitMs: number): string | undefined {
  const ms = offsetMs();
  if (Math.abs(ms) <= limitMs) return undefined;
  const seconds = (Math.abs(ms) / 1000).toFixed(1);
  return `The clock of this machine is ${seconds} s ${ms > 0 ? 'ahead of' : 'behind'} the clock of the database (limit ${limitMs / 1000} s).`;
}

/** @throws StartRefusal 75 for a clock that is too far from that of the database */
export function assertClock(clock: DatabaseClock): void {
  const fault = clockFault(clock, CLOCK_REFUSED_MS);
  if (fault !== undefined) throw new StartRefusal(EXIT_TEMPORARY, `${fault} Set it, for example by NTP.`);
}
