import type { ReconciliationView } from '#contract/analytics/analytics.js';
import { createContributionLink } from '#domain/analytics/attribution.js';
import { measureDrift } from '#domain/analytics/concentration.js';
import {
  type BacktestMetrics,
  computeAnnualReturns,
  computeBacktestMetrics,
  computeDrawdown,
  computeReturns,
} from '#domain/analytics/returns.js';
import type { RunRecord } from '#domain/backtest/record.js';
import { findRunSettings, readRunShareTerms, type StoredRebalance } from '#domain/backtest/run-file/header.js';
import { readRecord, type RunColumns } from '#domain/backtest/run-file/columns.js';
import { formatDay } from '#domain/base/time.js';
import { estimatePeriodsPerYear } from '#domain/calendars/calendar.js';
import { computeGrowthStep, computeOpeningFactor } from '#domain/market/action-effects.js';
import { createCounterRandom } from '#kernels/random/counter-random.js';
import {
  listCountChanges,
  listRunEffects,
  openPanelRows,
  type PanelRows,
  readIndexSeries,
  readWindow,
  type RunEffect,
  type WindowSpan,
} from './run-columns.js';
import { type ActiveRisk, type HeldRisk, readPositiveWeights } from './weights.js';

/** An identity of a stored run with its two sides. */
type Check = ReconciliationView['checks'][number];

/** Tolerance relative to the larger absolute value of the two sides. Values below 1 count as 1. */
const TOLERANCE = 1e-10;

interface ReconciledSides {
  readonly name: string;
  readonly meaning: string;
  /** Recomputed side. */
  readonly left: number;
  readonly right: number;
  readonly tolerance?: number;
}

/** Compares the two sides of an identity. A side that is not a finite number fails the check. */
export function createCheck({ name, meaning, left, right, tolerance = TOLERANCE }: ReconciledSides): Check {
  const residual = left - right;
  const scale = Math.max(1, Math.abs(left), Math.abs(right));
  if (Number.isFinite(residual))
    return { name, meaning, left, right, residual, tolerance, holds: Math.abs(residual) <= tolerance * scale };
  return { name, meaning, left: toFinite(left), right: toFinite(right), residual: 1, tolerance, holds: false };
}

function toFinite(value: number): number | null {
  return Number.isFinite(value) ? value : null;
}

/** Record of the cell whose two sides differ most. */
interface Furthest {
  note(left: number, right: number): void;
  /** Returns the largest difference so far; negative before the first cell. */
  distance(): number;
  sides(): { readonly left: number; readonly right: number };
}

export function createFurthest(): Furthest {
  let left = 0;
  let right = 0;
  let distance = -1;
  return {
    note(a, b) {
      const difference = Math.abs(a - b);
      if (difference <= distance) return;
      left = a;
      right = b;
      distance = difference === difference ? difference : Infinity;
    },
    distance: () => distance,
    sides: () => ({ left, right }),
  };
}

/** Checks of the weights panel. They share one pass over the panel. */
interface RowPass {
  /** Receives the weights of a date. Dates must be passed in ascending order. */
  see(t: number, weights: Float64Array): void;
  /** Returns the checks after all dates have been passed. */
  checks(): Check[];
}

/** Number of windows that are checked in addition to the whole run. The length of the run determines the windows. */
const WINDOWS = 5;
const WINDOW_SESSIONS_MAX = 504;

/**
 * Checks the linked contributions of all securities, over the whole run and over several windows.
 * @param weights reported panel of weights
 */
