import { parseExpression } from '#domain/datapoints/expression-text.js';
import { describe, expect, test } from 'vitest';
import { WEIGHTING_CLASSES } from '#domain/definition/weighting-classes.js';
import { LINKAGES } from '#kernels/weighting/hierarchical-risk-parity.js';
import { computePlainOrder, computePlainWeights, createPoints } from '../../kernels/weighting/plain-hierarchy.js';
import { alignDays, computeNormalCdf, createGeneratedMarket, createTableMarket, weightBy } from './rule-market.js';
import { computeDeviation, computeMean, rankNames, slowMarket, toZScores, type SlowMarket } from './slow-market.js';

type RawWeights = Map<string, number>;

interface Case {
  readonly type: string;
  readonly params: Record<string, unknown>;
  raw(slow: SlowMarket, universe: readonly string[], t: number): RawWeights;
}

const fill = (universe: readonly string[], value: (name: string) => number | null): RawWeights =>
  new Map(universe.map((name) => [name, value(name) ?? 0]));
const readNullable = (universe: readonly string[], value: (name: string) => number | null) =>
  new Map(universe.map((name) => [name, value(name)]));

const CASES: Case[] = [
  { type: 'EqualWeight', params: {}, raw: (_, universe) => fill(universe, () => 1) },
  {
    type: 'MarketCapWeight',
    params: {},
    raw: (slow, universe, t) => fill(universe, (name) => slow.latest('FREE_FLOAT_MARKET_CAP', name, t)),
  },
  {
    type: 'MarketCapWeight',
    params: { free_float: false },
    raw: (slow, universe, t) => fill(universe, (name) => slow.latest('MARKET_CAP', name, t)),
  },
  {
    type: 'MarketCapWeight',
    params: { float_field: parseExpression('ceil(FREE_FLOAT, 0.05)').tree },
    raw: (slow, universe, t) =>
      fill(universe, (name) => {
        const [size, float] = [slow.latest('MARKET_CAP', name, t), slow.latest('FREE_FLOAT', name, t)];
        return size === null || float === null ? null : size * (Math.ceil(float * 20 - 1e-9) / 20);
      }),
  },
  {
    type: 'PriceWeight',
    params: {},
    raw: (slow, universe, t) => fill(universe, (name) => slow.latest('CLOSE', name, t)),
  },
  {
    // A parameter contains the name of a plug-in where another class would have a column.
    type: 'PluginWeight',
    params: { plugin: 'SCORE' },
    raw: (slow, universe, t) => fill(universe, (name) => Math.max(0, slow.latest('SCORE', name, t) ?? 0)),
  },
  {
    type: 'FieldWeight',
    params: { field: 'SCORE' },
    raw: (slow, universe, t) => fill(universe, (name) => Math.max(0, slow.latest('SCORE', name, t) ?? 0)),
  },
  {
    type: 'FieldWeight',
    params: { field: 'SCORE', power: 0.5, negative: 'abs' },
    raw: (slow, universe, t) => fill(universe, (name) => Math.sqrt(Math.abs(slow.latest('SCORE', name, t) ?? 0))),
  },
  {
    type: 'FieldWeight',
    params: { field: 'CLOSE', power: -1 },
    raw: (slow, universe, t) => fill(universe, (name) => 1 / slow.latest('CLOSE', name, t)!),
  },
  {
    type: 'FieldWeight',
    params: { field: { name: 'CLOSE', window: 30, lag: 3, aggregate: 'mean' } },
    raw: (slow, universe, t) => fill(universe, (name) => slow.over('CLOSE', name, t - 3, 30, computeMean)),
  },
  {
    type: 'FixedWeight',
    params: { weights: { N0001: 2, N0002: 1, N0003: 0, ABSENT: 9 } },
    raw: (_, universe) => fill(universe, (name) => ({ N0001: 2, N0002: 1 })[name] ?? 0),
  },
  {
    type: 'RankWeight',
    params: { field: 'SCORE' },
    raw(slow, universe, t) {
      const order = rankNames(readNullable(universe, (name) => slow.latest('SCORE', name, t)));
      return fill(universe, (name) => (order.includes(name) ? order.length - order.indexOf(name) : 0));
    },
  },
  {
    type: 'RankWeight',
    params: { field: 'SCORE', ascending: true, scheme: 'reciprocal' },
    raw(slow, universe, t) {
      const order = rankNames(
        readNullable(universe, (name) => slow.latest('SCORE', name, t)),
        { ascending: true },
      );
      return fill(universe, (name) => (order.includes(name) ? 1 / (1 + order.indexOf(name)) : 0));
    },
  },
  {
    type: 'InverseVolatilityWeight',
    params: { window: 120, minimum_observations: 80 },
    raw: (slow, universe, t) =>
      fill(universe, (name) => {
        const returns = slow.windowValues('RETURN', name, t, 120);
        return returns.length < 80 ? 0 : 1 / (computeDeviation(returns) * Math.sqrt(252));
      }),
  },
  {
    type: 'TiltWeight',
    params: { field: 'SCORE', strength: 1.5, direction: 'low' },
    raw(slow, universe, t) {
      const z = toZScores(readNullable(universe, (name) => slow.latest('SCORE', name, t)));
      return fill(universe, (name) => {
        const score = z.get(name) ?? null;
        const base = slow.latest('FREE_FLOAT_MARKET_CAP', name, t);
        return score === null || base === null ? 0 : base * computeNormalCdf(-Math.min(3, Math.max(-3, score))) ** 1.5;
      });
    },
  },
  {
    type: 'TiltWeight',
    params: {
      base: 'EqualWeight',
      field: 'SCORE',
      tilts: [{ field: 'CLOSE', strength: 2, direction: 'low' }, { field: parseExpression('SCORE * CLOSE').tree }],
    },
    raw(slow, universe, t) {
      const computeScore = (name: string) => slow.latest('SCORE', name, t);
      const close = (name: string) => slow.latest('CLOSE', name, t);
      const addFields = (name: string) => {
        const [a, b] = [computeScore(name), close(name)];
        return a === null || b === null ? null : a * b;
      };
      const [z1, z2, z3] = [computeScore, close, addFields].map((get) => toZScores(readNullable(universe, get)));
      const tilt = (z: number | null | undefined, sign: number) =>
        z === null || z === undefined ? 0 : computeNormalCdf(sign * Math.min(3, Math.max(-3, z)));
      return fill(universe, (name) => tilt(z1!.get(name), 1) * tilt(z2!.get(name), -1) ** 2 * tilt(z3!.get(name), 1));
    },
  },
  {
    type: 'GroupWeight',
    params: { field: 'SECTOR', between: 'equal', within: 'market_cap' },
    raw(slow, universe, t) {
      const cap = (name: string) => slow.latest('FREE_FLOAT_MARKET_CAP', name, t) ?? 0;
      return fill(
        universe,
        (name) =>
          cap(name) /
          universe
            .filter((other) => slow.reference(other, 'SECTOR') === slow.reference(name, 'SECTOR'))
            .reduce((sum, other) => sum + cap(other), 0),
      );
    },
  },
  {
    type: 'GroupWeight',
    params: { field: 'SECTOR', between: 'market_cap', within: 'equal' },
    raw(slow, universe, t) {
      const listMembers = (name: string) =>
        universe.filter((other) => slow.reference(other, 'SECTOR') === slow.reference(name, 'SECTOR'));
      return fill(
        universe,
        (name) =>
          listMembers(name).reduce((sum, other) => sum + (slow.latest('FREE_FLOAT_MARKET_CAP', other, t) ?? 0), 0) /
          listMembers(name).length,
      );
    },
  },
  {
    type: 'GroupWeight',
    params: { field: 'SECTOR', between: 'fixed', group_weights: { Energy: 0.6, Health: 0.4 }, within: 'equal' },
    raw: (slow, universe) =>
      fill(universe, (name) => {
        const sector = slow.reference(name, 'SECTOR');
        const groupWeight = sector === 'Energy' ? 0.6 : sector === 'Health' ? 0.4 : 0;
        return groupWeight / universe.filter((other) => slow.reference(other, 'SECTOR') === sector).length;
      }),
  },
];

