import type { LimitsView } from '#contract/analytics/limits.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { watchLimits, watchMeasuredDates, type Breach, type LimitWatch } from '#domain/compliance/monitor.js';
import { DEFAULT_LIMIT_RULE, type LimitRuleName } from '#domain/compliance/rules.js';
import { formatDay } from '#domain/time/days.js';
import type { Finding } from '#domain/refusals/findings.js';
import { findDatesWithin, type RequestedWindow } from '../run-window.js';
import type { FigureCache } from '../exposures/dated-figures.js';
import { measureRules } from './rule-figures.js';
import { listRuleIssuers } from './rule-issuers.js';
import { yieldWatchedDates, type WatchedDates } from './watched-dates.js';

export interface LimitsInput {
  /** Returns a new reader of the issuers of the securities. Null if each security is its own issuer. */
  readonly openIssuers: (() => NonNullable<WatchedDates['issuersOn']>) | null;
  readonly window: RequestedWindow;
  /** Published rule or rows of the client. A rule that is null means the rule of the index. */
  readonly limits: { readonly rule: LimitRuleName | null } | Pick<WatchedDates, 'rowsOn'>;
  /** Cache for the figures of a published rule; absent if there is no memory. */
  readonly keep?: FigureCache | undefined;
  /** Column that identifies issuers. With IDENTIFIER, each security is its own issuer. */
  readonly by: string;
  readonly findings: readonly Finding[];
  /** Called before the published rule is measured on a date. If it throws, the measurements so far are kept. */
  readonly onDate?: () => void;
}

type Served<T> = Omit<T, 'findings'> & { readonly findings: readonly Finding[] };

/** Maximum number of rows and of breaches in a response. */
const ROWS_MAX = 500;
const BREACHES_MAX = 10_000;

/**
 * Measures limits on the dates of a stored run.
 * @throws Refusal NO_DATA_IN_RANGE
 * @cost reads [n x H] weights, and the weights before events; most of the time is spent on the distances to breaches
 */
export function createLimitsView(columns: RunColumns, input: LimitsInput): Served<LimitsView> {
  const days = columns.i32('days');
  const window = findDatesWithin(days, input.window);
  const formatDate = (position: number) => formatDay(days[position]!);
  const { limits } = input;
  const rule = 'rule' in limits ? (limits.rule ?? columns.header.treatment.breach_rule ?? DEFAULT_LIMIT_RULE) : null;
  const watch = createWatch(columns, { ...input, rule }, window);
  const { names } = columns.header;
  const breaches = watch.breaches.slice(0, BREACHES_MAX);
  const issuers =
    rule === null
      ? null
      : listRuleIssuers(columns, {
          rule,
          positions: [window.to, ...breaches.map(({ worst }) => worst.at)],
          issuersOn: input.openIssuers?.() ?? null,
        });
  const listIssuers = (row: string, position: number) => {
    const rowIssuers = issuers?.get(position)?.get(row);
    return rowIssuers && { issuers: [...rowIssuers] };
  };
  const nearestMove = watch.distances.at(-1) ?? null;
  return {
    index_id: columns.header.run_id,
    rule,
    by: input.by,
    sessions: watch.dates.length,
    breached_sessions: watch.breachedDates,
    state: {
      dates: watch.dates.map(formatDate),
      headroom: watch.headroom.map((value) => (Number.isFinite(value) ? value : null)),
      nearest: watch.distances.map((distance) => distance && names[distance.name]!),
      move: watch.distances.map((distance) => distance && distance.move),
    },
    rows: watch.rows.slice(0, ROWS_MAX).map(({ row, side, unit, breachedDates, least, latest }) => ({
      row,
      side,
      unit,
      breached_sessions: breachedDates,
      least: createMeasureBody(least, formatDate),
      latest: createMeasureBody(latest, formatDate),
      ...listIssuers(row, window.to),
    })),
    rows_total: watch.rows.length,
    breaches: breaches.map((breach) => ({
      ...createBreachBody(breach, formatDate),
      ...listIssuers(breach.row, breach.worst.at),
    })),
    breaches_total: watch.breaches.length,
    distance: nearestMove && { identifier: names[nearestMove.name]!, move: nearestMove.move },
    findings: input.findings,
  };
}

function createWatch(
  columns: RunColumns,
  { limits, rule, openIssuers, by, keep, onDate }: LimitsInput & { readonly rule: LimitRuleName | null },
  { from, to }: { readonly from: number; readonly to: number },
): LimitWatch {
  const options = { from, withDistances: true };
  const issuersOn = openIssuers?.() ?? null;
  if ('rowsOn' in limits)
    return watchLimits(yieldWatchedDates(columns, to, { issuersOn, rowsOn: limits.rowsOn }), options);
  const [dates] = measureRules(columns, [rule!], { issuersOn, by, to, keep, onDate, ...options });
  return watchMeasuredDates(dates!, options); // Exactly one rule is measured if the request has no rows.
}

function createBreachBody({ row, begin, end, cause, worst }: Breach, formatPosition: (position: number) => string) {
  return {
    row,
    begin: formatPosition(begin),
    end: end === null ? null : formatPosition(end),
    cause,
    worst: createMeasureBody(worst, formatPosition),
  };
}

const createMeasureBody = ({ at, value, limit }: Breach['worst'], formatDate: (position: number) => string) => ({
  date: formatDate(at),
  value,
  limit,
});
