import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { issuerSums } from '#domain/compliance/issuer-sums.js';
import type { LimitRow } from '#domain/compliance/limit-row.js';
import type { WatchedDate } from '#domain/compliance/monitor.js';
import type { Day } from '#domain/days.js';
import { panelRows } from '../panel-rows.js';

/** What is watched on the closes of a run. */
export interface Watched {
  /** Issuers of the names, [H], on days in ascending order; null where names are their own. */
  readonly issuersOn: ((day: Day) => readonly string[]) | null;
  /** Limits in force at a close. */
  rowsOn(day: Day): readonly LimitRow[];
}

/** The closes of a run up to a position; the holdings of one are valid until the next is asked for. */
export function* watchedDates(columns: RunColumns, to: number, input: Watched): Iterable<WatchedDate> {
  const { header } = columns;
  const days = columns.i32('days');
  const block = header.has_index_weights ? 'indexWeights' : 'weights';
  const weights = panelRows(columns, block, { from: 0, to });
  const eventAt = columns.i32('eventAt');
  const before = panelRows(columns, 'before', { from: 0, to: eventAt.length - 1 });
  const rebalances = new Set(header.rebalances.map(({ at }) => at));
  const holdings = issuerSums(header.names.length);
  const earlier = issuerSums(header.names.length);
  let event = 0;
  for (let at = 0; at <= to; at++) {
    while (event < eventAt.length && eventAt[event]! < at) event++;
    const isEvent = eventAt[event] === at;
    const kind = rebalances.has(at) ? ('rebalance' as const) : isEvent ? ('action' as const) : null;
    const issuers = input.issuersOn?.(days[at]!) ?? null;
    yield {
      at,
      rows: input.rowsOn(days[at]!),
      holdings: holdings(weights.at(at), issuers),
      event: kind && {
        kind,
        // Weights before trades are those of the portfolio: of an index beside it they are not stored.
        before: isEvent && !header.has_index_weights && at > 0 ? earlier(before.at(event), issuers) : null,
      },
    };
  }
}
