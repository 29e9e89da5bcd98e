import type { Market } from './market.js';
import { runIndex, type Anchor, type PlainRun, type Terms } from './index-run.js';
import {
  buffered,
  capped,
  cappedByGroup,
  covering,
  equalRiskWeights,
  limited,
  mean,
  mostDiversifiedWeights,
  normalProbability,
  percentiles,
  proportional,
  ranked,
  sampleCovariance,
  sampleDeviation,
  score,
  sum,
  winsorised,
  within,
  zScores,
  type Weights,
} from './plain.js';

/** Runs by what follows the stem of their ids; the empty word is the stem itself. */
export type Runs = Readonly<Record<string, PlainRun>>;

/** The rules of a published methodology, from the raw data. */
export type Rulebook = (market: Market, baseDate: string) => Runs;

const QUARTERLY = [3, 6, 9, 12];
const THIRD_FRIDAY: Anchor = { day: 'weekday', weekday: 5, nth: 3 };
const LAST_FRIDAY: Anchor = { day: 'weekday', weekday: 5, nth: 5 };
const EVERY_QUARTER = { months: QUARTERLY, anchor: THIRD_FRIDAY };

type Schedule = Pick<Terms, 'months' | 'anchor' | 'lag' | 'dividends'>;

/** The largest securities by free-float market capitalisation with a buffer of a fifth. */
const largest =
  (market: Market, count: number, { enter = 0.8 * count, exit = 1.2 * count } = {}): Terms['decide'] =>
  (t, members) => {
    const floatCap = (i: number) => market.floatCap(i, t);
    return proportional(buffered(ranked(market.listed(t), floatCap), members, { count, enter, exit }), floatCap);
  };

interface OnParent {
  readonly market: Market;
  readonly baseDate: string;
  readonly schedule: Schedule;
  readonly count: number;
  decide(securities: number[], t: number, members: ReadonlySet<number> | null): Weights;
}

/** A parent of the largest securities, and an index of its members decided on the same days. */
function onParent({ market, baseDate, schedule, count, decide }: OnParent): Runs {
  const membersOn = new Map<number, number[]>();
  const parentRule = largest(market, count);
  const PARENT = runIndex(market, baseDate, {
    ...schedule,
    dividends: 'price',
    decide(t, members) {
      const weights = parentRule(t, members);
      membersOn.set(t, [...weights.keys()].toSorted((a, b) => a - b));
      return weights;
    },
  });
  const run = runIndex(market, baseDate, { ...schedule, decide: (t, members) => decide(membersOn.get(t)!, t, members) });
  return { '-PARENT': PARENT, '': run };
}

const hasBars = (market: Market, t: number, sessions: number) => (i: number) =>
  !Number.isNaN(market.store.close[i]![t - sessions + 1]!);

const committee: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    ...EVERY_QUARTER,
    decide: (t) => proportional(market.members('COMMITTEE', t), (i) => market.floatCap(i, t)),
  }),
});

const equalWeight: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    ...EVERY_QUARTER,
    lag: 5,
    decide: (t) => proportional(market.members('COMMITTEE', t), () => 1),
  }),
});

const lowVolatility =
  (count: number): Rulebook =>
  (market, baseDate) =>
    onParent({
      market,
      baseDate,
      count,
      schedule: { months: [2, 5, 8, 11], anchor: THIRD_FRIDAY, lag: 12 },
      decide(parent, t) {
        const eligible = parent.filter(hasBars(market, t, 252));
        const risk = new Map(eligible.map((i) => [i, sampleDeviation(market.returns(i, t, 252).filter((r) => !Number.isNaN(r)))]));
        const calm = ranked(eligible, (i) => -risk.get(i)!).slice(0, 100);
        return proportional(calm, (i) => 1 / risk.get(i)!);
      },
    });

