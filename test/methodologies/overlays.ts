import type { Market } from './market.js';
import { rebalanceSessions, runIndex, type PlainRun } from './index-run.js';
import { createBlendParts, EVERY_QUARTER, runTotalReturnParent, type Rulebook, weightLargest } from './parents.js';
import { computeMedian } from './dividend-rules.js';
import { selectBuffered, capWeights, computeProportional, rankSecurities } from './plain-functions.js';

const DAY = 86_400_000;
const BASE_VALUE = 1000;

function computeLevels(base: number, length: number, growth: (t: number) => number): PlainRun {
  const levels = [BASE_VALUE];
  for (let t = base + 1; t < length; t++) levels.push(levels.at(-1)! * growth(t));
  return { base, levels, compositions: [] };
}

const countDaysBetween = ({ store }: Market, t: number): number =>
  (Date.parse(store.dates[t]!) - Date.parse(store.dates[t - 1]!)) / DAY;

const computeGrowth = ({ base, levels }: PlainRun, t: number): number => levels[t - base]! / levels[t - base - 1]!;

/** Returns the interest of a session at the rate of the previous close. It counts calendar days over 360. */
const computeInterest = (market: Market, series: string, t: number): number =>
  ((market.store.series[series]![t - 1]! / 100) * countDaysBetween(market, t)) / 360;

interface RiskTerms {
  readonly target: number;
  readonly most: number;
  readonly year?: number;
  /** Largest distance from the wanted exposure at which the exposure does not change. */
  readonly tolerance?: number;
  /** Largest single change of the exposure. */
  readonly step?: number;
  /** True if exposures change only after the last session of a month. */
  readonly isMonthly?: boolean;
}

/**
 * Returns an index with a target volatility. Its exposure uses the larger of two exponentially weighted volatilities,
 * as known two sessions earlier.
 */
function computeRiskControl(
  market: Market,
  parent: PlainRun,
  { target, most, year = 252, tolerance, step, isMonthly }: RiskTerms,
): PlainRun {
  const { base, levels } = parent;
  const { dates } = market.store;
  const squares = levels.slice(1).map((level, k) => Math.log(level / levels[k]!) ** 2);
  const computeVolatility = (known: number, halfLife: number): number => {
    const weights = squares.slice(0, known).map((_, k) => 0.5 ** ((known - 1 - k) / halfLife));
    const total = weights.reduce((a, b) => a + b, 0);
    return Math.sqrt((year * weights.reduce((a, weight, k) => a + weight * squares[k]!, 0)) / total);
  };
  const computeTargetExposure = (t: number): number => {
    const knownSession = t - base - 2;
    if (knownSession <= 0) return Math.min(1, most);
    return Math.min(
      most,
      target / Math.max(computeVolatility(knownSession, 11.2022), computeVolatility(knownSession, 22.7566)),
    );
  };
  const isReview = (t: number): boolean => isMonthly !== true || dates[t]!.slice(0, 7) !== dates[t + 1]?.slice(0, 7);
  const exposures: number[] = [computeTargetExposure(base)];
  for (let t = base + 1; t < dates.length; t++) {
    const before = exposures.at(-1)!;
    const change = computeTargetExposure(t) - before;
    const moves = isReview(t) && (tolerance === undefined || Math.abs(change) > tolerance);
    const limit = step ?? Infinity;
    exposures.push(moves ? before + Math.max(-limit, Math.min(limit, change)) : before);
  }
  return computeLevels(base, dates.length, (t) => {
    const heldExposure = exposures[t - 1 - base]!;
    return 1 + heldExposure * (computeGrowth(parent, t) - 1) + (1 - heldExposure) * computeInterest(market, 'CASH', t);
  });
}

const createDynamicRiskControl =
  (count: number): Rulebook =>
  (market, baseDate) => {
    const parent = runTotalReturnParent(market, baseDate, count);
    return {
      '-PARENT': parent,
      '-MONTHLY': computeRiskControl(market, parent, { target: 0.12, most: 1.5, isMonthly: true }),
      '': computeRiskControl(market, parent, { target: 0.12, most: 1.5, tolerance: 0.05, step: 0.2 }),
    };
  };

const createQuanto =
  (count: number): Rulebook =>
  (market, baseDate) => {
    const parent = runTotalReturnParent(market, baseDate, count);
    const rate = market.store.series['EURUSD']!;
    const euros = computeLevels(
      parent.base,
      market.store.dates.length,
      (t) => (computeGrowth(parent, t) * rate[t - 1]!) / rate[t]!,
    );
    return { '-PARENT': parent, '-UNHEDGED': euros, '': { ...parent, compositions: [] } };
  };

/**
 * Holds the ten largest crypto assets with enough volume. The exposure is set so that the index has the target
 * volatility.
 */