function createContributionPass(columns: RunColumns, weights: PanelRows): RowPass {
  const level = columns.f64('level');
  const days = columns.i32('days');
  const last = level.length - 1;
  if (last < 1) return { see: () => {}, checks: () => [] };
  const returns = computeReturns(level);
  const names = columns.header.names.length + (columns.header.parts?.length ?? 0);
  const spans = [
    { from: 0, to: last, name: 'contributions' },
    ...listRandomWindows(last).map((span) => ({
      ...span,
      name: `contributions ${formatDay(days[span.from]!)} to ${formatDay(days[span.to]!)}`,
    })),
  ];
  // Contributions in a window with a total loss cannot be linked.
  const linkableSpans = spans.filter(({ from, to }) => returns.subarray(from, to).every((r) => r > -1));
  const links = linkableSpans.map(({ from, to, name }) => ({
    from,
    to,
    name,
    link: createContributionLink({
      securityCount: names,
      returns: returns.subarray(from, to),
      days: days.subarray(from + 1, to + 1),
    }),
  }));
  const window = readWindow(columns, { from: 0, to: last }, { weights, follow: false });
  const parts = new Float64Array(names);
  return {
    see(period) {
      if (period === last) return;
      parts.set(window.computeContributions(period));
      parts.set(window.getParts(period), columns.header.names.length);
      for (const { from, to, link } of links) if (period >= from && period < to) link.add(period - from, parts);
    },
    checks: () =>
      links.map(({ name, link: { totalReturn, residual } }) =>
        createCheck({
          name,
          meaning: 'The linked contributions of all securities and of the parts of an overlay sum to the total return.',
          left: totalReturn - residual(),
          right: totalReturn,
        }),
      ),
  };
}

function listRandomWindows(last: number): WindowSpan[] {
  const random = createCounterRandom({ seed: last, stream: 0 });
  return Array.from({ length: WINDOWS }, () => {
    const from = Math.min(last - 1, Math.floor(random.uniform() * last));
    const sessionsMax = Math.min(WINDOW_SESSIONS_MAX, last - from);
    return { from, to: from + 1 + Math.min(sessionsMax - 1, Math.floor(random.uniform() * sessionsMax)) };
  });
}

function checkLevels(columns: RunColumns, { metrics }: RunRecord): Check[] {
  const level = columns.f64('level');
  const value = columns.f64('value');
  const total = level.at(-1)! / level[0]! - 1;
  const compoundedReturn = computeReturns(level).reduce((product, r) => product * (1 + r), 1) - 1;
  const annual = computeAnnualReturns(columns.i32('days'), level).reduce((product, [, r]) => product * (1 + r), 1) - 1;
  const gross = columns.f64('gross');
  const costs = columns.f64('costs');
  const netReturn =
    value.reduce((product, after, t) => (t === 0 ? 1 : product * gross[t]! * (after / (after + costs[t]!))), 1) - 1;
  const drawdown = computeDrawdown(level);
  const trackedLevels = readIndexSeries(columns, 'indexLevel');
  const measuredMetrics = computeBacktestMetrics(level, trackedLevels, estimatePeriodsPerYear(columns.i32('days')));
  return [
    createCheck({
      name: 'returns',
      meaning: 'Period returns compound to the total return.',
      left: compoundedReturn,
      right: total,
    }),
    createCheck({
      name: 'annual returns',
      meaning: 'Annual returns compound to the total return.',
      left: annual,
      right: total,
    }),
    createCheck({
      name: 'level',
      meaning: 'The level equals the value rebased to 100.',
      left: value.at(-1)! / value[0]! - 1,
      right: total,
    }),
    createCheck({
      name: 'growth and costs',
      meaning: 'The growth of the holdings minus the costs equals the total return.',
      left: netReturn,
      right: total,
    }),
    createCheck({
      name: 'drawdown',
      meaning: 'No drawdown is above 0.',
      left: drawdown.reduce((highest, d) => Math.max(highest, d), -Infinity),
      right: 0,
    }),
    createCheck({
      name: 'metrics: total return',
      meaning: 'The reported total return equals that of the level.',
      left: total,
      right: metrics.total_return,
    }),
    createCheck({
      name: 'metrics: maximum drawdown',
      meaning: 'The reported maximum drawdown equals the lowest drawdown of the level.',
      left: drawdown.reduce((lowest, d) => Math.min(lowest, d), 0),
      right: metrics.max_drawdown,
    }),
    ...checkMetrics(measuredMetrics, metrics),
    ...checkTracking(columns, trackedLevels),
  ];
}

/** Meanings of the checks of metrics that are not checked above. A failed check prints its meaning. */
const METRIC_MEANINGS = {
  annualised_return: 'The reported annualised return equals that of the level.',
  volatility: 'The reported volatility equals that of the returns.',
  sharpe_ratio: 'The reported Sharpe ratio equals that of the returns.',
  tracking_difference: 'The reported tracking difference equals that of the level and the index.',
  tracking_error: 'The reported tracking error equals that of the returns of the level and the index.',
} as const satisfies Partial<Record<keyof BacktestMetrics, string>>;