const risingDividends: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    months: [1, 4, 7, 10],
    anchor: { day: 'last' },
    dividends: 'total',
    decide(t) {
      const median = (values: number[]) => {
        const sorted = values.filter((value) => !Number.isNaN(value)).toSorted((a, b) => a - b);
        const half = sorted.length / 2;
        if (sorted.length < 32) return NaN; // Half of the 63 sessions are needed.
        return Number.isInteger(half) ? (sorted[half - 1]! + sorted[half]!) / 2 : sorted[Math.floor(half)]!;
      };
      const eligible = market
        .listed(t)
        .filter((i) => market.floatCap(i, t) >= 3e9 && median(market.traded(i, t, 63)) >= 5e6);
      const rising = (years: number) => eligible.filter((i) => market.yearsOfGrowth(i, t) >= years);
      const held = rising(25).length >= 40 ? rising(25) : rising(20);
      const equal = proportional(held, () => 1);
      return cappedByGroup(equal, (i) => market.text(i, t, 'SECTOR'), { cap: 1, groupCap: 0.3 });
    },
  }),
});

const momentumScore =
  (count: number): Rulebook =>
  (market, baseDate) =>
    onParent({
      market,
      baseDate,
      count,
      schedule: { months: [3, 9], anchor: THIRD_FRIDAY, lag: 13 },
      decide(parent, t, members) {
        const risk = parent.map((i) => deviationOf(market.returns(i, t, 252)));
        const over = (sessions: number) =>
          zScores(parent.map((i, k) => momentumOf(market, i, { t: t - 21, sessions }) / risk[k]!));
        const [year, half] = [over(231), over(105)];
        const scores = new Map(parent.map((i, k) => [i, score(limited(0.5 * year[k]! + 0.5 * half[k]!, 3))]));
        const order = ranked(parent.filter(hasBars(market, t, 253)), (i) => scores.get(i)!);
        const held = buffered(order, members, { count: 100, enter: 80, exit: 120 });
        return capped(proportional(held, (i) => market.floatCap(i, t) * scores.get(i)!), 0.09);
      },
    });

/** Deviation of the returns that are there; missing where they are fewer than half. */
function deviationOf(returns: readonly number[]): number {
  const known = returns.filter((value) => !Number.isNaN(value));
  return known.length < returns.length / 2 ? NaN : sampleDeviation(known);
}

function momentumOf(market: Market, i: number, { t, sessions }: { readonly t: number; readonly sessions: number }): number {
  const growths = market.returns(i, t, sessions).filter((value) => !Number.isNaN(value));
  return growths.length < sessions / 2 ? NaN : growths.reduce((product, value) => product * (1 + value), 1) - 1;
}

interface Ratio {
  readonly name: string;
  readonly sign: 1 | -1;
}

/** Mean of the z-scores of three ratios that are limited to percentiles of their own, turned so that high is good. */
function compositeScores(
  market: Market,
  securities: readonly number[],
  { t, ratios, tails, most, by }: Composite,
): Map<number, number> {
  const groups = securities.map((i) => (by === undefined ? '' : market.text(i, t, by)));
  const all = ratios.map(({ name, sign }) => {
    const values = winsorised(
      securities.map((i) => market.fact(i, t, name)),
      tails,
      1 - tails,
    );
    return within(values, groups, zScores).map((z) => sign * z);
  });
  return new Map(securities.map((i, k) => [i, limited(sum(all.map((scores) => scores[k]!)) / all.length, most)]));
}

interface Composite {
  readonly t: number;
  readonly ratios: readonly Ratio[];
  readonly tails: number;
  readonly most: number;
  readonly by?: string;
}

const composite =
  (count: number, ratios: readonly Ratio[]): Rulebook =>
  (market, baseDate) =>
    onParent({
      market,
      baseDate,
      count,
      schedule: { months: [6, 12], anchor: THIRD_FRIDAY, lag: 13 },
      decide(parent, t, members) {
        const z = compositeScores(market, parent, { t, ratios, tails: 0.025, most: 4 });
        const held = buffered(
          ranked(parent, (i) => score(z.get(i)!)),
          members,
          { count: 100, enter: 80, exit: 120 },
        );
        const raw = proportional(held, (i) => market.floatCap(i, t) * score(z.get(i)!));
        return cappedByGroup(raw, (i) => market.text(i, t, 'SECTOR'), { cap: 0.05, groupCap: 0.4 });
      },
    });

