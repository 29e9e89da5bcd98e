import { computeMean, computeMedian, rankNames, toZScores } from '../slow-market.js';
import { createValues, selectBy, groupNames, computeByGroup, createPart, type Case } from './case.js';

/** Cases of rules that select by the value of a datapoint, by group and by score. */
export const DATAPOINTS: Case[] = [
  {
    type: 'RangeFilter',
    params: { field: 'SCORE', minimum: -0.5, maximum: 1, inclusive: false },
    keeps: (slow, universe, t) =>
      selectBy(
        createValues(universe, (name) => slow.latest('SCORE', name, t)),
        (value) => value > -0.5 && value < 1,
      ),
  },
  {
    type: 'RangeFilter',
    params: { field: 'SCORE', minimum: -0.5, maximum: 1 },
    keeps: (slow, universe, t) =>
      selectBy(
        createValues(universe, (name) => slow.latest('SCORE', name, t)),
        (value) => value >= -0.5 && value <= 1,
      ),
  },
  {
    type: 'RangeFilter',
    params: { field: 'DIVIDEND_YIELD', minimum: 0.001, maximum: 0.02 },
    keeps: (slow, universe, t) =>
      selectBy(
        createValues(universe, (name) => slow.latest('DIVIDEND_YIELD', name, t)),
        (value) => value >= 0.001 && value <= 0.02,
      ),
  },
  {
    type: 'MarketCapFilter',
    params: { minimum: 5e8, maximum: 4e9 },
    keeps: (slow, universe, t) =>
      selectBy(
        createValues(universe, (name) => slow.latest('FREE_FLOAT_MARKET_CAP', name, t)),
        (value) => value >= 5e8 && value <= 4e9,
      ),
  },
  {
    type: 'MarketCapFilter',
    params: { minimum: 1e9, free_float: false },
    keeps: (slow, universe, t) =>
      selectBy(
        createValues(universe, (name) => slow.latest('MARKET_CAP', name, t)),
        (value) => value >= 1e9,
      ),
  },
  {
    type: 'LiquidityFilter',
    params: { minimum: 4e7 },
    keeps: (slow, universe, t) =>
      selectBy(
        createValues(universe, (name) => slow.over('VALUE_TRADED', name, t, 60, computeMedian)),
        (value) => value >= 4e7,
      ),
  },
  {
    type: 'LiquidityFilter',
    params: { minimum: 4e7, window: 25, statistic: 'mean' },
    keeps: (slow, universe, t) =>
      selectBy(
        createValues(universe, (name) => slow.over('VALUE_TRADED', name, t, 25, computeMean)),
        (value) => value >= 4e7,
      ),
  },
  {
    type: 'PriceFilter',
    params: { minimum: 20, maximum: 150 },
    keeps: (slow, universe, t) =>
      selectBy(
        createValues(universe, (name) => slow.latest('CLOSE', name, t)),
        (value) => value >= 20 && value <= 150,
      ),
  },
  {
    type: 'FreeFloatFilter',
    params: { minimum: 0.5 },
    keeps: (slow, universe, t) =>
      selectBy(
        createValues(universe, (name) => slow.latest('FREE_FLOAT', name, t)),
        (value) => value >= 0.5,
      ),
  },
  {
    type: 'SeasoningFilter',
    params: { sessions: 100 },
    keeps: (slow, universe, t) =>
      selectBy(
        createValues(universe, (name) => slow.latest('AGE', name, t)),
        (value) => value >= 100,
      ),
  },
  {
    type: 'HistoryFilter',
    params: { sessions: 120, coverage: 0.95 },
    keeps: (slow, universe, t) =>
      universe.filter((name) => slow.windowValues('CLOSE', name, t, 120).length >= 0.95 * 120),
  },
  {
    type: 'VolatilityFilter',
    params: { window: 60, maximum: 0.35, minimum: 0.1 },
    keeps: (slow, universe, t) =>
      selectBy(
        createValues(universe, (name) => slow.volatility(name, t, 60)),
        (value) => value >= 0.1 && value <= 0.35,
      ),
  },
  {
    type: 'MomentumFilter',
    params: { window: 120, skip: 10, minimum: -0.05 },
    keeps: (slow, universe, t) =>
      selectBy(
        createValues(universe, (name) => slow.momentum(name, t, 120, 10)),
        (value) => value >= -0.05,
      ),
  },
  {
    type: 'DividendFilter',
    params: { minimum_yield: 0.005, minimum_years: 1 },
    keeps: (slow, universe, t) =>
      selectBy(
        createValues(universe, (name) => slow.latest('DIVIDEND_YIELD', name, t)),
        (value) => value >= 0.005,
      ).filter((name) => slow.paidInYears(name, t, 1)),
  },
  {
    type: 'OnePerIssuer',
    params: { window: 30 },
    keeps(slow, universe, t) {
      const tradedValues = createValues(universe, (name) => slow.over('VALUE_TRADED', name, t, 30, computeMedian));
      const issuers = groupNames(universe, (name) => slow.reference(name, 'ISSUER') ?? `own ${name}`);
      return issuers.flatMap((names) => rankNames(createPart(tradedValues, names)).slice(0, 1));
    },
  },
  {
    type: 'GroupLimit',
    params: { field: 'SECTOR', rank_field: 'SCORE', maximum: 5 },
    keeps(slow, universe, t) {
      const scores = createValues(universe, (name) => slow.latest('SCORE', name, t));
      return computeByGroup(slow, universe, 'SECTOR').flatMap((names) =>
        rankNames(createPart(scores, names)).slice(0, 5),
      );
    },
  },
  {
    type: 'TopN',
    params: { field: 'BETA', count: 12, ascending: true },
    keeps(slow, universe, t) {
      const sessions = Array.from({ length: 252 }, (_, k) => t - 251 + k).filter((s) => s >= 0);
      const securityReturns = new Map(universe.map((name) => [name, sessions.map((s) => slow.betweenBars(name, s))]));
      const market = sessions
        .map((_, k) => [...securityReturns.values()].map((returns) => returns[k]!).filter((value) => value !== null))
        .map((all) => (all.length === 0 ? null : computeMean(all)));
      const betas = createValues(universe, (name) => {
        const pairs = securityReturns
          .get(name)!
          .flatMap((growth, k) => (growth === null || market[k] === null ? [] : [{ own: growth, all: market[k]! }]));
        if (pairs.length < 126) return null;
        const [ownMean, marketMean] = [
          computeMean(pairs.map((pair) => pair.own)),
          computeMean(pairs.map((pair) => pair.all)),
        ];
        return (
          pairs.reduce((sum, pair) => sum + (pair.own - ownMean) * (pair.all - marketMean), 0) /
          pairs.reduce((sum, pair) => sum + (pair.all - marketMean) ** 2, 0)
        );
      });
      return rankNames(betas, { ascending: true }).slice(0, 12);
    },
  },
  {
    type: 'CompositeScore',
    params: {
      terms: [
        { field: 'SCORE', weight: 2, winsorise: 1.5 },
        { field: 'CLOSE', direction: 'low' },
      ],
      count: 15,
      minimum: 0.1,
    },
    keeps(slow, universe, t) {
      const score = toZScores(createValues(universe, (name) => slow.latest('SCORE', name, t)));
      const close = toZScores(createValues(universe, (name) => slow.latest('CLOSE', name, t)));
      const clip = (value: number, limit: number) => Math.min(limit, Math.max(-limit, value));
      const total = createValues(universe, (name) =>
        score.get(name) === null || close.get(name) === null
          ? null
          : (2 * clip(score.get(name)!, 1.5) - clip(close.get(name)!, 3)) / 3,
      );
      return rankNames(total)
        .filter((name) => total.get(name)! >= 0.1)
        .slice(0, 15);
    },
  },
  {
    // The parameter contains the name of a plug-in where another rule would have a column.
    type: 'PluginFilter',
    params: { plugin: 'SCORE' },
    keeps: (slow, universe, t) =>
      universe.filter((name) => ![null, undefined, 0].includes(slow.latest('SCORE', name, t))),
  },
  {
    type: 'PluginFilter',
    params: { plugin: 'SCORE', missing: 'include' },
    keeps: (slow, universe, t) => universe.filter((name) => slow.latest('SCORE', name, t) !== 0),
  },
];
