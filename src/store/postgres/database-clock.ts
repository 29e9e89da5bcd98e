import { EXIT_TEMPORARY, StartRefusal } from '../start-refusal.js';

/** Clock of a database. It dates all records, whichever machine writes them. */
export interface DatabaseClock {
  /** Returns milliseconds since 1970. */
  now(): number;
  /** Returns the number of milliseconds by which the clock of this machine is ahead. */
  offsetMs(): number;
  /** Reads the time of the database. */
  measure(): Promise<void>;
}

interface DatabaseClockDependencies {
  /** Returns the time of the database in milliseconds since 1970. */
  readonly ask: () => Promise<number>;
  /** Returns the time of this machine. It jumps if the clock is set. */
  readonly systemMs?: () => number;
  readonly monotonicMs?: () => number;
}

/** Clock difference above which a node is reported. */
export const CLOCK_REPORTED_MS = 2000;
/**
 * Clock difference above which a node is rejected. Certificates, request signatures and dates for users would be wrong.
 */
export const CLOCK_REFUSED_MS = 30_000;
/** Round trip time below which measurements count as equally accurate. The error of a measurement is half of it. */
const ROUND_TRIP_MS = 20;
/**
 * Drift of a monotonic clock in milliseconds per hour. Because of the drift, a later measurement can replace an earlier
 * one despite a longer round trip.
 */
const DRIFT_MS_PER_HOUR = 180;

/** Opens the clock and measures once. @throws the error of the read */
export async function openDatabaseClock({
  ask,
  systemMs = Date.now,
  monotonicMs = () => performance.now(),
}: DatabaseClockDependencies): Promise<DatabaseClock> {
  let base = await read();

  /**
   * Reads the time of the database and its uncertainty. The server reads its clock at some moment of the round trip.
   */
  async function read() {
    const startMs = monotonicMs();
    const databaseMs = await ask();
    const endMs = monotonicMs();
    return { databaseMs, atMs: (startMs + endMs) / 2, errorMs: Math.max(endMs - startMs, ROUND_TRIP_MS) / 2 };
  }

  const readTime = (): number => base.databaseMs + monotonicMs() - base.atMs;
  return {
    now: readTime,
    offsetMs: () => systemMs() - readTime(),
    async measure() {
      const next = await read();
      const driftMs = ((next.atMs - base.atMs) / 3_600_000) * DRIFT_MS_PER_HOUR;
      if (next.errorMs <= base.errorMs + driftMs) base = next;
    },
  };
}

/** Describes the clock difference as a sentence; undefined within the limit. */
export function describeClockFault({ offsetMs }: Pick<DatabaseClock, 'offsetMs'>, limitMs: number): string | undefined {
  const ms = offsetMs();
  if (Math.abs(ms) <= limitMs) return undefined;
  const seconds = (Math.abs(ms) / 1000).toFixed(1);
  return `The clock of this machine is ${seconds} s ${ms > 0 ? 'ahead of' : 'behind'} the clock of the database (limit ${limitMs / 1000} s).`;
}

/** Checks the clock of this machine. @throws StartRefusal 75 if it differs too much from the clock of the database */
export function assertClock(clock: DatabaseClock): void {
  const fault = describeClockFault(clock, CLOCK_REFUSED_MS);
  if (fault !== undefined) throw new StartRefusal(EXIT_TEMPORARY, `${fault} Set it, for example by NTP.`);
}