export const runCryptoCapped: Rulebook = (market, baseDate) => {
  const parent = runIndex(market, baseDate, {
    months: Array.from({ length: 12 }, (_, k) => k + 1),
    anchor: { day: 'first' },
    decide(t, members) {
      const isTradedEnough = (i: number) =>
        computeMedian(market.traded(i, t, 90)) >= (members?.has(i) === true ? 8e4 : 1e5);
      const cap = (i: number) => market.cap(i, t);
      const order = rankSecurities(market.listed(t).filter(isTradedEnough), cap);
      return capWeights(
        computeProportional(selectBuffered(order, members, { count: 10, enter: 8, exit: 12 }), cap),
        0.3,
      );
    },
  });
  return {
    '-PARENT': parent,
    '': computeRiskControl(market, parent, { target: 0.4, most: 1, year: 365, tolerance: 0.05 }),
  };
};

const createRiskControlled =
  (count: number): Rulebook =>
  (market, baseDate) => {
    const parent = runTotalReturnParent(market, baseDate, count);
    const total = computeRiskControl(market, parent, { target: 0.1, most: 1.5 });
    const excess = computeLevels(
      parent.base,
      market.store.dates.length,
      (t) => computeGrowth(total, t) / (1 + computeInterest(market, 'CASH', t)),
    );
    return { '-PARENT': parent, '-TOTAL': total, '': excess };
  };

const createDecrements =
  (count: number): Rulebook =>
  (market, baseDate) => {
    const parent = runTotalReturnParent(market, baseDate, count);
    const { length } = market.store.dates;
    const percent = computeLevels(
      parent.base,
      length,
      (t) => computeGrowth(parent, t) * 0.95 ** (countDaysBetween(market, t) / 365),
    );
    const points = [BASE_VALUE];
    for (let t = parent.base + 1; t < length; t++)
      points.push(points.at(-1)! * computeGrowth(parent, t) - (50 * countDaysBetween(market, t)) / 365);
    return { '-PARENT': parent, '-PERCENT': percent, '-POINTS': { ...percent, levels: points } };
  };

const createLeveraged =
  (count: number): Rulebook =>
  (market, baseDate) => {
    const parent = runTotalReturnParent(market, baseDate, count);
    const computeLeveragedLevels = (factor: number) =>
      computeLevels(
        parent.base,
        market.store.dates.length,
        (t) => 1 + factor * (computeGrowth(parent, t) - 1) + (1 - factor) * computeInterest(market, 'CASH', t),
      );
    return { '-PARENT': parent, '-2X': computeLeveragedLevels(2), '-1X': computeLeveragedLevels(-1) };
  };

/**
 * Returns the month end after a session. It is the last session of the month, or of the next month if the session is
 * itself a month end.
 */
function findMonthEndAfter({ store: { dates } }: Market, t: number): number {
  const findLast = (month: string) => dates.findLastIndex((date) => date.startsWith(month));
  const monthEnd = findLast(dates[t]!.slice(0, 7));
  return monthEnd > t || monthEnd === dates.length - 1 ? monthEnd : findLast(dates[t + 1]!.slice(0, 7));
}

/**
 * Returns the index in euros with forwards on the dollar that end at the month end. The hedged amount is the level at
 * the last month end, or it is set again on every session.
 */
function computeMonthlyHedge(market: Market, parent: PlainRun, adjust: 'monthly' | 'daily'): PlainRun {
  const { dates, series } = market.store;
  const { base, levels } = parent;
  const computeEuros = (t: number): number => 1 / series['EURUSD']![t]!;
  const computeDayNumber = (t: number): number => Date.parse(dates[t]!) / DAY;
  /** Returns the value of a forward on a session. The forward is agreed on `from` and expires on `to`. */
  const mark = (t: number, from: number, to: number): number => {
    const tenor = computeDayNumber(to) - computeDayNumber(from);
    if (tenor <= 0) return computeEuros(t);
    const computeForwardRate = (name: string): number => 1 + ((series[name]![t]! / 100) * tenor) / 360;
    const forward = (computeEuros(t) * computeForwardRate('CASH_EUR')) / computeForwardRate('CASH');
    return computeEuros(t) + ((forward - computeEuros(t)) * (computeDayNumber(to) - computeDayNumber(t))) / tenor;
  };
  const convertLevel = (t: number): number => levels[t - base]! * computeEuros(t);
  const result = [BASE_VALUE];
  let strikeSession = base;
  let end = findMonthEndAfter(market, base);
  let set = base;
  let opening = mark(base, strikeSession, end);
  let gain = 0;
  for (let t = base + 1; t < dates.length; t++) {
    const now = mark(t, strikeSession, end);
    gain += (opening - now) / computeEuros(set);
    result.push(result[set - base]! * (convertLevel(t) / convertLevel(set) + gain));
    if (t === end && t < dates.length - 1) {
      strikeSession = t;
      end = findMonthEndAfter(market, t);
      opening = mark(t, strikeSession, end);
    } else opening = now;
    if (adjust === 'daily' || strikeSession === t) {
      set = t;
      gain = 0;
    }
  }
  return { base, levels: result, compositions: [] };
}