const sectorNeutral =
  (count: number): Rulebook =>
  (market, baseDate) =>
    onParent({
      market,
      baseDate,
      count,
      schedule: { months: [5, 11], anchor: THIRD_FRIDAY, lag: 9 },
      decide(parent, t) {
        const ratios: Ratio[] = [
          { name: 'RETURN_ON_EQUITY', sign: 1 },
          { name: 'FINANCIAL_LEVERAGE', sign: -1 },
          { name: 'EARNINGS_VARIABILITY', sign: -1 },
        ];
        const z = compositeScores(market, parent, { t, ratios, tails: 0.05, most: 3, by: 'SECTOR' });
        const sector = (i: number) => market.text(i, t, 'SECTOR');
        const rank = within(
          parent.map((i) => z.get(i)!),
          parent.map(sector),
          percentiles,
        );
        const held = parent.filter((_, k) => rank[k]! >= 0.5);
        const size = (i: number) => market.floatCap(i, t) * score(z.get(i)!);
        const sectorCap = (name: string) => sum(parent.filter((i) => sector(i) === name).map((i) => market.floatCap(i, t)));
        const sectorSize = (name: string) => sum(held.filter((i) => sector(i) === name).map(size));
        return capped(
          proportional(held, (i) => (size(i) / sectorSize(sector(i))) * sectorCap(sector(i))),
          0.05,
        );
      },
    });

const bestInClass =
  (count: number): Rulebook =>
  (market, baseDate) =>
    onParent({
      market,
      baseDate,
      count,
      schedule: { months: [5], anchor: THIRD_FRIDAY },
      decide(parent, t, members) {
        const floatCap = (i: number) => market.floatCap(i, t);
        const eligible = parent.filter(
          (i) => market.fact(i, t, 'CONTROVERSY_SCORE') >= (members?.has(i) === true ? 1 : 3),
        );
        const total = sum(eligible.map(floatCap));
        const rating = (i: number) => market.fact(i, t, 'ESG_RATING') + floatCap(i) / total;
        const sectors = new Set(eligible.map((i) => market.text(i, t, 'SECTOR')));
        const held = [...sectors].flatMap((sector) =>
          covering(
            ranked(
              eligible.filter((i) => market.text(i, t, 'SECTOR') === sector),
              rating,
            ),
            floatCap,
            members,
            { lower: 0.35, upper: 0.65, target: 0.5 },
          ),
        );
        return proportional(held, floatCap);
      },
    });

const largest100: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    ...EVERY_QUARTER,
    lag: 13,
    decide(t, members) {
      const order = ranked(market.listed(t), (i) => market.cap(i, t));
      return proportional(buffered(order, members, { count: 100, enter: 90, exit: 110 }), (i) => market.floatCap(i, t));
    },
  }),
});

const fundamentalWeights =
  (count: number): Rulebook =>
  (market, baseDate) => ({
    '': runIndex(market, baseDate, {
      months: [3],
      anchor: THIRD_FRIDAY,
      decide(t) {
        const all = market.listed(t);
        const positive = (i: number, name: string) => Math.max(market.fact(i, t, name) || 0, 0);
        const totals = ['SALES_5Y', 'CASH_FLOW_5Y', 'DIVIDENDS_5Y', 'BOOK_VALUE'].map((name) => ({
          name,
          total: sum(all.map((i) => positive(i, name))),
        }));
        const value = (i: number) => mean(totals.map(({ name, total }) => positive(i, name) / total));
        return proportional(ranked(all, value).slice(0, count), value);
      },
    }),
  });

const factorTilts: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    months: [3, 9],
    anchor: THIRD_FRIDAY,
    decide(t) {
      const known = (i: number, name: string) => !Number.isNaN(market.fact(i, t, name));
      const all = market
        .listed(t)
        .filter(hasBars(market, t, 253))
        .filter((i) => known(i, 'BOOK_TO_PRICE') && known(i, 'RETURN_ON_EQUITY'));
      const tilt = (values: number[], sign: number) =>
        zScores(values).map((z) => normalProbability(sign * limited(z, 3)));
      const tilts = [
        tilt(all.map((i) => market.fact(i, t, 'BOOK_TO_PRICE')), 1),
        tilt(all.map((i) => market.fact(i, t, 'RETURN_ON_EQUITY')), 1),
        tilt(all.map((i) => deviationOf(market.returns(i, t, 252))), -1),
      ];
      const size = new Map(all.map((i, k) => [i, tilts.reduce((product, own) => product * own[k]!, market.floatCap(i, t))]));
      return proportional(all, (i) => size.get(i)!);
    },
  }),
});

