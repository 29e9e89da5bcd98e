import { runIndex } from './index-run.js';
import type { Market } from './market.js';
import {
  type Rulebook,
  QUARTERLY,
  THIRD_FRIDAY,
  LAST_FRIDAY,
  runOnParent,
  hasBars,
  computeDeviation,
  computeMomentum,
  findMonthBefore,
} from './parents.js';
import {
  selectBuffered,
  capWeights,
  capEach,
  capByGroup,
  computeEqualRiskWeights,
  clampSymmetric,
  computeMean,
  solveMostDiversified,
  computeNormalProbability,
  listPercentiles,
  computeProportional,
  rankSecurities,
  sampleCovariance,
  sampleDeviation,
  computeScore,
  sum,
  winsoriseValues,
  applyByGroup,
  computeZScores,
} from './plain-functions.js';

export const createLowVolatility =
  (count: number): Rulebook =>
  (market, baseDate) =>
    runOnParent({
      market,
      baseDate,
      count,
      schedule: { months: [2, 5, 8, 11], anchor: THIRD_FRIDAY, reference: findMonthBefore },
      decide(parent, t) {
        const eligible = parent.filter(hasBars(market, t, 252));
        const risk = new Map(
          eligible.map((i) => [i, sampleDeviation(market.returns(i, t, 252).filter((r) => !Number.isNaN(r)))]),
        );
        const calm = rankSecurities(eligible, (i) => -risk.get(i)!).slice(0, 100);
        return computeProportional(calm, (i) => 1 / risk.get(i)!);
      },
    });

export const createMomentumScore =
  (count: number): Rulebook =>
  (market, baseDate) =>
    runOnParent({
      market,
      baseDate,
      count,
      schedule: { months: [3, 9], anchor: THIRD_FRIDAY, reference: findMonthBefore },
      decide(parent, t, members, parentWeights) {
        const risk = parent.map((i) => computeDeviation(market.returns(i, t, 252)));
        const scoreMomentum = (sessions: number) =>
          computeZScores(parent.map((i, k) => computeMomentum(market, i, { t: t - 21, sessions }) / risk[k]!));
        const [year, half] = [scoreMomentum(231), scoreMomentum(105)];
        const scores = new Map(
          parent.map((i, k) => [i, computeScore(clampSymmetric(0.5 * year[k]! + 0.5 * half[k]!, 3))]),
        );
        const order = rankSecurities(parent.filter(hasBars(market, t, 253)), (i) => scores.get(i)!);
        const securities = selectBuffered(order, members, { count: 100, enter: 80, exit: 120 });
        const raw = computeProportional(securities, (i) => market.floatCap(i, t) * scores.get(i)!);
        return capEach(raw, (i) => Math.min(0.09, 3 * parentWeights.get(i)!));
      },
    });

export interface Ratio {
  readonly name: string;
  readonly sign: 1 | -1;
}

/**
 * Returns the mean z-score of three ratios. Each ratio is limited to its percentiles, and its sign is chosen so that
 * high is good.
 */
export function computeCompositeScores(
  market: Market,
  securities: readonly number[],
  { t, ratios, tails, most, by }: Composite,
): Map<number, number> {
  const groups = securities.map((i) => (by === undefined ? '' : market.text(i, t, by)));
  const all = ratios.map(({ name, sign }) => {
    const values = winsoriseValues(
      securities.map((i) => market.fact(i, t, name)),
      tails,
      1 - tails,
    );
    return applyByGroup(values, groups, computeZScores).map((z) => sign * z);
  });
  return new Map(
    securities.map((i, k) => [i, clampSymmetric(sum(all.map((scores) => scores[k]!)) / all.length, most)]),
  );
}

export interface Composite {
  readonly t: number;
  readonly ratios: readonly Ratio[];
  readonly tails: number;
  readonly most: number;
  readonly by?: string;
}

export const createComposite =
  (count: number, ratios: readonly Ratio[]): Rulebook =>
  (market, baseDate) =>
    runOnParent({
      market,
      baseDate,
      count,
      schedule: { months: [6, 12], anchor: THIRD_FRIDAY, reference: findMonthBefore },
      decide(parent, t, members) {
        const z = computeCompositeScores(market, parent, { t, ratios, tails: 0.025, most: 4 });
        const securities = selectBuffered(
          rankSecurities(parent, (i) => computeScore(z.get(i)!)),
          members,
          { count: 100, enter: 80, exit: 120 },
        );
        const raw = computeProportional(securities, (i) => market.floatCap(i, t) * computeScore(z.get(i)!));
        return capByGroup(raw, (i) => market.text(i, t, 'SECTOR'), { cap: 0.05, groupCap: 0.4 });
      },
    });