test('every weighting class is evaluated here', () => {
  const solvedTypes = [
    'EqualRiskWeight',
    'MinimumVarianceWeight',
    'MaximumDiversificationWeight',
    'HierarchicalRiskParityWeight',
  ];
  expect(
    WEIGHTING_CLASSES.map(({ type }) => type).filter(
      (type) => !solvedTypes.includes(type) && !CASES.some((one) => one.type === type),
    ),
  ).toEqual([]);
});

describe('each weighting class gives the weights of its formula', () => {
  for (const seed of [1, 2]) {
    const market = createGeneratedMarket({ names: 50, sessions: 200, seed });
    const sm = alignDays(market);
    const slow = slowMarket(market);
    CASES.forEach(({ type, params, raw }, i) => {
      test(`${type} ${i} on market ${seed}`, () => {
        for (const t of [199, 150]) {
          const universe = slow.identifiers.filter((name) => slow.isPriceable(name, t));
          const values = raw(slow, universe, t);
          const total = [...values.values()].reduce((sum, value) => sum + value, 0);
          const expected = [...values].filter(([, value]) => value > 0);
          const weights = weightBy(sm, { type, params }, { session: t }) as Record<string, number>;
          expect(Object.keys(weights).toSorted()).toEqual(expected.map(([name]) => name).toSorted());
          for (const [name, value] of expected) expect(weights[name]! / (value / total)).toBeCloseTo(1, 10);
        }
      });
    });
  }
});