const sizeSegments =
  (count: number): Rulebook =>
  (market, baseDate) => {
    const schedule = { months: [6], anchor: LAST_FRIDAY };
    const wholeAt = (t: number) => ranked(market.listed(t), (i) => market.cap(i, t)).slice(0, count);
    const largeOn = new Map<number, number[]>();
    return {
      '-ALL': runIndex(market, baseDate, { ...schedule, decide: (t) => proportional(wholeAt(t), (i) => market.floatCap(i, t)) }),
      '-LARGE': runIndex(market, baseDate, {
        ...schedule,
        decide(t, members) {
          const bands = { lower: 0.875, upper: 0.925, target: 0.9 };
          largeOn.set(t, covering(wholeAt(t), (i) => market.cap(i, t), members, bands));
          return proportional(largeOn.get(t)!, (i) => market.floatCap(i, t));
        },
      }),
      '-SMALL': runIndex(market, baseDate, {
        ...schedule,
        decide: (t) =>
          proportional(
            wholeAt(t).filter((i) => !largeOn.get(t)!.includes(i)),
            (i) => market.floatCap(i, t),
          ),
      }),
    };
  };

const stylePair =
  (count: number): Rulebook =>
  (market, baseDate) => {
    const probabilities = (parent: number[], t: number): Map<number, number> => {
      const rank = (name: string) => percentiles(parent.map((i) => market.fact(i, t, name)));
      const [book, forecast, sales] = [rank('BOOK_TO_PRICE'), rank('FORECAST_GROWTH'), rank('SALES_GROWTH')];
      const scores = parent.map((_, k) => {
        const found = 0.5 * book[k]! + 0.25 * (1 - forecast[k]!) + 0.25 * (1 - sales[k]!);
        return Number.isNaN(found) ? 0.5 : found;
      });
      const place = percentiles(scores);
      return new Map(
        parent.map((i, k) => {
          const p = Math.min(1, Math.max(0, 2 * place[k]! - 0.5));
          return [i, p <= 0.05 ? 0 : p >= 0.95 ? 1 : p];
        }),
      );
    };
    const style = (shareOf: (probability: number) => number) =>
      onParent({
        market,
        baseDate,
        count,
        schedule: { months: [6], anchor: LAST_FRIDAY },
        decide(parent, t) {
          const p = probabilities(parent, t);
          return proportional(parent, (i) => market.floatCap(i, t) * shareOf(p.get(i)!));
        },
      });
    const value = style((p) => p);
    return { '-PARENT': value['-PARENT']!, '-GROWTH': style((p) => 1 - p)['']!, '-VALUE': value['']! };
  };

const fixedCount =
  (count: number, ranks: { readonly enter: number; readonly exit: number }): Rulebook =>
  (market, baseDate) => {
    const rule = largest(market, count, ranks);
    return {
      '': runIndex(market, baseDate, {
        ...EVERY_QUARTER,
        dividends: 'total',
        decide: (t, members) => capped(rule(t, members), 0.2),
      }),
    };
  };

const selectDividend: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    months: [3],
    anchor: THIRD_FRIDAY,
    dividends: 'total',
    decide(t, members) {
      const all = market.listed(t);
      const yields = new Map(all.map((i) => [i, market.yield(i, t)]));
      const country = (i: number) => market.text(i, t, 'COUNTRY');
      const countries = new Map(
        [...new Set(all.map(country))].map((name) => [
          name,
          mean(all.filter((i) => country(i) === name).map((i) => yields.get(i)!)),
        ]),
      );
      const eligible = all.filter((i) => {
        const payout = market.fact(i, t, 'PAYOUT_RATIO');
        const most = members?.has(i) === true ? 0.8 : 0.6;
        return yields.get(i)! > 0 && payout >= 0 && payout <= most && market.yearsOfGrowth(i, t) >= 1;
      });
      const order = ranked(eligible, (i) => yields.get(i)! / countries.get(country(i))!);
      return capped(
        proportional(buffered(order, members, { count: 30, enter: 30, exit: 60 }), (i) => yields.get(i)!),
        0.15,
      );
    },
  }),
});