export const createSectorNeutral =
  (count: number): Rulebook =>
  (market, baseDate) =>
    runOnParent({
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
        const z = computeCompositeScores(market, parent, { t, ratios, tails: 0.05, most: 3, by: 'SECTOR' });
        const readSector = (i: number) => market.text(i, t, 'SECTOR');
        const rank = applyByGroup(
          parent.map((i) => z.get(i)!),
          parent.map(readSector),
          listPercentiles,
        );
        const securities = parent.filter((_, k) => rank[k]! >= 0.5);
        const computeScoredSize = (i: number) => market.floatCap(i, t) * computeScore(z.get(i)!);
        const computeSectorCap = (name: string) =>
          sum(parent.filter((i) => readSector(i) === name).map((i) => market.floatCap(i, t)));
        const computeSectorSize = (name: string) =>
          sum(securities.filter((i) => readSector(i) === name).map(computeScoredSize));
        return capWeights(
          computeProportional(
            securities,
            (i) => (computeScoredSize(i) / computeSectorSize(readSector(i))) * computeSectorCap(readSector(i)),
          ),
          0.05,
        );
      },
    });

export const createFundamentalWeights =
  (count: number): Rulebook =>
  (market, baseDate) => ({
    '': runIndex(market, baseDate, {
      months: [3],
      anchor: THIRD_FRIDAY,
      decide(t) {
        const all = market.listed(t);
        const readPositive = (i: number, name: string) => Math.max(market.fact(i, t, name) || 0, 0);
        const totals = ['SALES_5Y', 'CASH_FLOW_5Y', 'DIVIDENDS_5Y', 'BOOK_VALUE'].map((name) => ({
          name,
          total: sum(all.map((i) => readPositive(i, name))),
        }));
        const computeMeanFact = (i: number) =>
          computeMean(totals.map(({ name, total }) => readPositive(i, name) / total));
        return computeProportional(rankSecurities(all, computeMeanFact).slice(0, count), computeMeanFact);
      },
    }),
  });

export const factorTilts: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    months: [3, 9],
    anchor: THIRD_FRIDAY,
    decide(t) {
      const isKnown = (i: number, name: string) => !Number.isNaN(market.fact(i, t, name));
      const all = market
        .listed(t)
        .filter(hasBars(market, t, 253))
        .filter((i) => isKnown(i, 'BOOK_TO_PRICE') && isKnown(i, 'RETURN_ON_EQUITY'));
      const tiltValues = (values: number[], sign: number) =>
        computeZScores(values).map((z) => computeNormalProbability(sign * clampSymmetric(z, 3)));
      const tilts = [
        tiltValues(
          all.map((i) => market.fact(i, t, 'BOOK_TO_PRICE')),
          1,
        ),
        tiltValues(
          all.map((i) => market.fact(i, t, 'RETURN_ON_EQUITY')),
          1,
        ),
        tiltValues(
          all.map((i) => computeDeviation(market.returns(i, t, 252))),
          -1,
        ),
      ];
      const size = new Map(
        all.map((i, k) => [i, tilts.reduce((product, tilt) => product * tilt[k]!, market.floatCap(i, t))]),
      );
      return computeProportional(all, (i) => size.get(i)!);
    },
  }),
});

export const createStylePair =
  (count: number): Rulebook =>
  (market, baseDate) => {
    const listProbabilities = (parent: number[], t: number): Map<number, number> => {
      const rank = (name: string) => listPercentiles(parent.map((i) => market.fact(i, t, name)));
      const [book, forecast, sales] = [rank('BOOK_TO_PRICE'), rank('FORECAST_GROWTH'), rank('SALES_GROWTH')];
      const scores = parent.map((_, k) => {
        const result = 0.5 * book[k]! + 0.25 * (1 - forecast[k]!) + 0.25 * (1 - sales[k]!);
        return Number.isNaN(result) ? 0.5 : result;
      });
      const place = listPercentiles(scores);
      return new Map(
        parent.map((i, k) => {
          const p = Math.min(1, Math.max(0, 2 * place[k]! - 0.5));
          return [i, p <= 0.05 ? 0 : p >= 0.95 ? 1 : p];
        }),
      );
    };
    const createStyle = (computeShare: (probability: number) => number) =>
      runOnParent({
        market,
        baseDate,
        count,
        schedule: { months: [6], anchor: LAST_FRIDAY },
        decide(parent, t) {
          const p = listProbabilities(parent, t);
          return computeProportional(parent, (i) => market.floatCap(i, t) * computeShare(p.get(i)!));
        },
      });
    const value = createStyle((p) => p);
    return { '-PARENT': value['-PARENT']!, '-GROWTH': createStyle((p) => 1 - p)['']!, '-VALUE': value['']! };
  };

export const selectDividend: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    months: [3],
    anchor: THIRD_FRIDAY,
    dividends: 'total',
    decide(t, members) {
      const all = market.listed(t);
      const yields = new Map(all.map((i) => [i, market.yield(i, t)]));
      const formatCountry = (i: number) => market.text(i, t, 'COUNTRY');
      const countries = new Map(
        [...new Set(all.map(formatCountry))].map((name) => [
          name,
          computeMean(all.filter((i) => formatCountry(i) === name).map((i) => yields.get(i)!)),
        ]),
      );
      const eligible = all.filter((i) => {
        const payout = market.fact(i, t, 'PAYOUT_RATIO');
        const payoutMax = members?.has(i) === true ? 0.8 : 0.6;
        return yields.get(i)! > 0 && payout >= 0 && payout <= payoutMax && market.countYearsOfGrowth(i, t) >= 1;
      });
      const order = rankSecurities(eligible, (i) => yields.get(i)! / countries.get(formatCountry(i))!);
      return capWeights(
        computeProportional(selectBuffered(order, members, { count: 30, enter: 30, exit: 60 }), (i) => yields.get(i)!),
        0.15,
      );
    },
  }),
});