describe('weightings solved from a covariance', () => {
  const market = createGeneratedMarket({ names: 25, sessions: 300, seed: 4 });
  const sm = alignDays(market);
  const slow = slowMarket(market);
  const t = 299;
  const window = 250;

  /**
   * Computes the covariance of section 3.12 by its definitions: covered securities, complete rows, sample covariance
   * shrunk to constant correlation.
   */
  function covariance(intensity: number | null) {
    const sessions = Array.from({ length: window + 1 }, (_, i) => t - window + i);
    const returnAt = (name: string, s: number) =>
      s > t - window && slow.cell('CLOSE', name, s) !== null && slow.cell('CLOSE', name, s - 1) !== null
        ? slow.growth(name, s)! - 1
        : null;
    const members = slow.identifiers.filter((name) => {
      const bars = sessions.filter((s) => slow.cell('CLOSE', name, s) !== null).length;
      const returns = sessions.filter((s) => returnAt(name, s) !== null).length;
      return slow.isPriceable(name, t) && returns >= 20 && bars >= 0.8 * sessions.length;
    });
    const rows = sessions
      .map((s) => members.map((name) => returnAt(name, s)))
      .filter((row): row is number[] => row.every((value) => value !== null));
    const n = members.length;
    const centre = members.map((_, i) => computeMean(rows.map((row) => row[i]!)));
    const s = members.map((_, i) =>
      members.map(
        (__, j) =>
          rows.reduce((sum, row) => sum + (row[i]! - centre[i]!) * (row[j]! - centre[j]!), 0) / (rows.length - 1),
      ),
    );
    const correlations = members.flatMap((_, i) =>
      members.slice(i + 1).map((__, j) => s[i]![i + 1 + j]! / Math.sqrt(s[i]![i]! * s[i + 1 + j]![i + 1 + j]!)),
    );
    const delta = intensity ?? n / (n + rows.length);
    const sigma = s.map((row, i) =>
      row.map(
        (value, j) =>
          252 *
          (delta * (i === j ? value : computeMean(correlations) * Math.sqrt(s[i]![i]! * s[j]![j]!)) +
            (1 - delta) * value),
      ),
    );
    return { covered: members, sigma };
  }

  const computeMarginalRisk = (sigma: readonly (readonly number[])[], w: readonly number[]) =>
    sigma.map((row) => row.reduce((sum, value, j) => sum + value * w[j]!, 0));

  test('equal risk: every covered security contributes the same to 1e-8 relative', () => {
    for (const intensity of [null, 0.5]) {
      const { covered, sigma } = covariance(intensity);
      const weights = weightBy(sm, { type: 'EqualRiskWeight', params: { window, intensity } }) as Record<
        string,
        number
      >;
      expect(Object.keys(weights)).toEqual(covered);
      const w = covered.map((name) => weights[name]!);
      const contributions = computeMarginalRisk(sigma, w).map((slope, i) => slope * w[i]!);
      for (const contribution of contributions) expect(contribution / computeMean(contributions)).toBeCloseTo(1, 8);
    }
  });

  test('minimum variance: no covered security can lower the variance within its bound', () => {
    for (const upper of [1, 0.12]) {
      const { covered, sigma } = covariance(null);
      const weights = weightBy(sm, { type: 'MinimumVarianceWeight', params: { window, upper } }) as Record<
        string,
        number
      >;
      const w = covered.map((name) => weights[name] ?? 0);
      const slope = computeMarginalRisk(sigma, w);
      const lowest = Math.min(...slope.filter((_, i) => w[i]! < upper - 1e-9));
      const highest = Math.max(...slope.filter((_, i) => w[i]! > 1e-9));
      expect(Math.max(...w)).toBeLessThanOrEqual(upper + 1e-12);
      if (upper === 1) expect(highest / lowest).toBeCloseTo(1, 8);
      else for (const [i, value] of slope.entries()) if (value > lowest * (1 + 1e-8)) expect(w[i]!).toBeLessThan(1e-9);
    }
  });

  test('maximum diversification: no covered security can raise the ratio', () => {
    const { covered, sigma } = covariance(null);
    const weights = weightBy(sm, { type: 'MaximumDiversificationWeight', params: { window } }) as Record<
      string,
      number
    >;
    const w = covered.map((name) => weights[name] ?? 0);
    const volatilities = sigma.map((row, i) => Math.sqrt(row[i]!));
    const average = w.reduce((sum, value, i) => sum + value * volatilities[i]!, 0);
    const risks = computeMarginalRisk(sigma, w);
    const variance = w.reduce((sum, value, i) => sum + value * risks[i]!, 0);
    // Derivative of the logarithm of average / sqrt(variance), times the average volatility.
    const slopes = volatilities.map((volatility, i) => volatility - (risks[i]! * average) / variance);
    for (const [i, slope] of slopes.entries())
      if (w[i]! > 1e-9) expect(Math.abs(slope / volatilities[i]!)).toBeLessThan(1e-8);
      else expect(slope).toBeLessThan(1e-8);
  });

  test('maximum diversification: three securities by hand', () => {
    // Returns of 1%, 2% and 4% with the correlations 0.6, 0 and 0: x is proportional to (1 / 1.6, 1 / 1.6, 1), and
    // x / volatility to (0.625, 0.3125, 0.25).
    const patterns = [
      [1, -1, 1, -1],
      [1, 1, -1, -1],
      [1, -1, -1, 1],
    ] as const;
    const prices = [100, 100, 100];
    const closes = [[...prices]];
    for (let t = 0; t < 40; t++) {
      const [first, second, third] = patterns.map((pattern) => pattern[t % 4]!);
      const returns = [0.01 * first!, 0.02 * (0.6 * first! + 0.8 * second!), 0.04 * third!];
      returns.forEach((value, i) => (prices[i]! *= 1 + value));
      closes.push([...prices]);
    }
    const table = alignDays(createTableMarket({ identifiers: ['A', 'B', 'C'], fields: { CLOSE: closes } }));
    const weigh = (measure?: string) =>
      weightBy(table, { type: 'MaximumDiversificationWeight', params: { window: 40, intensity: 0, measure } });
    const near = (a: number, b: number, c: number) => ({
      A: expect.closeTo(a, 9),
      B: expect.closeTo(b, 9),
      C: expect.closeTo(c, 9),
    });
    expect(weigh()).toEqual(near(10 / 19, 5 / 19, 4 / 19));
    expect(weigh('correlation')).toEqual(near(5 / 18, 5 / 18, 8 / 18));
  });

  test('hierarchical risk parity: the tree and its bisection on the sample covariance', () => {
    const { covered, sigma } = covariance(0);
    for (const linkage of LINKAGES) {
      const weights = weightBy(sm, { type: 'HierarchicalRiskParityWeight', params: { window, linkage } });
      const plainWeights = computePlainWeights(sigma, computePlainOrder(createPoints(null, sigma, 'columns'), linkage));
      expect(weights).toEqual(
        Object.fromEntries(covered.map((name, i) => [name, expect.closeTo(plainWeights[i]!, 12)])),
      );
    }
  });

  test('too little history is refused with both numbers', () => {
    expect(weightBy(sm, { type: 'EqualRiskWeight', params: {} }, { session: 10 })).toMatch(
      /0 of \d+ securities are covered, with \d+ complete observations over 252 sessions; at least 1 security and 20 observations are required/,
    );
  });
});

