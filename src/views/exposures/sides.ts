import type { Book } from '#domain/backtest/simulate/book.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { formatDay } from '#domain/days.js';
import { Refusal } from '#domain/refusal.js';
import { lastAtMost } from '#domain/search.js';
import { panelRows } from '../panel-rows.js';

/** What is held on the dates that are reported. */
export interface Side {
  readonly names: readonly string[];
  /** Begins a pass over the dates: their weights, [names], to be asked for in order, each valid until the next one. */
  pass(): (k: number) => Float64Array;
}

/** The index of a run, or a strategy's own holdings. @param shown positions of the dates in those of the run */
export function runSide(columns: RunColumns, shown: ArrayLike<number>): Side {
  const block = columns.header.has_index_weights ? 'indexWeights' : 'weights';
  const span = { from: shown[0]!, to: shown[shown.length - 1]! };
  return {
    names: columns.header.names,
    pass() {
      const rows = panelRows(columns, block, span);
      return (k) => rows.at(shown[k]!);
    },
  };
}

/** A benchmark on the days that are reported. @throws Refusal NO_COMMON_DATES where it has none of them */
export function bookSide({ sm, from, length, columns, weights }: Book, days: Int32Array): Side {
  const H = columns.length;
  const sessions = days.map((day) => lastAtMost(sm.sessions, day));
  const missing = sessions.findIndex((session) => session < from || session >= from + length);
  if (missing >= 0) {
    const covered = `${formatDay(sm.sessions[from]!)} to ${formatDay(sm.sessions[from + length - 1]!)}`;
    throw new Refusal(
      'NO_COMMON_DATES',
      `The benchmark, which is from ${covered}, holds nothing on ${formatDay(days[missing]!)}; it needs every date of the window.`,
    );
  }
  return {
    names: Array.from(columns, (column) => sm.identifiers[column]!),
    pass: () => (k) => weights.subarray((sessions[k]! - from) * H, (sessions[k]! - from + 1) * H),
  };
}
