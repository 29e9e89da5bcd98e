import { roundOnDay } from '../../rounded.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { openPanelRows } from '../../panel-rows.js';
import { BATCH_ROWS, type Batch, type Producer } from '../batch.js';
import { createSpan } from '../span.js';

/** Yields the held weights. Positions are dates in the window. */
export const produceWeights: Producer<'weights'> = function* ({ columns, window }, offset) {
  const days = columns.i32('days');
  const { from, to } = createSpan(days, window);
  if (from + offset >= to) return;
  const span = { from: from + offset, to: to - 1 };
  const panelRows = openPanelRows(columns, 'weights', span);
  const indexWeights = selectIndexRows(columns, span);
  const rows = createRows(columns.header.names);
  for (let t = span.from; t < to; t++) {
    const weights = panelRows.at(t);
    const roundWeight = roundOnDay(columns, 'weights', days[t]!);
    addHoldings(rows, {
      day: days[t]!,
      round: roundWeight,
      ownWeights: weights,
      index: indexWeights === 'own' ? weights : (indexWeights?.at(t) ?? null),
    });
    if (rows.count >= BATCH_ROWS || t === to - 1) {
      yield createBatch(rows, t + 1 - from);
      rows.count = 0;
    }
  }
};

/**
 * Returns the index weights. If the weights of the portfolio are those of the index, returns `ownWeights`; for a
 * strategy, returns null.
 */
function selectIndexRows(columns: RunColumns, span: Parameters<typeof openPanelRows>[2]) {
  const { run_id: runId, index_id: indexId, has_index_weights: hasOwn } = columns.header;
  if (hasOwn) return openPanelRows(columns, 'indexWeights', span);
  return runId === indexId ? 'own' : null;
}

interface Rows {
  count: number;
  readonly names: readonly string[];
  readonly days: Int32Array;
  readonly codes: Int32Array;
  /** Weights that are published: those of the index, or those of the strategy itself. */
  readonly shownWeights: Float64Array;
  readonly ownWeights: Float64Array;
  readonly index: Float64Array;
}

function createRows(names: readonly string[]): Rows {
  const size = BATCH_ROWS + names.length;
  return {
    count: 0,
    names,
    days: new Int32Array(size),
    codes: new Int32Array(size),
    shownWeights: new Float64Array(size),
    ownWeights: new Float64Array(size),
    index: new Float64Array(size),
  };
}

interface Close {
  readonly day: number;
  /** Weights of the run and of the index, [H] each. */
  readonly ownWeights: Float64Array;
  readonly index: Float64Array | null;
  /** Rounds a weight for publication. */
  readonly round: (weight: number) => number;
}

function addHoldings(rows: Rows, { day, ownWeights, index, round }: Close): void {
  let row = rows.count;
  for (let i = 0; i < ownWeights.length; i++) {
    const weight = ownWeights[i]!;
    const other = index === null ? Number.NaN : index[i]!;
    if (weight === 0 && !(other !== 0 && other === other)) continue;
    rows.days[row] = day;
    rows.codes[row] = i;
    rows.shownWeights[row] = round(index === null ? weight : other);
    rows.ownWeights[row] = round(weight);
    rows.index[row++] = round(other);
  }
  rows.count = row;
}

function createBatch(
  { count, names, days, codes, shownWeights, ownWeights, index }: Rows,
  end: number,
): Batch<'weights'> {
  return {
    count,
    end,
    columns: {
      date: days.subarray(0, count),
      identifier: { codes: codes.subarray(0, count), texts: names },
      weight: shownWeights.subarray(0, count),
      index_weight: index.subarray(0, count),
      portfolio_weight: ownWeights.subarray(0, count),
    },
  };
}
