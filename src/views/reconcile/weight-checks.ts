import { measureDrift } from '#domain/analytics/concentration.js';
import type { RunColumns } from '#domain/backtest/run-file/read.js';
import { listCountChanges } from '../count-changes.js';
import { findRunSettings, readRunShareTerms } from '#domain/backtest/run-file/settings.js';
import { computeGrowthStep, computeOpeningFactor } from '#domain/index-mathematics/adjusted-close.js';
import { openPanelRows } from '../panel-rows.js';
import { listRunEffects, type RunEffect } from '../run-effects.js';
import { readPositiveWeights } from '../weights-view.js';
import { createCheck, createFurthest, type Check, type Furthest, type RowPass } from './check.js';

/**
 * Checks the weights panel: the sum of each row, and how the weights drift from one row to the next.
 * @cost reads every price of the run
 */
export function createWeightPass(columns: RunColumns): RowPass {
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
