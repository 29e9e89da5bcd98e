import type { LimitsView } from '#contract/analytics/limits.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import type { LimitRow } from '#domain/compliance/limit-row.js';
import type { Holdings } from '#domain/compliance/measure.js';
import { distanceToBreach, watchLimits, type Breach, type WatchedDate } from '#domain/compliance/monitor.js';
import { formatDay, type Day } from '#domain/days.js';
import type { Finding } from '#domain/findings.js';
import { panelRows } from './panel-rows.js';
import { datesWithin, type AskedWindow } from './run-window.js';

export interface LimitsInput {
  readonly window: AskedWindow;
  /** The published rule, null for rows of the client. */
  readonly rule: LimitsView['rule'];
  /** Column whose values are issuers; IDENTIFIER where names are their own. */
  readonly by: string;
  /** Issuers of the names, [H], on days in ascending order; null where names are their own. */
  readonly issuersOn: ((day: Day) => readonly string[]) | null;
  /** Limits in force at a close. */
  rowsOn(day: Day): readonly LimitRow[];
  readonly findings: readonly Finding[];
}

type Served<T> = Omit<T, 'findings'> & { readonly findings: readonly Finding[] };

/** Most rows and breaches of an answer. */
const ROWS_MAX = 500;
const BREACHES_MAX = 10_000;

/**
 * Limits watched over the dates of a stored run.
 * @throws Refusal NO_DATA_IN_RANGE
 * @cost reads [n x H] weights, and those before events
 */
export function limitsView(columns: RunColumns, input: LimitsInput): Served<LimitsView> {
  const days = columns.i32('days');
  const window = datesWithin(days, input.window);
  const dateOf = (at: number) => formatDay(days[at]!);
  let last: WatchedDate | undefined;
  const watch = watchLimits(
    followed(watchedDates(columns, days, window.to, input), (date) => (last = date)),
    window.from,
  );
  const nearest = last === undefined ? null : distanceToBreach(last.rows, last.holdings);
  return {
    index_id: columns.header.run_id,
    rule: input.rule,
    by: input.by,
    sessions: watch.dates.length,
    breached_sessions: watch.breachedDates,
    state: {
      dates: watch.dates.map(dateOf),
      headroom: watch.headroom.map((value) => (Number.isFinite(value) ? value : null)),
    },
    rows: watch.rows.slice(0, ROWS_MAX).map(({ row, side, unit, breachedDates, least }) => ({
      row,
      side,
      unit,
      breached_sessions: breachedDates,
      least: { date: dateOf(least.at), value: least.value, limit: least.limit },
    })),
    rows_total: watch.rows.length,
    breaches: watch.breaches.slice(0, BREACHES_MAX).map((breach) => breachBody(breach, dateOf)),
    breaches_total: watch.breaches.length,
    distance: nearest && { identifier: columns.header.names[nearest.name]!, move: nearest.move },
    findings: input.findings,
  };
}

function breachBody({ row, begin, end, cause, worst }: Breach, dateOf: (at: number) => string) {
  return {
    row,
    begin: dateOf(begin),
    end: end === null ? null : dateOf(end),
    cause,
    worst: { date: dateOf(worst.at), value: worst.value, limit: worst.limit },
  };
}

function* followed<T>(items: Iterable<T>, visit: (item: T) => void): Iterable<T> {
  for (const item of items) {
    visit(item);
    yield item;
  }
}

/** The closes of a run up to a position; the holdings of one are valid until the next is asked for. */
function* watchedDates(columns: RunColumns, days: Int32Array, to: number, input: LimitsInput): Iterable<WatchedDate> {
  const { header } = columns;
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