function checkMetrics(measuredMetrics: BacktestMetrics, reportedMetrics: BacktestMetrics): Check[] {
  return (Object.keys(METRIC_MEANINGS) as (keyof typeof METRIC_MEANINGS)[]) // the object has no other keys
    .map((name) =>
      createCheck({
        name: `metrics: ${name.replaceAll('_', ' ')}`,
        meaning: METRIC_MEANINGS[name],
        left: measuredMetrics[name] ?? 0,
        right: reportedMetrics[name] ?? 0,
      }),
    );
}

/** Checks that a portfolio without costs has exactly the return of its index. Strategies are not checked. */
function checkTracking(columns: RunColumns, trackedLevels: Float64Array): Check[] {
  const { header } = columns;
  if (header.has_costs || header.has_index_weights || header.run_id !== header.index_id) return [];
  const level = columns.f64('level');
  const furthest = createFurthest();
  for (let t = 0; t < level.length; t++) furthest.note(level[t]! / level[0]!, trackedLevels[t]! / trackedLevels[0]!);
  return [
    createCheck({
      name: 'index level',
      meaning:
        'Without costs, the level equals that of the index; the sides are those of the date with the largest difference.',
      ...furthest.sides(),
    }),
  ];
}

/** Checks the positions, cash, trades and costs of the portfolio. */
function checkPortfolio(columns: RunColumns, { portfolio }: RunRecord): Check[] {
  const { value, initialCapital } = portfolio;
  const costs = columns.f64('costs');
  return [
    createCheck({
      name: 'initial capital',
      meaning: 'The portfolio starts with its initial capital minus the costs of the first purchase.',
      left: value[0]! + costs[0]!,
      right: initialCapital,
    }),
    ...checkPositions(portfolio),
    ...checkCosts(costs, portfolio),
  ];
}

/**
 * Checks the reported positions. Only the latest positions are reported, and the first reported date may be incomplete.
 */
function checkPositions({ positions, value, cash }: RunRecord['portfolio']): Check[] {
  const { at, units, price, value: marketValues, weight, total } = positions;
  if (at.length === 0) return [];
  const products = createFurthest();
  const shares = createFurthest();
  const sums = new Map<number, number>();
  for (let i = 0; i < at.length; i++) {
    const nav = value[at[i]!]!;
    products.note((units[i]! * price[i]!) / nav, marketValues[i]! / nav);
    shares.note(marketValues[i]! / nav, weight[i]!);
    sums.set(at[i]!, (sums.get(at[i]!) ?? 0) + marketValues[i]!);
  }
  if (total > at.length) sums.delete(at[0]!);
  const navs = createFurthest();
  for (const [t, sum] of sums) navs.note(sum / value[t]! + cash[t]!, 1);
  return [
    createCheck({
      name: 'positions: value',
      meaning:
        'Units times price equals the value of a position, as a fraction of the net asset value; the sides are those of the position with the largest difference.',
      ...products.sides(),
    }),
    createCheck({
      name: 'positions: weight',
      meaning:
        'The value of a position divided by the net asset value equals its weight; the sides are those of the position with the largest difference.',
      ...shares.sides(),
    }),
    ...(sums.size === 0
      ? []
      : [
          createCheck({
            name: 'net asset value',
            meaning:
              'Positions and cash of a date sum to its net asset value; the left side is the fraction with the largest difference from 1.',
            ...navs.sides(),
          }),
        ]),
  ];
}

/**
 * Checks the transaction costs. They are not checked if the table of transactions is incomplete, because it cannot be
 * summed.
 */
function checkCosts(costs: Float64Array, { transactions, costRate, initialCapital }: RunRecord['portfolio']): Check[] {
  const { notional, isFree, total } = transactions;
  if (total > notional.length) return [];
  let paidCosts = 0;
  for (let i = 0; i < notional.length; i++) if (isFree[i] === 0) paidCosts += costRate * Math.abs(notional[i]!);
  const recordedCosts = costs.reduce((sum, cost) => sum + cost, 0);
  return [
    createCheck({
      name: 'transaction costs',
      meaning: 'The costs of all trades equal the costs of the run, as fractions of the initial capital.',
      left: paidCosts / initialCapital,
      right: recordedCosts / initialCapital,
    }),
  ];
}

