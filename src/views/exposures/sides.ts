import type { Book } from '#domain/books/book.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { formatDay } from '#domain/time/days.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { findLastAtMost } from '#domain/numbers/search.js';
import { openPanelRows } from '../panel-rows.js';

/** Holdings of one side on the reported dates. */
export interface ExposureSide {
  readonly names: readonly string[];
  /** Starts to read the dates in order. The weights [names] of a date are valid until the next date is requested. */
  pass(): (k: number) => Float64Array;
}

/** Holdings of a benchmark. */
export interface Holdings {
  readonly names: readonly string[];
  /**
   * Returns the holdings on the reported days.
   * @throws Refusal NO_COMMON_DATES if the benchmark lacks one of them
   */
  on(days: Int32Array): ExposureSide;
}

/**
 * Returns the holdings of the index of a run, or of a strategy.
 * @param positions positions of the reported dates in the run
 */
export function runSide(columns: RunColumns, positions: ArrayLike<number>): ExposureSide {
  const block = columns.header.has_index_weights ? 'indexWeights' : 'weights';
  const span = { from: positions[0]!, to: positions[positions.length - 1]! };
  return {
    names: columns.header.names,
    pass() {
      const rows = openPanelRows(columns, block, span);
      return (k) => rows.at(positions[k]!);
    },
  };
}

/**
 * Returns the holdings of a benchmark from its stored run, over its whole history.
 * @param order positions of the run's securities in the order of the benchmark
 */
export function openStoredHoldings(columns: RunColumns, order: Int32Array): Holdings {
  const names = Array.from(order, (position) => columns.header.names[position]!);
  const isOrdered = order.every((position, i) => position === i);
  return {
    names,
    on(days) {
      const runDays = columns.i32('days');
      const side = runSide(columns, findPositions(days, runDays, { from: 0, length: runDays.length }));
      if (isOrdered) return side;
      return {
        names,
        pass() {
          const readWeights = side.pass();
          const row = new Float64Array(order.length);
          return (k) => {
            const storedWeights = readWeights(k);
            for (let i = 0; i < row.length; i++) row[i] = storedWeights[order[i]!]!;
            return row;
          };
        },
      };
    },
  };
}

/** Returns the holdings of a simulated benchmark. */
export function createBookHoldings({ sm, from, length, columns, weights }: Book): Holdings {
  const H = columns.length;
  const names = Array.from(columns, (column) => sm.identifiers[column]!);
  return {
    names,
    on(days) {
      const positions = findPositions(days, sm.sessions, { from, length });
      return { names, pass: () => (k) => weights.subarray(positions[k]! * H, (positions[k]! + 1) * H) };
    },
  };
}

/**
 * Returns the positions of days in the sessions of a benchmark.
 * @throws Refusal NO_COMMON_DATES if a day is missing
 */
function findPositions(
  days: Int32Array,
  sessions: Int32Array,
  { from, length }: { readonly from: number; readonly length: number },
): Int32Array {
  const positions = days.map((day) => findLastAtMost(sessions, day) - from);
  const missingPosition = positions.findIndex((position) => position < 0 || position >= length);
  if (missingPosition < 0) return positions;
  const coverageText = `${formatDay(sessions[from]!)} to ${formatDay(sessions[from + length - 1]!)}`;
  throw new Refusal(
    'NO_COMMON_DATES',
    `The benchmark covers ${coverageText} and has no holdings on ${formatDay(days[missingPosition]!)}. It must have holdings on every date of the window.`,
  );
}
