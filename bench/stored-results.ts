import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const RESULTS = fileURLToPath(new URL('../../bench/results/', import.meta.url));

/** One timing of `bench/results`. */
export interface Timing {
  readonly kernel: string;
  readonly size: string;
  readonly engine: string;
  readonly minMs: number;
  readonly medianMs: number;
  /** Minimum elapsed time; the other times are processor time. */
  readonly clockMs?: number;
}

/** A timing with the day and the version of Node it was stored under. */
export interface StoredTiming extends Timing {
  readonly date: string;
  readonly node: string;
}

/** The latest stored value of each timing, over all files of `bench/results`. */
export function storedTimings(): ReadonlyMap<string, StoredTiming> {
  const results = new Map<string, StoredTiming>();
  for (const file of readdirSync(RESULTS, { encoding: 'utf8' }).toSorted()) {
    if (!file.endsWith('.json')) continue;
    const { date, node, timings } = JSON.parse(readFileSync(`${RESULTS}${file}`, 'utf8')) as {
      readonly date: string;
      readonly node: string;
      readonly timings: readonly Timing[];
    }; // Written by `--json`.
    for (const timing of timings) results.set(keyOf(timing), { ...timing, date, node });
  }
  return results;
}

export function keyOf({ kernel, size, engine }: Timing): string {
  return `${kernel} ${size} ${engine}`;
}
