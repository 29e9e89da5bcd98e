import { recordParts } from '#domain/backtest/run-file/record.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { TRADE_REASONS } from '#domain/backtest/simulate/trades.js';
import { firstAtLeast } from '#domain/search.js';
import { BATCH_ROWS, type Batch, type Producer } from '../batch.js';
import { spanOf } from '../span.js';

const NOTHING = new Float64Array(0);
const SIDES = ['buy', 'sell'] as const;

/** Positions are those of trades in the window. @throws Refusal DOCUMENT_UNREADABLE of a run of version 0.1.0 */
export const trades: Producer<'trades'> = function* ({ columns, window }, from) {
  const { identifiers, transactions, costRate: rateOf } = recordParts(columns);
  const all = transactions();
  const costRate = rateOf();
  const span = spanOf(columns.i32('days'), window);
  const first = firstAtLeast(all.at, span.from);
  const end = firstAtLeast(all.at, span.to);
  const days = columns.i32('days');
  const moves = weightMoves(columns, identifiers);
  for (let row = first + from; row < end; row += BATCH_ROWS) {
    const to = Math.min(end, row + BATCH_ROWS);
    const rows = Array.from({ length: to - row }, (_, i) => row + i);
    const money = Float64Array.from(rows, (i) => Math.abs(all.notional[i]!));
    const batch: Batch<'trades'> = {
      count: to - row,
      end: to - first,
      columns: {
        date: Int32Array.from(rows, (i) => days[all.at[i]!]!),
        identifier: { codes: all.columns.subarray(row, to), texts: identifiers },
        side: { codes: Int32Array.from(rows, (i) => (all.notional[i]! > 0 ? 0 : 1)), texts: SIDES },
        weight_before: Float64Array.from(rows, (i) => moves.before(all.at[i]!, all.columns[i]!)),
        weight_after: Float64Array.from(rows, (i) => moves.after(all.at[i]!, all.columns[i]!)),
        value: money,
        cost: Float64Array.from(rows, (i) => (all.isFree[i] === 1 ? 0 : costRate * Math.abs(all.notional[i]!))),
        reason: { codes: Int32Array.from(all.reason.subarray(row, to)), texts: TRADE_REASONS },
      },
    };
    yield batch;
  }
};

interface WeightMoves {
  /** Weight of an identifier of the record before the trades of a date. */
  before(at: number, identifier: number): number;
  after(at: number, identifier: number): number;
}

/** Weights around the sessions with trades, which are asked for in ascending order. */
function weightMoves(columns: RunColumns, identifiers: readonly string[]): WeightMoves {
  const { names } = columns.header;
  const places = new Map(names.map((name, place) => [name, place]));
  const placeOf = Int32Array.from(identifiers, (identifier) => places.get(identifier) ?? -1);
  const eventAt = columns.i32('eventAt');
  const rowAt = (block: 'before' | 'weights') => {
    let shown = -1;
    let weights: Float64Array = NOTHING;
    return (row: number, identifier: number): number => {
      if (row !== shown) {
        weights = columns.f64(block, row * names.length, (row + 1) * names.length);
        shown = row;
      }
      const place = placeOf[identifier]!;
      return place < 0 ? 0 : weights[place]!;
    };
  };
  const before = rowAt('before');
  const after = rowAt('weights');
  return { before: (at, identifier) => before(firstAtLeast(eventAt, at), identifier), after };
}