/** A rebalance of a stored run. */
interface AppliedRebalance {
  readonly date: string;
  readonly cap: number | null;
  readonly redistributed: number;
  /** True if the weights were converted to index shares and capped on an earlier date. They have drifted since. */
  readonly hasDrifted: boolean;
  /** Applied weights, [H]; the next field contains the weights before capping. */
  readonly applied: Float64Array;
  readonly uncapped: Float64Array;
  /** 1 for capped securities, [H]. */
  readonly isCapped: Uint8Array;
  /** True for the run of an index, false for the run of a strategy. */
  readonly isOfIndex: boolean;
  /** True for an overlay, whose weights may sum to more than 1. */
  readonly isOverlay: boolean;
  /**
   * Index weights at the close, [H]. Null for a strategy, for a composition from before the run, or if another
   * rebalance follows on the same date.
   */
  readonly held: Float64Array | null;
  /** Prices of the session, [H], NaN without a bar; null if targets do not wait for a bar. */
  readonly prices: Float64Array | null;
  /** Cash of the index at the close; null if it is not stored or not checked. */
  readonly cash: number | null;
}

/** Checks the applied weights of each rebalance against the weights before capping and the cap. */
function checkRebalances(columns: RunColumns): Check[] {
  return columns.header.rebalances.flatMap((rebalance, r) => {
    const appliedRebalance = readApplied(columns, rebalance, r);
    return [...checkSums(appliedRebalance), ...checkHoldings(appliedRebalance), ...checkCaps(appliedRebalance)];
  });
}

function readApplied(
  columns: RunColumns,
  { date, at, cap, redistributed, reference }: StoredRebalance,
  r: number,
): AppliedRebalance {
  const {
    names,
    rebalances,
    treatment,
    has_index_weights: hasIndexWeights,
    run_id: runId,
    index_id: indexId,
  } = columns.header;
  const H = names.length;
  const isOfIndex = runId === indexId;
  const defersTargets = treatment.stale_targets === 'defer';
  // The holdings of a strategy also depend on its tolerance and its costs. Therefore they are not checked.
  const isHeld = isOfIndex && at >= 0 && rebalances[r + 1]?.at !== at;
  return {
    date,
    cap,
    redistributed,
    hasDrifted: reference !== undefined,
    isOfIndex,
    isOverlay: columns.header.parts !== undefined,
    applied: columns.f64('targets', r * H, (r + 1) * H),
    uncapped: columns.f64('raw', r * H, (r + 1) * H),
    isCapped: columns.u8('capped', r * H, (r + 1) * H),
    held: isHeld ? columns.f64(hasIndexWeights ? 'indexWeights' : 'weights', at * H, (at + 1) * H) : null,
    prices: isHeld && defersTargets ? columns.f64('price', at * H, (at + 1) * H) : null,
    // If a security waits for a bar, its weight is part of the cash. The cash is then not checked.
    cash: isHeld && !hasIndexWeights && !defersTargets ? columns.f64('cash', at, at + 1)[0]! : null,
  };
}

/**
 * Checks the sum of the applied weights. An index invests the whole sum of the weights before capping. A strategy
 * invests a fraction of it, at most the available value.
 */
function checkSums(rebalance: AppliedRebalance): Check[] {
  const { date, applied, uncapped, redistributed, hasDrifted, isOfIndex, isOverlay, cash } = rebalance;
  const investedWeight = sumValues(applied);
  const sumBefore = sumValues(uncapped);
  const exposure = computeExposure({ applied, uncapped, isOfIndex });
  const excessWeight = uncapped.reduce((total, u, i) => total + Math.max(0, exposure * u - applied[i]!), 0);
  return [
    createCheck({
      name: `rebalance ${date}: weights`,
      meaning: 'The applied weights sum to the invested fraction: 1 minus cash.',
      left: investedWeight,
      right: cash !== null ? 1 - cash : isOverlay ? investedWeight : Math.min(1, investedWeight),
    }),
    createCheck({
      name: `rebalance ${date}: uncapped weights`,
      meaning: 'The weights before capping sum to the invested fraction, and to at most 1.',
      left: sumBefore,
      right: isOfIndex ? investedWeight : isOverlay ? sumBefore : Math.min(1, sumBefore),
    }),
    ...(hasDrifted
      ? []
      : [
          createCheck({
            name: `rebalance ${date}: redistributed`,
            meaning: 'The moved weight equals the weight that securities lost to the cap.',
            left: excessWeight,
            right: exposure * redistributed,
          }),
        ]),
  ];
}

