import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { sumByIssuer } from '#domain/compliance/issuer-sums.js';
import type { LimitRow } from '#domain/compliance/limit-row.js';
import type { WatchedDate } from '#domain/compliance/monitor.js';
import type { Day } from '#domain/time/days.js';
import { openPanelRows } from '../panel-rows.js';

/** Issuers and limits that are needed to measure the weights at the closes of a run. */
export interface WatchedDates {
  /**
   * Returns the issuers of the securities, [H]. Must be called with ascending days. Null if each security is its own
   * issuer.
   */
  readonly issuersOn: ((day: Day) => readonly string[]) | null;
  /**
   * Returns the limits that are valid at a close.
   * @param isHeld 1 for securities held on any date up to the close, [H]
   */
  rowsOn(day: Day, isHeld: Uint8Array): readonly LimitRow[];
}

/** Yields the closes of a run up to a position. The holdings of a close are valid until the next close is requested. */
export function* yieldWatchedDates(columns: RunColumns, to: number, input: WatchedDates): Iterable<WatchedDate> {
  const { header } = columns;
  const days = columns.i32('days');
  const block = header.has_index_weights ? 'indexWeights' : 'weights';
  const weights = openPanelRows(columns, block, { from: 0, to });
  const eventAt = columns.i32('eventAt');
  const weightsBefore = openPanelRows(columns, 'before', { from: 0, to: eventAt.length - 1 });
  const rebalances = new Set(header.rebalances.map(({ at }) => at));
  const sumHoldings = sumByIssuer(header.names.length);
  const sumEarlier = sumByIssuer(header.names.length);
  const heldFlags = new Uint8Array(header.names.length);
  const previousWeights = new Float64Array(header.names.length);
  const level = columns.f64('level');
  let event = 0;
  for (let position = 0; position <= to; position++) {
    while (event < eventAt.length && eventAt[event]! < position) event++;
    const isEvent = eventAt[event] === position;
    const kind = rebalances.has(position) ? ('rebalance' as const) : isEvent ? ('action' as const) : null;
    const issuers = input.issuersOn?.(days[position]!) ?? null;
    const close = weights.at(position);
    for (let name = 0; name < heldFlags.length; name++) if (close[name] !== 0) heldFlags[name] = 1;
    // Weights before trades are stored for the portfolio. They are not stored for an index that is stored together with
    // a portfolio.
    let driftedWeights = isEvent && !header.has_index_weights && position > 0 ? weightsBefore.at(event) : null;
    if (driftedWeights !== null && kind === 'action')
      driftedWeights = removeExits(driftedWeights, {
        previous: previousWeights,
        close,
        growth: level[position]! / level[position - 1]!,
      });
    yield {
      at: position,
      rows: input.rowsOn(days[position]!, heldFlags),
      holdings: sumHoldings(close, issuers),
      event: kind && {
        kind,
        before: driftedWeights && sumEarlier(driftedWeights, issuers),
      },
    };
    previousWeights.set(close);
  }
}

interface DatePrices {
  /** Weights at the previous close, [H]. */
  readonly previous: Float64Array;
  /** Weights at the close, [H]. */
  readonly close: Float64Array;
  /** Growth of the portfolio from the previous close to the close. */
  readonly growth: number;
}

/**
 * Returns the weights that result only from price changes. A security that leaves is valued at its last price and not
 * at its proceeds.
 */
function removeExits(driftedWeights: Float64Array, { previous, close, growth }: DatePrices): Float64Array {
  const ownWeights = driftedWeights.map((weight, name) =>
    weight !== 0 && close[name] === 0 ? previous[name]! / growth : weight,
  );
  const total = ownWeights.reduce((sum, weight, name) => sum + weight - driftedWeights[name]!, 1);
  return ownWeights.map((weight) => weight / total);
}
