import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { LimitRow } from '#domain/compliance/limit-row.js';
import type { Holdings } from '#domain/compliance/measure.js';
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
  const holdings = issuersOf(header.names.length);
  const earlier = issuersOf(header.names.length);
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

/** Sums weights by issuer into memory of its own. */
function issuersOf(names: number): (weights: Float64Array, issuers: readonly string[] | null) => Holdings {
  const own = Int32Array.from({ length: names }, (_, name) => name);
  let grouped:
    | { readonly by: readonly string[]; readonly issuerOf: Int32Array; readonly sums: Float64Array }
    | undefined;
  return (weights, by) => {
    if (by === null) return { weights, issuers: weights, issuerOf: own };
    if (grouped?.by !== by) {
      const places = new Map<string, number>();
      const issuerOf = Int32Array.from(by, (issuer) => {
        const place = places.get(issuer) ?? places.size;
        places.set(issuer, place);
        return place;
      });
      grouped = { by, issuerOf, sums: new Float64Array(places.size) };
    }
    const { issuerOf, sums } = grouped;
    sums.fill(0);
    for (let name = 0; name < names; name++) sums[issuerOf[name]!]! += weights[name]!;
    return { weights, issuers: sums, issuerOf };
  };
}
