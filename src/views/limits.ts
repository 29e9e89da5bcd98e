import type { LimitsView } from '#contract/analytics/run-views.js';
import type { RunColumns } from '#domain/backtest/run-file/columns.js';
import type { Finding } from '#domain/base/findings.js';
import { type Day, formatDay } from '#domain/base/time.js';
import {
  DEFAULT_LIMIT_RULE,
  ISSUER,
  LIMIT_RULE_NAMES,
  LIMIT_RULES,
  type LimitRow,
  type LimitRuleName,
  sumByIssuer,
  TOLERANCE,
} from '#domain/definition/compliance.js';
import {
  type Breach,
  type BreachCause,
  isWithin,
  type LimitWatch,
  measureDate,
  type MeasuredDate,
  type WatchedDate,
  watchLimits,
  watchMeasuredDates,
} from '#domain/definition/limit-monitoring.js';
import { createGroupsByDay, listIssuerSpells, type MarketData } from '#domain/market/market-data.js';
import { createUncached, type DatedFigures, type FigureCache } from './dated-figures.js';
import { MISSING_INTEGER, type Producer, toTextValues, yieldBatches } from './formats/batch.js';
import { createSpan, findDatesWithin, openPanelRows, type RequestedDates } from './run-columns.js';

/** Issuers and limits that are needed to measure the weights at the closes of a run. */
interface WatchedDates {
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
function* yieldWatchedDates(columns: RunColumns, to: number, input: WatchedDates): Iterable<WatchedDate> {
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

interface RuleFigures {
  readonly rule: LimitRuleName;
  /** Value and cause of each row, [2 x rows x dates]. The cause is set only if the value exceeds the bound. */
  readonly values: DatedFigures;
  /**
   * Security that is nearest to a breach, and the price move that leads to it, [2 x dates]. Not set if a bound is
   * already exceeded or no move leads to a breach.
   */
  readonly distances: DatedFigures;
}

interface RuleSpan {
  /**
   * Returns the issuers of the securities. Must be called once for each day, in ascending order. Null if each security
   * is its own issuer.
   */
  readonly issuersOn: WatchedDates['issuersOn'];
  /** Column that identifies issuers. */
  readonly by: string;
  /** Position of the first date for which a distance is requested, if any. */
  readonly from: number;
  /** Position of the last date. */
  readonly to: number;
  readonly withDistances: boolean;
  readonly keep?: FigureCache | undefined;
  /** Called before a date is measured. */
  readonly onDate?: (() => void) | undefined;
}

const CAUSES = ['price', 'action', 'rebalance'] as const satisfies readonly BreachCause[];
const NO_NAME = -1;

/**
 * Measures published rules on the dates of a run. The figures of a date do not depend on the window.
 * @cost one pass over the weights for all rules; none if all figures are cached
 */
function measureRules(columns: RunColumns, rules: readonly LimitRuleName[], span: RuleSpan): Iterable<MeasuredDate>[] {
  const ruleFigures = rules.map((rule) => createFigures(columns.i32('days').length, rule, span));
  if (ruleFigures.some((figures) => isIncomplete(figures, span))) completeFigures(columns, ruleFigures, span);
  return ruleFigures.map((figures) => listDates(figures, span.to));
}

function createFigures(dates: number, rule: LimitRuleName, { by, keep = createUncached }: RuleSpan): RuleFigures {
  const { rows } = LIMIT_RULES[rule];
  return {
    rule,
    values: keep(['limits', rule, by], { width: 2 * rows.length, dates }),
    distances: keep(['distance to limits', rule, by], { width: 2, dates }),
  };
}

function isIncomplete({ values, distances }: RuleFigures, { from, to, withDistances }: RuleSpan): boolean {
  return (
    values.known.subarray(0, to + 1).includes(0) ||
    (withDistances && distances.known.subarray(from, to + 1).includes(0))
  );
}

function completeFigures(columns: RunColumns, ruleFigures: readonly RuleFigures[], span: RuleSpan): void {
  const { issuersOn, from, to, withDistances, onDate = () => {} } = span;
  for (const date of yieldWatchedDates(columns, to, { issuersOn, rowsOn: () => [] })) {
    const { at } = date;
    onDate();
    for (const { rule, values, distances } of ruleFigures) {
      const lacksDistance = withDistances && at >= from && distances.known[at] === 0;
      if (values.known[at] === 1 && !lacksDistance) continue;
      const measuredDate = measureDate({ ...date, rows: LIMIT_RULES[rule].rows });
      const isBreached = fillValues(values, measuredDate);
      if (lacksDistance) fillDistance(distances, at, isBreached ? null : measuredDate.distance());
    }
  }
}

/**
 * Stores the measured values of a date.
 * @returns true if a row exceeds its bound
 */
function fillValues({ values, known }: DatedFigures, measuredDate: MeasuredDate): boolean {
  const { at, rows } = measuredDate;
  let isBreached = false;
  for (const [k, row] of rows.entries()) {
    const value = measuredDate.valueOf(k);
    const offset = 2 * k * known.length + at;
    values[offset] = value;
    if (isWithin(row, value)) continue;
    isBreached = true;
    values[offset + known.length] = CAUSES.indexOf(measuredDate.causeOf(k));
  }
  known[at] = 1;
  return isBreached;
}

function fillDistance(
  { values, known }: DatedFigures,
  position: number,
  distance: ReturnType<MeasuredDate['distance']>,
): void {
  values[position] = distance?.name ?? NO_NAME;
  values[known.length + position] = distance?.move ?? Number.NaN;
  known[position] = 1;
}

function* listDates({ rule, values, distances }: RuleFigures, to: number): Iterable<MeasuredDate> {
  const { rows } = LIMIT_RULES[rule];
  const { length } = values.known;
  for (let position = 0; position <= to; position++)
    yield {
      at: position,
      rows,
      valueOf: (k) => values.values[2 * k * length + position]!,
      causeOf: (k) => CAUSES[values.values[(2 * k + 1) * length + position]!]!,
      distance() {
        const name = distances.values[position]!;
        return name === NO_NAME ? null : { name, move: distances.values[length + position]! };
      },
    };
}

export interface WatchedRule extends LimitWatch {
  readonly rule: LimitRuleName;
}

/** Breaches of a rule over a whole run, with their dates. */
export interface WatchedBreaches {
  readonly rule: LimitRuleName;
  readonly breaches: readonly {
    readonly row: string;
    readonly begin: string;
    readonly end: string | null;
    readonly cause: BreachCause;
    readonly worst: { readonly value: number; readonly limit: number };
  }[];
}

/**
 * Returns the breaches of the rule that triggers rebalances of the run's index. They are measured as by `watchRules`.
 * Returns null if there is no such rule.
 */
export function watchBreaches(columns: RunColumns, market: MarketData | null): WatchedBreaches | null {
  const { breach_rule: rule } = columns.header.treatment;
  if (rule === undefined) return null;
  const days = columns.i32('days');
  const formatDate = (position: number) => formatDay(days[position]!);
  const issuers = market?.reference.columns.includes(ISSUER) === true ? listIssuerSpells(market, ISSUER) : null;
  const issuersOn = issuers && createGroupsByDay(columns.header.names, issuers);
  const { rows } = LIMIT_RULES[rule];
  const { breaches } = watchLimits(yieldWatchedDates(columns, days.length - 1, { issuersOn, rowsOn: () => rows }), {
    from: 0,
  });
  return {
    rule,
    breaches: breaches.map(({ row, begin, end, cause, worst }) => ({
      row,
      begin: formatDate(begin),
      end: end === null ? null : formatDate(end),
      cause,
      worst,
    })),
  };
}

interface WatchedSpan {
  /**
   * Market that contains the issuers of the securities. If it is null or lacks the column, each security is its own
   * issuer.
   */
  readonly market: MarketData | null;
  /** Column that identifies issuers. Default: ISSUER. */
  readonly by?: string | undefined;
  /** Position of the first reported date. */
  readonly from: number;
  /** Position of the last reported date. */
  readonly to: number;
  readonly withDistances?: boolean | undefined;
  /**
   * Returns a cache for figures; absent if there is no memory. The argument is the market if issuers come from it,
   * otherwise null.
   */
  readonly keep?: ((market: MarketData | null) => FigureCache) | undefined;
}

/** Column name with which each security is its own issuer. */
const OWN_ISSUERS = 'IDENTIFIER';

/**
 * Measures all published rules on the dates of a run, in the order of the rules.
 * @cost reads [n x H] weights once; none if the figures are cached
 */
export function watchRules(
  columns: RunColumns,
  { market, by = ISSUER, from, to, withDistances = false, keep }: WatchedSpan,
): WatchedRule[] {
  const issuers = market?.reference.columns.includes(by) === true ? listIssuerSpells(market, by) : null;
  const issuersOn = issuers && createGroupsByDay(columns.header.names, issuers);
  const issuerNames = issuers === null ? { by: OWN_ISSUERS, keep: keep?.(null) } : { by, keep: keep?.(market) };
  const span = { issuersOn, ...issuerNames, from, to, withDistances };
  return measureRules(columns, LIMIT_RULE_NAMES, span).map((dates, k) => ({
    rule: LIMIT_RULE_NAMES[k]!,
    ...watchMeasuredDates(dates, { from, withDistances }),
  }));
}

const STATES = ['within', 'breached'] as const;

export const produceLimits: Producer<'limits'> = ({ columns, window, market, by, keep }, offset) => {
  const days = columns.i32('days');
  const { from, to } = createSpan(days, window);
  if (from === to) return [];
  const rules = watchRules(columns, { market, by, from, to: to - 1, withDistances: true, keep });
  const { names } = columns.header;
  const count = (to - from) * rules.length;
  const rows = Array.from({ length: count }, (_, row) => ({
    date: Math.floor(row / rules.length),
    rule: row % rules.length,
  }));
  const distances = rows.map(({ date, rule }) => rules[rule]!.distances[date]!);
  const headroom = Float64Array.from(rows, ({ date, rule }) => rules[rule]!.headroom[date]!);
  return yieldBatches<'limits'>(
    {
      count,
      columns: {
        date: Int32Array.from(rows, ({ date }) => days[from + date]!),
        rule: { codes: Int32Array.from(rows, ({ rule }) => rule), texts: LIMIT_RULE_NAMES },
        headroom,
        state: { codes: Int32Array.from(headroom, (value) => Number(value < -TOLERANCE)), texts: STATES },
        nearest: { codes: Int32Array.from(distances, (distance) => distance?.name ?? -1), texts: names },
        move: Float64Array.from(distances, (distance) => distance?.move ?? NaN),
      },
    },
    offset,
  );
};

export const produceBreaches: Producer<'breaches'> = ({ columns, window, market, by, keep }, offset) => {
  const days = columns.i32('days');
  const { from, to } = createSpan(days, window);
  if (from === to) return [];
  const results = watchRules(columns, { market, by, from, to: to - 1, keep }).flatMap(({ rule, breaches }) =>
    breaches.map((breach) => ({ rule, ...breach })),
  );
  const rows = results.toSorted((a, b) => a.begin - b.begin); // stable: breaches that begin on the same date keep the order of the rules
  return yieldBatches<'breaches'>(
    {
      count: rows.length,
      columns: {
        begin: Int32Array.from(rows, ({ begin }) => days[begin]!),
        end: Int32Array.from(rows, ({ end }) => (end === null ? MISSING_INTEGER : days[end]!)),
        rule: toTextValues(rows.map(({ rule }) => rule)),
        row: toTextValues(rows.map(({ row }) => row)),
        cause: toTextValues(rows.map(({ cause }) => cause)),
        worst_date: Int32Array.from(rows, ({ worst }) => days[worst.at]!),
        worst_value: Float64Array.from(rows, ({ worst }) => worst.value),
        limit: Float64Array.from(rows, ({ worst }) => worst.limit),
      },
    },
    offset,
  );
};

/** Issuer with the magnitude of its net weight. */
interface IssuerWeight {
  readonly issuer: string;
  readonly weight: number;
}

interface RuleCloses extends Pick<WatchedDates, 'issuersOn'> {
  readonly rule: LimitRuleName;
  /** Positions of the closes. */
  readonly positions: readonly number[];
}

/** Issuers whose weights form the value of each row of a rule. Rows whose value has no such issuers are omitted. */
type RowIssuers = ReadonlyMap<string, readonly IssuerWeight[]>;

/**
 * Returns the issuers whose weights form the value of each row of a rule, largest first, by the position of the close.
 * @cost one read of [H] weights for each distinct close
 */
function listRuleIssuers(
  columns: RunColumns,
  { rule, positions, issuersOn }: RuleCloses,
): ReadonlyMap<number, RowIssuers> {
  const { names, has_index_weights: hasIndexWeights } = columns.header;
  const days = columns.i32('days');
  const closes = [...new Set(positions)].toSorted((a, b) => a - b);
  const [from = 0, to = 0] = [closes[0], closes.at(-1)];
  const weights = openPanelRows(columns, hasIndexWeights ? 'indexWeights' : 'weights', { from, to });
  const sumHoldings = sumByIssuer(names.length);
  return new Map(
    closes.map((at) => {
      const issuers = issuersOn?.(days[at]!) ?? null;
      const holdings = sumHoldings(weights.at(at), issuers);
      const createEntry = (issuer: number): IssuerWeight => ({
        issuer: (issuers ?? names)[holdings.issuerOf.indexOf(issuer)]!,
        weight: holdings.issuers[issuer]!,
      });
      const rowIssuers = LIMIT_RULES[rule].rows.flatMap(({ row, measure }) =>
        measure.issuersIn === undefined ? [] : [[row, measure.issuersIn(holdings).map(createEntry)] as const],
      );
      return [at, new Map(rowIssuers)];
    }),
  );
}

interface LimitsInput {
  /** Returns a new reader of the issuers of the securities. Null if each security is its own issuer. */
  readonly openIssuers: (() => NonNullable<WatchedDates['issuersOn']>) | null;
  readonly window: RequestedDates;
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