/** Returns the fraction of the weights before capping that is invested. For a strategy this is its exposure. */
function computeExposure({
  applied,
  uncapped,
  isOfIndex,
}: Pick<AppliedRebalance, 'applied' | 'uncapped' | 'isOfIndex'>): number {
  const grossBefore = uncapped.reduce((sum, weight) => sum + Math.abs(weight), 0);
  return isOfIndex || grossBefore === 0 ? 1 : applied.reduce((sum, weight) => sum + Math.abs(weight), 0) / grossBefore;
}

function checkHoldings({ date, applied, held, prices }: AppliedRebalance): Check[] {
  if (held === null) return [];
  const furthestHeld = createFurthest();
  recordHoldings(furthestHeld, { held, applied, prices });
  return [
    createCheck({
      name: `rebalance ${date}: held`,
      meaning:
        'The weights held at the close equal the applied weights where no security waits for a bar; the sides are those of the security with the largest difference.',
      ...furthestHeld.sides(),
    }),
  ];
}

interface HoldingsRow {
  readonly held: Float64Array;
  readonly applied: Float64Array;
  readonly prices: Float64Array | null;
}

/**
 * Records the differences between held and expected weights. A security without a bar keeps its weight. The rest is
 * distributed to the other securities in proportion to their applied weights. If a bar is missing and there are short
 * positions, nothing is recorded.
 */
function recordHoldings(sides: Furthest, { held, applied, prices }: HoldingsRow): void {
  const isWithoutPrice = (i: number): boolean => prices !== null && Number.isNaN(prices[i]!);
  const isShort = (weights: Float64Array): boolean => weights.some((weight) => weight < 0);
  if (prices?.some((_, i) => isWithoutPrice(i)) && (isShort(held) || isShort(applied))) return;
  const trade = (weights: Float64Array): number =>
    weights.reduce((sum, weight, i) => (isWithoutPrice(i) ? sum : sum + weight), 0);
  const scale = prices === null || trade(applied) === 0 ? 1 : Math.min(1, trade(held) / trade(applied));
  held.forEach((weight, i) => isWithoutPrice(i) || sides.note(weight, scale * applied[i]!));
}

function checkCaps({ date, cap, applied, uncapped, isCapped, hasDrifted, isOfIndex }: AppliedRebalance): Check[] {
  if (cap === null || hasDrifted) return [];
  const largest = applied.reduce((largestWeight, weight) => Math.max(largestWeight, weight), 0);
  const exposure = computeExposure({ applied, uncapped, isOfIndex });
  const furthestCap = createFurthest();
  applied.forEach((weight, i) => isCapped[i] === 1 && furthestCap.note(weight, exposure * cap));
  return [
    createCheck({
      name: `rebalance ${date}: cap`,
      meaning: 'No weight exceeds the cap.',
      left: Math.max(largest, cap),
      right: cap,
    }),
    createCheck({
      name: `rebalance ${date}: capped securities`,
      meaning:
        'Securities held at the cap have the weight of the cap, as a fraction of the invested weight; the sides are those of the security with the largest difference.',
      ...furthestCap.sides(),
    }),
  ];
}

function sumValues(values: Float64Array): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Tolerance for sums of risk contributions. They are more exact than other sums. */
const RISK_TOLERANCE = 1e-12;

export interface MeasuredRisk {
  /** Identifiers of the held securities. */
  readonly names: readonly string[];
  readonly risk: HeldRisk;
  readonly active: ActiveRisk | null;
}

/** Checks the risk figures in the weights view of the last date. */
function checkRisk({ names, risk, active }: MeasuredRisk): Check[] {
  const sum = (contributionOf: (name: string) => number | null): number =>
    names.reduce((total, name) => total + (contributionOf(name) ?? 0), 0);
  const notHeld = active
    ? Object.values(active.payload.contributions_not_held).reduce((total, contribution) => total + contribution, 0)
    : 0;
  return [
    createCheck({
      name: 'risk contributions',
      meaning: 'The risk contributions of the held securities sum to the volatility.',
      left: sum(risk.findContribution),
      right: risk.payload.volatility,
      tolerance: RISK_TOLERANCE,
    }),
    ...(active
      ? [
          createCheck({
            name: 'active risk contributions',
            meaning:
              'The active risk contributions, including those of securities that are not held, sum to the tracking error.',
            left: sum(active.findContribution) + notHeld,
            right: active.payload.tracking_error,
            tolerance: RISK_TOLERANCE,
          }),
        ]
      : []),
  ];
}