export const runThematic: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    months: [5, 11],
    anchor: THIRD_FRIDAY,
    decide(t, members) {
      const securities = market
        .listed(t)
        .filter((i) => market.fact(i, t, 'THEME_REVENUE') >= (members?.has(i) === true ? 0.2 : 0.25));
      return capWeights(
        computeProportional(securities, (i) => market.floatCap(i, t) * market.fact(i, t, 'THEME_SCORE')),
        0.05,
      );
    },
  }),
});

/**
 * Returns the thirty largest securities with a full history. Also returns the covariance of a year of their returns
 * with dividends.
 */
export function selectThirtyLargest(market: Market, t: number) {
  const securities = rankSecurities(market.listed(t).filter(hasBars(market, t, 253)), (i) =>
    market.floatCap(i, t),
  ).slice(0, 30);
  const returns = securities.map((i) => market.returns(i, t, 252, true));
  return { held: securities, covariance: sampleCovariance(returns[0]!.map((_, s) => returns.map((row) => row[s]!))) };
}

export const runEqualRisk: Rulebook = (market, baseDate) => ({
  '': runIndex(market, baseDate, {
    months: QUARTERLY,
    anchor: { day: 'last' },
    decide(t) {
      const { held: securities, covariance } = selectThirtyLargest(market, t);
      const weights = computeEqualRiskWeights(covariance);
      return new Map(securities.map((i, k) => [i, weights[k]!]));
    },
  }),
});

export const runMaximumDiversification: Rulebook = (market, baseDate) => {
  const schedule = { months: QUARTERLY, anchor: { day: 'last' } } as const;
  return {
    '-PARENT': runIndex(market, baseDate, {
      ...schedule,
      decide: (t) => computeProportional(selectThirtyLargest(market, t).held, (i) => market.floatCap(i, t)),
    }),
    '': runIndex(market, baseDate, {
      ...schedule,
      decide(t) {
        const { held: securities, covariance } = selectThirtyLargest(market, t);
        const weights = solveMostDiversified(covariance);
        return new Map(securities.flatMap((i, k) => (weights[k]! > 0 ? [[i, weights[k]!]] : [])));
      },
    }),
  };
};

/** Standardises values within percentiles; a missing value counts as the mean. */
const standardise = (values: readonly number[]): number[] =>
  computeZScores(winsoriseValues(values, 0.05, 0.95)).map((z) => (Number.isNaN(z) ? 0 : z));

const INCLUSION_FACTORS = [0, 0.35, 0.5, 0.65, 1];

/** Returns the value inclusion factor of a security by its place in the plane of both scores. */
function computeInclusion(value: number, growth: number): number {
  if (value > 0 && growth <= 0) return 1;
  if (value <= 0 && growth > 0) return 0;
  const share = (value > 0 ? value ** 2 : growth ** 2) / (value ** 2 + growth ** 2);
  return INCLUSION_FACTORS[[0.2, 0.4, 0.6, 0.8].filter((edge) => share > edge).length]!;
}

export const createValueGrowth =
  (count: number): Rulebook =>
  (market, baseDate) => {
    const createStyle = (computeShare: (inclusion: number) => number) => {
      let inclusions = new Map<number, number>();
      return runOnParent({
        market,
        baseDate,
        count,
        schedule: { months: [5, 11], anchor: { day: 'last' } },
        decide(parent, t) {
          const scores = (names: readonly string[]): number[] => {
            const all = names.map((name) =>
              standardise(parent.map((i) => (name === 'YIELD' ? market.yield(i, t) : market.fact(i, t, name)))),
            );
            return parent.map((_, k) => sum(all.map((one) => one[k]!)) / names.length);
          };
          const value = scores(['BOOK_TO_PRICE', 'EARNINGS_TO_PRICE', 'YIELD']);
          const growth = scores(['FORECAST_GROWTH', 'SALES_GROWTH']);
          const before = inclusions;
          inclusions = new Map(
            parent.map((i, k) => {
              const isInBuffer = Math.abs(value[k]!) < 0.2 || Math.abs(growth[k]!) < 0.2;
              const kept = isInBuffer ? before.get(i) : undefined;
              return [i, kept ?? computeInclusion(value[k]!, growth[k]!)];
            }),
          );
          return computeProportional(parent, (i) => market.floatCap(i, t) * computeShare(inclusions.get(i)!));
        },
      });
    };
    const value = createStyle((inclusion) => inclusion);
    return {
      '-PARENT': value['-PARENT']!,
      '-GROWTH': createStyle((inclusion) => 1 - inclusion)['']!,
      '-VALUE': value['']!,
    };
  };