const midCap50: Rulebook = (market, baseDate) => {
  const schedule = { months: [3, 9], anchor: THIRD_FRIDAY, dividends: 'total' } as const;
  const leaders = largest(market, 40, { enter: 35, exit: 47 });
  const leadersOn = new Map<number, ReadonlySet<number>>();
  return {
    '-LEADERS': runIndex(market, baseDate, {
      ...schedule,
      decide(t, members) {
        const weights = leaders(t, members);
        leadersOn.set(t, new Set(weights.keys()));
        return capped(weights, 0.1);
      },
    }),
    '': runIndex(market, baseDate, {
      ...schedule,
      decide(t, members) {
        const floatCap = (i: number) => market.floatCap(i, t);
        const others = ranked(market.listed(t), floatCap).filter((i) => !leadersOn.get(t)!.has(i));
        return capped(proportional(buffered(others, members, { count: 50, enter: 40, exit: 60 }), floatCap), 0.1);
      },
    }),
  };
};

const priceAverage: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    months: Array.from({ length: 12 }, (_, k) => k + 1),
    anchor: { day: 'last' },
    basket: () => 1,
    decide: (t) => proportional(market.members('AVERAGE', t), (i) => market.store.close[i]![t]!),
  }),
});

const adjustedAverage: Rulebook = (market, baseDate) => {
  const factor = (i: number, t: number) => market.fact(i, t, 'PRICE_FACTOR');
  return {
    '': runIndex(market, baseDate, {
      months: [4, 10],
      anchor: { day: 'first' },
      basket: factor,
      splitsKeepWeight: true,
      decide: (t) => proportional(market.members('AVERAGE', t), (i) => market.store.close[i]![t]! * factor(i, t)),
    }),
  };
};

const QUOTAS: Readonly<Record<string, number>> = {
  Financials: 14,
  Technology: 16,
  'Health Care': 8,
  Industrials: 10,
  Consumer: 14,
  Energy: 6,
  Utilities: 6,
  'Real Estate': 6,
};

const industryQuotas: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    months: QUARTERLY,
    anchor: { day: 'weekday', weekday: 5, nth: 1 },
    decide(t) {
      const order = ranked(market.listed(t), (i) => market.floatCap(i, t));
      const held = Object.entries(QUOTAS).flatMap(([sector, count]) =>
        order.filter((i) => market.text(i, t, 'SECTOR') === sector).slice(0, count),
      );
      return capped(proportional(held, (i) => market.floatCap(i, t)), 0.08);
    },
  }),
});

/** Free float up to 15 % rounded up to a percent, then to 20, 30 ... 80 and 100 %. */
function band(float: number): number {
  const percent = Math.round(float * 1e6) / 1e4;
  if (percent <= 15) return Math.ceil(percent) / 100;
  if (percent <= 20) return 0.2;
  return percent > 80 ? 1 : (Math.ceil(percent / 10) * 10) / 100;
}

const floatBands =
  (count: number): Rulebook =>
  (market, baseDate) => ({
    '': runIndex(market, baseDate, {
      months: [6, 12],
      anchor: { day: 'weekday', weekday: 5, nth: 2 },
      decide(t, members) {
        const all = market.listed(t);
        const yearly = (values: number[]) => {
          const known = values.filter((value) => !Number.isNaN(value));
          return known.length < 126 ? NaN : mean(known);
        };
        const liquidity = percentiles(all.map((i) => yearly(market.traded(i, t, 252))));
        const eligible = all.filter((i, k) => liquidity[k]! >= (members?.has(i) === true ? 0.4 : 0.5));
        const caps = (i: number) => Array.from({ length: 252 }, (_, k) => market.cap(i, t - 251 + k));
        const order = ranked(eligible, (i) => yearly(caps(i)));
        return proportional(
          buffered(order, members, { count, enter: 0.8 * count, exit: 1.2 * count }),
          (i) => market.cap(i, t) * band(market.store.float[i]![t]!),
        );
      },
    }),
  });

const thematic: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    months: [5, 11],
    anchor: THIRD_FRIDAY,
    decide(t, members) {
      const held = market
        .listed(t)
        .filter((i) => market.fact(i, t, 'THEME_REVENUE') >= (members?.has(i) === true ? 0.2 : 0.25));
      return capped(
        proportional(held, (i) => market.floatCap(i, t) * market.fact(i, t, 'THEME_SCORE')),
        0.05,
      );
    },
  }),
});