/**
 * Checks the weights panel: the sum of each row, and how the weights drift from one row to the next.
 * @cost reads every price of the run
 */
function createWeightPass(columns: RunColumns): RowPass {
  const { dates } = columns.header;
  const cash = columns.f64('cash');
  const drift = columns.f64(columns.has('drift') ? 'drift' : 'gross');
  const { rounding = {}, amended = [] } = columns.header;
  const roundings = [rounding, ...amended.map((storedAmendment) => storedAmendment.rounding)];
  const isRounded = roundings.some(({ divisor, shares }) => divisor !== undefined || shares !== undefined); // rounded shares and divisors cause deviations from the drift
  const breaks = columns.has('breaks') && !isRounded ? columns.u8('breaks') : null; // not stored by version 0.1.0
  const prices = openPanelRows(columns, 'price', { from: 0, to: dates - 1 });
  const effects = groupEffectsBySession(columns);
  const growRow = createGrowthRows(columns, effects);
  const hasShortPayments = columns.has('shortCash') || columns.header.variant !== 'net'; // not stored up to version 0.2.0
  const sums = createFurthest();
  const drifts = createFurthest();
  const previous = new Float64Array(columns.header.names.length);
  return {
    see(t, row) {
      const { factors, opened } = growRow(t, { prices: prices.at(t), held: previous });
      const withheld = hasShortPayments ? NO_SECURITIES : listPayingSecurities(effects.get(t));
      // The first session has no previous weights, and weights do not drift on a session with an event.
      const driftRecord = t > 0 && breaks?.[t] === 0 ? drifts : null;
      sums.note(
        compareDrift({ previous, factors, withheld, gross: drift[t]! * opened, row, cash: cash[t]! }, driftRecord),
        1,
      );
    },
    checks: () => [
      createCheck({
        name: 'weights',
        meaning: 'The weights and cash of every date sum to 1; the left side is the sum with the largest difference.',
        ...sums.sides(),
      }),
      ...(breaks
        ? [
            createCheck({
              name: 'drift',
              meaning:
                'Without events, each weight changes by the growth of its security divided by the growth of the portfolio; the sides are those of the weight with the largest difference.',
              ...drifts.sides(),
            }),
          ]
        : []),
      ...checkDrift(columns),
    ],
  };
}

interface DriftedRow {
  /** Weights of the previous session. The current weights overwrite them. */
  readonly previous: Float64Array;
  readonly factors: Float64Array;
  /** Securities whose dividends are taxed. Set only if the gross dividends that short positions pay are not stored. */
  readonly withheld: ReadonlySet<number>;
  /** Growth of the whole portfolio over the session, measured from the previous closes before they are adjusted. */
  readonly gross: number;
  readonly row: Float64Array;
  readonly cash: number;
}

/**
 * Compares drifted weights with the stored weights of a session.
 * @param drifts receives the differences; null if differences are permitted
 * @returns the sum of cash and weights
 */
function compareDrift(driftedRow: DriftedRow, drifts: Furthest | null): number {
  const { previous, factors, withheld, gross, row, cash } = driftedRow;
  let sum = cash;
  let distance = drifts?.distance() ?? Infinity;
  for (let i = 0; i < row.length; i++) {
    const weight = row[i]!;
    const before = previous[i]!;
    sum += weight;
    previous[i] = weight;
    const factor = factors[i]!;
    if (before === 0 || factor !== factor || (before < 0 && withheld.has(i))) continue;
    const expected = (before * factor) / gross;
    if (Math.abs(expected - weight) <= distance || drifts === null) continue;
    drifts.note(expected, weight);
    distance = drifts.distance();
  }
  return sum;
}

interface SessionRows {
  readonly prices: Float64Array;
  /** Weights at the previous close. */
  readonly held: Float64Array;
}

interface GrownRow {
  readonly factors: Float64Array;
  /** Market value after the adjustment of the previous closes, divided by the market value before it. */
  readonly opened: number;
}