const createCurrencyHedged =
  (count: number): Rulebook =>
  (market, baseDate) => {
    const parent = runTotalReturnParent(market, baseDate, count);
    return {
      '-PARENT': parent,
      '-MONTHLY': computeMonthlyHedge(market, parent, 'monthly'),
      '-DAILY': computeMonthlyHedge(market, parent, 'daily'),
    };
  };

/** Holds the income of a session as cash until the last session of the month, at a rate or without interest. */
function computeHeldIncome(
  market: Market,
  { total, price }: Record<'total' | 'price', PlainRun>,
  series?: string,
): PlainRun {
  const { dates } = market.store;
  const levels = [BASE_VALUE];
  let [held, cash] = [BASE_VALUE, 0];
  for (let t = total.base + 1; t < dates.length; t++) {
    const interest = series === undefined ? 0 : computeInterest(market, series, t);
    cash = cash * (1 + interest) + held * (computeGrowth(total, t) - computeGrowth(price, t));
    held *= computeGrowth(price, t);
    levels.push(held + cash);
    if (dates[t]!.slice(0, 7) !== dates[t + 1]?.slice(0, 7)) [held, cash] = [held + cash, 0];
  }
  return { base: total.base, levels, compositions: [] };
}

const createHeldIncome =
  (count: number): Rulebook =>
  (market, baseDate) => {
    const total = runTotalReturnParent(market, baseDate, count);
    const price = runIndex(market, baseDate, { ...EVERY_QUARTER, decide: weightLargest(market, count) });
    return {
      '-PARENT': total,
      '': computeHeldIncome(market, { total, price }),
      '-INVESTED': computeHeldIncome(market, { total, price }, 'CASH'),
    };
  };

const createCollateral =
  (count: number): Rulebook =>
  (market, baseDate) => {
    const parent = runIndex(market, baseDate, { ...EVERY_QUARTER, decide: weightLargest(market, count) });
    const readDaily = (t: number): number =>
      (1 / (1 - ((market.store.series['CASH']![t - 1]! / 100) * 91) / 360)) ** (1 / 91) - 1;
    const { length } = market.store.dates;
    return {
      '-PARENT': parent,
      '-COMPOUNDED': computeLevels(
        parent.base,
        length,
        (t) => (computeGrowth(parent, t) + readDaily(t)) * (1 + readDaily(t)) ** (countDaysBetween(market, t) - 1),
      ),
      '-ADDED': computeLevels(
        parent.base,
        length,
        (t) => computeGrowth(parent, t) + (1 + readDaily(t)) ** countDaysBetween(market, t) - 1,
      ),
    };
  };

interface Part {
  readonly run: PlainRun;
  readonly weight: number;
}

/** Returns a blend of indices. Their weights drift and are set again at the end of one month of each year. */
function computeBlend(market: Market, parts: readonly Part[], month: number): PlainRun {
  const { dates } = market.store;
  const { base } = parts[0]!.run;
  const resets = new Set(rebalanceSessions(dates, { months: [month], anchor: { day: 'last' } }));
  const levels = [BASE_VALUE];
  let values = parts.map(({ weight }) => BASE_VALUE * weight);
  for (let t = base + 1; t < dates.length; t++) {
    values = values.map((value, k) => value * computeGrowth(parts[k]!.run, t));
    const level = values.reduce((a, b) => a + b, 0);
    levels.push(level);
    if (resets.has(t)) values = parts.map(({ weight }) => level * weight);
  }
  return { base, levels, compositions: [] };
}

const blend: Rulebook = (market, baseDate) => {
  const classes = createBlendParts(market, baseDate);
  const sixtyForty = [
    { run: classes['-EQUITY'], weight: 0.6 },
    { run: classes['-BONDS'], weight: 0.4 },
  ];
  const tranches = Object.fromEntries(
    [3, 6, 9, 12].map((month) => [`-T${month}`, computeBlend(market, sixtyForty, month)]),
  );
  const quarters = Object.values(tranches).map((run) => ({ run, weight: 0.25 }));
  return { ...classes, ...tranches, '': computeBlend(market, quarters, 12) };
};

export const OVERLAY_RULEBOOKS: Readonly<Record<string, Rulebook>> = {
  'risk-control': createRiskControlled(150),
  'dynamic-risk-control': createDynamicRiskControl(150),
  quanto: createQuanto(150),
  decrement: createDecrements(150),
  'leveraged-and-short': createLeveraged(150),
  'currency-hedged': createCurrencyHedged(150),
  'blend-60-40': blend,
  'income-until-review': createHeldIncome(150),
  'futures-collateral': createCollateral(150),
};