describe('refusals of weightings', () => {
  const sm = alignDays(
    createTableMarket({ identifiers: ['A', 'B', 'C'], fields: { CLOSE: [[1, 2, 3]], SCORE: [[-1, null, 2]] } }),
  );

  test('a negative value is refused if the parameters require it, with the security and the value', () => {
    expect(weightBy(sm, { type: 'FieldWeight', params: { field: 'SCORE', negative: 'fail' } })).toBe(
      'SCORE of A is -1; it must be at least 0.',
    );
    expect(weightBy(sm, { type: 'FieldWeight', params: { field: 'SCORE' } })).toEqual({ C: 1 });
  });

  test('given weights that do not sum to 1 over the selected securities are refused unless they are renormalised', () => {
    const weights = { A: 0.5, B: 0.25, D: 0.25 };
    expect(weightBy(sm, { type: 'FixedWeight', params: { weights, renormalise: false } })).toMatch(
      /sum to 0.75; they must sum to 1/,
    );
    expect(weightBy(sm, { type: 'FixedWeight', params: { weights } })).toEqual({
      A: expect.closeTo(2 / 3, 15),
      B: expect.closeTo(1 / 3, 15),
    });
  });

  test('an index without a positive weight among its selected securities is empty', () => {
    expect(weightBy(sm, { type: 'FieldWeight', params: { field: 'SCORE', power: 1 } }, { session: 0 })).toEqual({
      C: 1,
    });
    expect(weightBy(sm, { type: 'FixedWeight', params: { weights: { D: 1 } } })).toMatch(
      /None of the 3 selected securities has a weight/,
    );
  });

  test('values too large to be summed are still weighted by their ratios', () => {
    const hugeMarket = alignDays(
      createTableMarket({ identifiers: ['A', 'B'], fields: { CLOSE: [[1, 1]], SIZE: [[1e308, 1.5e308]] } }),
    );
    expect(weightBy(hugeMarket, { type: 'FieldWeight', params: { field: 'SIZE' } })).toEqual({
      A: expect.closeTo(0.4, 12),
      B: expect.closeTo(0.6, 12),
    });
  });
});