/**
 * Returns a function that computes how every security grows over a session, from prices and corporate actions. It must
 * be called in the order of the sessions. The growth is NaN before the first bar of a security.
 */
function createGrowthRows(
  columns: RunColumns,
  effects: ReadonlyMap<number, readonly RunEffect[]>,
): (t: number, rows: SessionRows) => GrownRow {
  const { names, foreign, dates } = columns.header;
  const days = columns.i32('days');
  const rates = Object.entries(foreign).map(([name, row]) => ({
    name: Number(name),
    series: columns.f64('rates', row * dates, (row + 1) * dates),
  }));
  const counts = getCountsBySession(columns);
  const carriedPrices = new Float64Array(names.length).fill(Number.NaN);
  const factors = new Float64Array(names.length);
  return (t, { prices, held }) => {
    // Events of a security affect its growth since the previous price.
    const securityEvents = (effects.get(t) ?? []).map(({ name, effect, onShort }) => ({
      name,
      effect: held[name]! < 0 ? onShort : effect,
      before: carriedPrices[name]!,
    }));
    computePriceGrowth(factors, carriedPrices, prices);
    const changes = counts.get(t) ?? NO_CHANGES;
    let countGrowth = 1;
    for (const [name, factor] of changes) countGrowth += held[name]! * (factor - 1);
    let openedWeight = 1;
    for (const { name, effect, before } of securityEvents) {
      if (before !== before) continue;
      const step = computeGrowthStep({ ...effect, income: 0 }, before, prices[name]!);
      const opening = computeOpeningFactor(
        effect,
        before,
        readRunShareTerms(findRunSettings(columns.header, days[t]!).treatment),
      );
      openedWeight += ((held[name]! * (changes.get(name) ?? 1)) / countGrowth) * (opening - 1);
      factors[name] = opening * step.factor;
      carriedPrices[name] = step.carried;
    }
    for (const [name, factor] of changes) factors[name]! *= factor;
    if (t > 0) for (const { name, series } of rates) factors[name]! *= series[t]! / series[t - 1]!;
    return { factors, opened: openedWeight * countGrowth };
  };
}

/**
 * Computes the growth from the previous prices to the prices of a session: 1 without a bar, NaN up to the first bar.
 */
function computePriceGrowth(factors: Float64Array, carriedPrices: Float64Array, prices: Float64Array): void {
  for (let i = 0; i < factors.length; i++) {
    const before = carriedPrices[i]!;
    const bar = prices[i]!;
    if (bar === bar) {
      factors[i] = bar / before;
      carriedPrices[i] = bar;
    } else {
      factors[i] = before === before ? 1 : Number.NaN;
    }
  }
}

const NO_CHANGES: ReadonlyMap<number, number> = new Map();

/** Returns the changes of share counts that a portfolio follows, by date and security. */
function getCountsBySession(columns: RunColumns): ReadonlyMap<number, ReadonlyMap<number, number>> {
  const effectsBySession = new Map<number, Map<number, number>>();
  for (const { at, name, factor } of columns.has('keptShares') ? listCountChanges(columns) : []) {
    const changes = effectsBySession.get(at) ?? new Map<number, number>();
    effectsBySession.set(at, changes.set(name, factor));
  }
  return effectsBySession;
}

const NO_SECURITIES: ReadonlySet<number> = new Set();

function listPayingSecurities(effects: readonly RunEffect[] | undefined): ReadonlySet<number> {
  return effects === undefined
    ? NO_SECURITIES
    : new Set(effects.flatMap(({ name, effect }) => (effect.cash > 0 ? [name] : [])));
}

function groupEffectsBySession(columns: RunColumns): Map<number, RunEffect[]> {
  const effectsBySession = new Map<number, RunEffect[]>();
  for (const row of listRunEffects(columns)) {
    const effects = effectsBySession.get(row.at);
    if (effects) effects.push(row);
    else effectsBySession.set(row.at, [row]);
  }
  return effectsBySession;
}

/**
 * Checks the drift figures in the weights view of the last date. If weight has moved into cash, the moves do not add up
 * to zero.
 */