/** The thirty largest securities with a full history, and the covariance of a year of their returns with dividends. */
function thirtyLargest(market: Market, t: number) {
  const held = ranked(market.listed(t).filter(hasBars(market, t, 253)), (i) => market.floatCap(i, t)).slice(0, 30);
  const returns = held.map((i) => market.returns(i, t, 252, true));
  return { held, covariance: sampleCovariance(returns[0]!.map((_, s) => returns.map((row) => row[s]!))) };
}

const equalRisk: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    months: QUARTERLY,
    anchor: { day: 'last' },
    decide(t) {
      const { held, covariance } = thirtyLargest(market, t);
      const weights = equalRiskWeights(covariance);
      return new Map(held.map((i, k) => [i, weights[k]!]));
    },
  }),
});

const maximumDiversification: Rulebook = (market, baseDate) => {
  const schedule = { months: QUARTERLY, anchor: { day: 'last' } } as const;
  return {
    '-PARENT': runIndex(market, baseDate, {
      ...schedule,
      decide: (t) => proportional(thirtyLargest(market, t).held, (i) => market.floatCap(i, t)),
    }),
    '': runIndex(market, baseDate, {
      ...schedule,
      decide(t) {
        const { held, covariance } = thirtyLargest(market, t);
        const weights = mostDiversifiedWeights(covariance);
        return new Map(held.flatMap((i, k) => (weights[k]! > 0 ? [[i, weights[k]!]] : [])));
      },
    }),
  };
};

/** Assets of one class by free-float market capitalisation, with dividends. */
const assetClass = (market: Market, baseDate: string, name: string): PlainRun =>
  runIndex(market, baseDate, {
    ...EVERY_QUARTER,
    dividends: 'total',
    decide: (t) =>
      proportional(
        market.listed(t).filter((i) => market.text(i, t, 'ASSET_CLASS') === name),
        (i) => market.floatCap(i, t),
      ),
  });

/** Classes of assets of the blend. */
export const blendParts = (market: Market, baseDate: string) => ({
  '-EQUITY': assetClass(market, baseDate, 'Equity'),
  '-BONDS': assetClass(market, baseDate, 'Bond'),
});

/** Large securities with dividends, beneath overlays. */
export const totalReturnParent = (market: Market, baseDate: string, count: number): PlainRun =>
  runIndex(market, baseDate, { ...EVERY_QUARTER, dividends: 'total', decide: largest(market, count) });

/** Rules by the id of their template, with the numbers of securities of this store. */
export const RULEBOOKS: Readonly<Record<string, Rulebook>> = {
  'committee-large-cap': committee,
  'equal-weight': equalWeight,
  'low-volatility': lowVolatility(150),
  'rising-dividends': risingDividends,
  'momentum-score': momentumScore(150),
  'quality-composite': composite(150, [
    { name: 'RETURN_ON_EQUITY', sign: 1 },
    { name: 'ACCRUALS_RATIO', sign: -1 },
    { name: 'FINANCIAL_LEVERAGE', sign: -1 },
  ]),
  'value-composite': composite(150, [
    { name: 'BOOK_TO_PRICE', sign: 1 },
    { name: 'EARNINGS_TO_PRICE', sign: 1 },
    { name: 'SALES_TO_PRICE', sign: 1 },
  ]),
  'quality-sector-neutral': sectorNeutral(150),
  'best-in-class': bestInClass(150),
  'largest-100': largest100,
  'fundamental-weights': fundamentalWeights(100),
  'factor-tilts': factorTilts,
  'size-segments': sizeSegments(200),
  'style-pair': stylePair(150),
  'fixed-count-600': fixedCount(120, { enter: 110, exit: 150 }),
  'select-dividend': selectDividend,
  'mid-cap-50': midCap50,
  'price-average': priceAverage,
  'price-average-adjusted': adjustedAverage,
  'industry-quotas': industryQuotas,
  'float-bands': floatBands(60),
  'thematic-score': thematic,
  'equal-risk': equalRisk,
  'maximum-diversification': maximumDiversification,
};