function checkDrift(columns: RunColumns): Check[] {
  const { held, target } = readPositiveWeights(columns, null);
  const movedWeight = held.reduce((sum, weight, i) => sum + weight - target[i]!, 0);
  const figures = measureDrift(held, target);
  const sum = (values: Float64Array): number => values.reduce((total, value) => total + value, 0);
  const absoluteDrift = held.reduce((total, weight, i) => total + Math.abs(weight - target[i]!), 0);
  return [
    createCheck({
      name: 'moves since the last rebalance',
      meaning: 'The moves of the weights since the last rebalance sum to the weight that moved into or out of cash.',
      left: movedWeight,
      right: sum(held) - sum(target),
    }),
    createCheck({
      name: 'turnover since the last rebalance',
      meaning: 'One-way turnover equals half the sum of the absolute moves.',
      left: absoluteDrift / 2,
      right: figures.turnover,
    }),
  ];
}

/** Stored file of a run: its recorded hash and its current hash. */
export interface StoredFile {
  readonly name: string;
  readonly recorded: string;
  /** SHA-256 of the stored bytes; null if the file is missing. */
  readonly found: string | null;
}

/** Further inputs of a reconciliation. */
interface MeasuredRun {
  /** Risk of the last holdings; null if it could not be measured. */
  readonly risk: MeasuredRisk | null;
  /** Called before the weights of a date are read. */
  readonly onDate?: () => void;
}

/**
 * Checks a stored run by recomputing its identities. Reports each identity with both sides.
 * @param filesOf called last, because other threads may still be hashing the files
 * @cost reads every weight and price of the run
 */
export function createReconcileView(
  columns: RunColumns,
  filesOf: () => readonly StoredFile[],
  { risk, onDate = () => {} }: MeasuredRun = { risk: null },
): ReconciliationView {
  const record = columns.has('record') ? recordIn(columns) : null;
  const { weights, contributions } = checkPanels(columns, onDate);
  const namedChecks = [
    ...(record ? [...checkLevels(columns, record), ...checkPortfolio(columns, record)] : []),
    ...(record === null && columns.has('record') ? [UNREADABLE] : []),
    ...weights,
    ...checkRebalances(columns),
    ...contributions,
    ...(risk ? checkRisk(risk) : []),
  ];
  const checks = [...filesOf().map(checkFile), ...namedChecks];
  return {
    index_id: columns.header.run_id,
    reconciles: checks.every(({ holds }) => holds),
    checks,
    not_compared: listUncheckedParts(columns),
  };
}

/** Returns notes about checks that cannot be made for runs of earlier versions. */
function listUncheckedParts(columns: RunColumns): string[] {
  return [
    ...(columns.has('record')
      ? []
      : ['The columns of version 0.1.0 have no record: metrics, positions, cash and transactions are not compared.']),
    ...(columns.has('breaks')
      ? []
      : ['Runs of version 0.1.0 do not store when trades happened: the drift of weights is not compared.']),
  ];
}

/** Returns the checks of the weights and of the contributions. One pass over the weights computes both. */
function checkPanels(
  columns: RunColumns,
  onDate: () => void,
): { readonly weights: Check[]; readonly contributions: Check[] } {
  const last = columns.header.dates - 1;
  const rows = openPanelRows(columns, 'weights', { from: 0, to: last });
  const contributions = createContributionPass(columns, rows);
  const weights = createWeightPass(columns);
  for (let t = 0; t <= last; t++) {
    onDate();
    const row = rows.at(t);
    contributions.see(t, row);
    weights.see(t, row);
  }
  return { weights: weights.checks(), contributions: contributions.checks() };
}

function checkFile({ name, recorded, found }: StoredFile): Check {
  return {
    name: `stored ${name}`,
    meaning: `The SHA-256 of the stored ${name} equals the hash recorded with the run.`,
    left: null,
    right: null,
    residual: found === recorded ? 0 : 1,
    tolerance: 0,
    holds: found === recorded,
  };
}

const UNREADABLE: Check = {
  name: 'record',
  meaning: 'The columns contain a readable record.',
  left: null,
  right: null,
  residual: 1,
  tolerance: 0,
  holds: false,
};

/**
 * Returns the record of a run. Returns null if the stored bytes are invalid; the reconciliation reports this as a
 * failed check.
 */
function recordIn(columns: RunColumns): RunRecord | null {
  try {
    return readRecord(columns);
  } catch {
    return null;
  }
}
