import { describe, expect, test } from 'vitest';
import { SELECTION_CLASSES } from '#domain/rules/catalogue.js';
import { aligned, deciderOf, generatedMarket, selectedBy } from './rule-market.js';
import { mean, median, rankedNames, slowMarket, zScores, type SlowMarket } from './slow-market.js';

interface Case {
  readonly type: string;
  readonly params: Record<string, unknown>;
  /** What the rule keeps of the names of the universe, from its definition. */
  keeps(slow: SlowMarket, universe: readonly string[], t: number): Iterable<string>;
}

type Values = Map<string, number | null>;

const values = (universe: readonly string[], of: (name: string) => number | null): Values =>
  new Map(universe.map((name) => [name, of(name)]));
const within = (all: Values, passes: (value: number) => boolean, include = false) =>
  [...all].filter(([, value]) => (value === null ? include : passes(value))).map(([name]) => name);
function grouped(names: readonly string[], groupOf: (name: string) => unknown): string[][] {
  const groups = [...new Set(names.map(groupOf))];
  return groups.map((group) => names.filter((name) => groupOf(name) === group));
}

const byGroup = (slow: SlowMarket, universe: readonly string[], column: string) =>
  grouped(universe, (name) => slow.reference(name, column));
const part = (all: Values, names: readonly string[]): Values => new Map(names.map((name) => [name, all.get(name)!]));

const CASES: Case[] = [
  {
    type: 'ExpressionFilter',
    params: {
      expression: {
        node: 'any',
        operands: [
          {
            node: 'all',
            operands: [
              {
                node: 'comparison',
                field: { node: 'field', name: 'SECTOR' },
                comparison: 'in',
                value: ['Energy', 'Health'],
              },
              {
                node: 'not',
                operand: { node: 'comparison', field: { node: 'field', name: 'SCORE' }, comparison: 'lt', value: 0 },
              },
            ],
          },
          {
            node: 'comparison',
            field: { node: 'field', name: 'CLOSE', aggregate: 'mean', window: 20, lag: 5, transform: 'percentile' },
            comparison: 'ge',
            value: 0.8,
          },
          {
            node: 'comparison',
            field: { node: 'field', name: 'RATING', dataset: 'reference' },
            comparison: 'between',
            value: [4, 4],
          },
        ],
      },
    },
    keeps(slow, universe, t) {
      const averages = values(universe, (name) => slow.over('CLOSE', name, t - 5, 20, mean));
      const present = [...averages.values()].filter((value) => value !== null);
      const percentile = (value: number) =>
        (present.length - (1 + present.filter((other) => other > value).length)) / (present.length - 1);
      return universe.filter((name) => {
        const sector = slow.reference(name, 'SECTOR');
        const score = slow.latest('SCORE', name, t);
        const both = (sector === 'Energy' || sector === 'Health') && score !== null && score >= 0;
        const average = averages.get(name)!;
        return both || (average !== null && percentile(average) >= 0.8) || slow.reference(name, 'RATING') === 4;
      });
    },
  },
  {
    type: 'FieldFilter',
    params: { field: 'SCORE', comparison: 'gt', value: 0.5 },
    keeps: (slow, universe, t) =>
      within(
        values(universe, (name) => slow.latest('SCORE', name, t)),
        (value) => value > 0.5,
      ),
  },
  {
    type: 'FieldFilter',
    params: { field: 'SCORE', comparison: 'ne', value: 0.5, missing: 'include' },
    keeps: (slow, universe, t) =>
      within(
        values(universe, (name) => slow.latest('SCORE', name, t)),
        (value) => value !== 0.5,
        true,
      ),
  },
  {
    type: 'FieldFilter',
    params: { field: 'ACTIVE', comparison: 'eq', value: true },
    keeps: (slow, universe) => universe.filter((name) => slow.reference(name, 'ACTIVE') === true),
  },
  {
    type: 'CategoryFilter',
    params: { field: 'SECTOR', include: ['Energy', 'Technology'] },
    keeps: (slow, universe) =>
      universe.filter((name) => ['Energy', 'Technology'].includes(String(slow.reference(name, 'SECTOR')))),
  },
  {
    type: 'CategoryFilter',
    params: { field: 'SECTOR', exclude: ['Energy'], missing: 'include' },
    keeps: (slow, universe) => universe.filter((name) => slow.reference(name, 'SECTOR') !== 'Energy'),
  },
  {
    type: 'CategoryFilter',
    params: { field: 'RATING', include: ['3', '4'] },
    keeps: (slow, universe) => universe.filter((name) => [3, 4].includes(slow.reference(name, 'RATING') as number)),
  },
  {
    type: 'IncludeList',
    params: { identifiers: ['N0003', 'N0007', 'N0011', 'ABSENT'] },
    keeps: (_, universe) => universe.filter((name) => ['N0003', 'N0007', 'N0011'].includes(name)),
  },
  {
    type: 'ExcludeList',
    params: { identifiers: ['N0003', 'N0007', 'ABSENT'] },
    keeps: (_, universe) => universe.filter((name) => !['N0003', 'N0007'].includes(name)),
  },
  {
    type: 'TopN',
    params: { field: 'SCORE', count: 17 },
    keeps: (slow, universe, t) => rankedNames(values(universe, (name) => slow.latest('SCORE', name, t))).slice(0, 17),
  },
  {
    type: 'TopN',
    params: { field: 'SCORE', count: 50, ascending: true, missing: 'include' },
    keeps: (slow, universe, t) =>
      rankedNames(
        values(universe, (name) => slow.latest('SCORE', name, t)),
        { ascending: true, include: true },
      ).slice(0, 50),
  },
  {
    type: 'TopN',
    params: { field: 'MARKET_CAP', count: 3, group_by: 'SECTOR' },
    keeps(slow, universe, t) {
      const caps = values(universe, (name) => slow.latest('MARKET_CAP', name, t));
      return byGroup(slow, universe, 'SECTOR').flatMap((names) => rankedNames(part(caps, names)).slice(0, 3));
    },
  },
  {
    type: 'BufferedTopN',
    params: { field: 'FREE_FLOAT_MARKET_CAP', count: 12 },
    keeps: (slow, universe, t) =>
      rankedNames(values(universe, (name) => slow.latest('FREE_FLOAT_MARKET_CAP', name, t))).slice(0, 12),
  },
  {
    type: 'TopFraction',
    params: { field: 'CLOSE', fraction: 0.3, group_by: 'SECTOR', ascending: true },
    keeps(slow, universe, t) {
      const prices = values(universe, (name) => slow.latest('CLOSE', name, t));
      return byGroup(slow, universe, 'SECTOR').flatMap((names) =>
        rankedNames(part(prices, names), { ascending: true }).slice(0, Math.ceil(0.3 * names.length)),
      );
    },
  },
  {
    type: 'CumulativeCoverage',
    params: { coverage: 0.7 },
    keeps(slow, universe, t) {
      const caps = values(universe, (name) => slow.latest('FREE_FLOAT_MARKET_CAP', name, t));
      const order = rankedNames(caps);
      const total = order.reduce((sum, name) => sum + caps.get(name)!, 0);
      let reached = 0;
      return order.filter((name) => {
        const takes = reached < 0.7 * total;
        reached += caps.get(name)!;
        return takes;
      });
    },
  },
  {
    type: 'RangeFilter',
    params: { field: 'SCORE', minimum: -0.5, maximum: 1, inclusive: false },
    keeps: (slow, universe, t) =>
      within(
        values(universe, (name) => slow.latest('SCORE', name, t)),
        (value) => value > -0.5 && value < 1,
      ),
  },
  {
    type: 'RangeFilter',
    params: { field: 'SCORE', minimum: -0.5, maximum: 1 },
    keeps: (slow, universe, t) =>
      within(
        values(universe, (name) => slow.latest('SCORE', name, t)),
        (value) => value >= -0.5 && value <= 1,
      ),
  },
  {
    type: 'RangeFilter',
    params: { field: 'DIVIDEND_YIELD', minimum: 0.001, maximum: 0.02 },
    keeps: (slow, universe, t) =>
      within(
        values(universe, (name) => slow.latest('DIVIDEND_YIELD', name, t)),
        (value) => value >= 0.001 && value <= 0.02,
      ),
  },
  {
    type: 'MarketCapFilter',
    params: { minimum: 5e8, maximum: 4e9 },
    keeps: (slow, universe, t) =>
      within(
        values(universe, (name) => slow.latest('FREE_FLOAT_MARKET_CAP', name, t)),
        (value) => value >= 5e8 && value <= 4e9,
      ),
  },
  {
    type: 'MarketCapFilter',
    params: { minimum: 1e9, free_float: false },
    keeps: (slow, universe, t) =>
      within(
        values(universe, (name) => slow.latest('MARKET_CAP', name, t)),
        (value) => value >= 1e9,
      ),
  },
  {
    type: 'LiquidityFilter',
    params: { minimum: 4e7 },
    keeps: (slow, universe, t) =>
      within(
        values(universe, (name) => slow.over('VALUE_TRADED', name, t, 60, median)),
        (value) => value >= 4e7,
      ),
  },
  {
    type: 'LiquidityFilter',
    params: { minimum: 4e7, window: 25, statistic: 'mean' },
    keeps: (slow, universe, t) =>
      within(
        values(universe, (name) => slow.over('VALUE_TRADED', name, t, 25, mean)),
        (value) => value >= 4e7,
      ),
  },
  {
    type: 'PriceFilter',
    params: { minimum: 20, maximum: 150 },
    keeps: (slow, universe, t) =>
      within(
        values(universe, (name) => slow.latest('CLOSE', name, t)),
        (value) => value >= 20 && value <= 150,
      ),
  },
  {
    type: 'FreeFloatFilter',
    params: { minimum: 0.5 },
    keeps: (slow, universe, t) =>
      within(
        values(universe, (name) => slow.latest('FREE_FLOAT', name, t)),
        (value) => value >= 0.5,
      ),
  },
  {
    type: 'SeasoningFilter',
    params: { sessions: 100 },
    keeps: (slow, universe, t) =>
      within(
        values(universe, (name) => slow.latest('AGE', name, t)),
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
      within(
        values(universe, (name) => slow.volatility(name, t, 60)),
        (value) => value >= 0.1 && value <= 0.35,
      ),
  },
  {
    type: 'MomentumFilter',
    params: { window: 120, skip: 10, minimum: -0.05 },
    keeps: (slow, universe, t) =>
      within(
        values(universe, (name) => slow.momentum(name, t, 120, 10)),
        (value) => value >= -0.05,
      ),
  },
  {
    type: 'DividendFilter',
    params: { minimum_yield: 0.005, minimum_years: 1 },
    keeps: (slow, universe, t) =>
      within(
        values(universe, (name) => slow.latest('DIVIDEND_YIELD', name, t)),
        (value) => value >= 0.005,
      ).filter((name) => slow.paidInYears(name, t, 1)),
  },
  {
    type: 'OnePerIssuer',
    params: { window: 30 },
    keeps(slow, universe, t) {
      const traded = values(universe, (name) => slow.over('VALUE_TRADED', name, t, 30, median));
      const issuers = grouped(universe, (name) => slow.reference(name, 'ISSUER') ?? `own ${name}`);
      return issuers.flatMap((names) => rankedNames(part(traded, names)).slice(0, 1));
    },
  },
  {
    type: 'GroupLimit',
    params: { field: 'SECTOR', rank_field: 'SCORE', maximum: 5 },
    keeps(slow, universe, t) {
      const scores = values(universe, (name) => slow.latest('SCORE', name, t));
      return byGroup(slow, universe, 'SECTOR').flatMap((names) => rankedNames(part(scores, names)).slice(0, 5));
    },
  },
  {
    type: 'TopN',
    params: { field: 'BETA', count: 12, ascending: true },
    keeps(slow, universe, t) {
      const sessions = Array.from({ length: 252 }, (_, k) => t - 251 + k).filter((s) => s >= 0);
      const returnsOf = new Map(universe.map((name) => [name, sessions.map((s) => slow.betweenBars(name, s))]));
      const market = sessions
        .map((_, k) => [...returnsOf.values()].map((returns) => returns[k]!).filter((value) => value !== null))
        .map((all) => (all.length === 0 ? null : mean(all)));
      const betas = values(universe, (name) => {
        const pairs = returnsOf
          .get(name)!
          .flatMap((own, k) => (own === null || market[k] === null ? [] : [{ own, all: market[k]! }]));
        if (pairs.length < 126) return null;
        const [own, all] = [mean(pairs.map((pair) => pair.own)), mean(pairs.map((pair) => pair.all))];
        return (
          pairs.reduce((sum, pair) => sum + (pair.own - own) * (pair.all - all), 0) /
          pairs.reduce((sum, pair) => sum + (pair.all - all) ** 2, 0)
        );
      });
      return rankedNames(betas, { ascending: true }).slice(0, 12);
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
      const score = zScores(values(universe, (name) => slow.latest('SCORE', name, t)));
      const close = zScores(values(universe, (name) => slow.latest('CLOSE', name, t)));
      const clip = (value: number, at: number) => Math.min(at, Math.max(-at, value));
      const total = values(universe, (name) =>
        score.get(name) === null || close.get(name) === null
          ? null
          : (2 * clip(score.get(name)!, 1.5) - clip(close.get(name)!, 3)) / 3,
      );
      return rankedNames(total)
        .filter((name) => total.get(name)! >= 0.1)
        .slice(0, 15);
    },
  },
];

test('every selection class is evaluated here', () => {
  expect(SELECTION_CLASSES.map(({ type }) => type).filter((type) => !CASES.some((one) => one.type === type))).toEqual(
    [],
  );
});

describe('each selection class keeps what its definition says', () => {
  for (const seed of [1, 2]) {
    const market = generatedMarket({ names: 70, sessions: 300, seed });
    const sm = aligned(market);
    const slow = slowMarket(market);
    CASES.forEach(({ type, params, keeps }, i) => {
      test(`${type} ${i} on market ${seed}`, () => {
        for (const t of [299, 250, 140]) {
          const universe = slow.identifiers.filter((name) => slow.isPriceable(name, t));
          const expected = [...keeps(slow, universe, t)].toSorted();
          expect(selectedBy(sm, { type, params }, { session: t })).toEqual(expected);
          if (t === 299) expect(expected.length).toBeGreaterThan(0);
        }
      });
    });
  }
});

describe('laws of selection', () => {
  const market = generatedMarket({ names: 60, sessions: 280, seed: 5 });
  const sm = aligned(market);

  test('the best n of the best m are the best n', () => {
    const decide = (counts: readonly number[]) => {
      const decision = deciderOf(sm, {
        selection: counts.map((count, i) => ({ id: `top${i}`, type: 'TopN', params: { field: 'SCORE', count } })),
        weighting: { type: 'EqualWeight' },
      }).decide(279, null);
      return decision.kind === 'decided' ? Array.from(decision.columns) : [];
    };
    expect(decide([30, 12])).toEqual(decide([12]));
    expect(decide([12, 30])).toEqual(decide([12]));
  });

  test('no rule reads beyond its decision: the market cut after the session decides the same', () => {
    const rows = 200;
    const cut = {
      ...market,
      dates: market.dates.slice(0, rows),
      fields: new Map([...market.fields].map(([name, panel]) => [name, panel.slice(0, rows * 60)])),
    };
    const short = aligned({ ...cut, actions: market.actions.filter(({ exDay }) => exDay <= cut.dates.at(-1)!) });
    for (const { type, params } of CASES)
      expect(selectedBy(short, { type, params }, { session: rows - 1 })).toEqual(
        selectedBy(sm, { type, params }, { session: rows - 1 }),
      );
  });

  test('the order of names in the store does not matter', () => {
    const order = market.identifiers.map((_, i) => i).toReversed();
    const renamed = market.identifiers.map((_, i) => `Z${String(order[i]).padStart(3, '0')}`);
    // The same market under names that sort the other way round: without ties the same holdings survive.
    const columns = renamed.map((_, i) => i).toSorted((a, b) => (renamed[a]! < renamed[b]! ? -1 : 1));
    const shuffled = {
      ...market,
      identifiers: columns.map((column) => renamed[column]!),
      fields: new Map(
        [...market.fields].map(([name, panel]) => [
          name,
          Float64Array.from(panel, (_, cell) => panel[Math.floor(cell / 60) * 60 + columns[cell % 60]!]!),
        ]),
      ),
      reference: {
        ...market.reference,
        rows: new Map(
          [...market.reference.rows].map(([name, rows]) => [renamed[market.identifiers.indexOf(name)]!, rows]),
        ),
      },
      actions: market.actions.map((action) => ({
        ...action,
        identifier: renamed[market.identifiers.indexOf(action.identifier)]!,
      })),
    };
    const other = aligned(shuffled);
    for (const type of [
      'MarketCapFilter',
      'LiquidityFilter',
      'VolatilityFilter',
      'MomentumFilter',
      'BufferedTopN',
      'CumulativeCoverage',
    ]) {
      const { params } = CASES.find((one) => one.type === type)!;
      const original = selectedBy(sm, { type, params }).map((name) => renamed[market.identifiers.indexOf(name)]!);
      expect(selectedBy(other, { type, params })).toEqual(original.toSorted());
    }
  });
});

describe('constituents and their buffers', () => {
  const sm = aligned(generatedMarket({ names: 70, sessions: 300, seed: 3 }));
  const slow = slowMarket(sm.market);
  const universeAt = (t: number) => slow.identifiers.filter((name) => slow.isPriceable(name, t));

  test('BufferedTopN follows its rule over several rebalances', () => {
    const params = { field: 'SCORE', count: 20, enter_rank: 15, exit_rank: 28 };
    let before: string[] | null = null;
    for (const t of [120, 150, 180, 210, 240, 270, 299]) {
      const order = rankedNames(values(universeAt(t), (name) => slow.latest('SCORE', name, t)));
      const rank = new Map(order.map((name, i) => [name, i + 1]));
      const expected = new Set(order.slice(0, before === null ? 20 : 15));
      if (before !== null) {
        for (const name of order)
          if (expected.size < 20 && before.includes(name) && rank.get(name)! <= 28) expected.add(name);
        for (const name of order) if (expected.size < 20) expected.add(name);
      }
      const selected = selectedBy(sm, { type: 'BufferedTopN', params }, { session: t, incumbents: before });
      expect(selected).toEqual([...expected].toSorted());
      before = selected;
    }
  });

  test('an enter rank of the count and an exit rank of the count make BufferedTopN a TopN', () => {
    const incumbents = selectedBy(sm, { type: 'TopN', params: { field: 'SCORE', count: 20 } }, { session: 200 });
    const buffered = selectedBy(
      sm,
      { type: 'BufferedTopN', params: { field: 'SCORE', count: 20, enter_rank: 20, exit_rank: 20 } },
      { incumbents },
    );
    expect(buffered).toEqual(selectedBy(sm, { type: 'TopN', params: { field: 'SCORE', count: 20 } }));
  });

  test('CumulativeCoverage keeps constituents up to the coverage and the buffer', () => {
    const caps = values(universeAt(299), (name) => slow.latest('FREE_FLOAT_MARKET_CAP', name, 299));
    const order = rankedNames(caps);
    const total = order.reduce((sum, name) => sum + caps.get(name)!, 0);
    const upTo = (share: number) => {
      let sum = 0;
      return order.filter((name) => {
        const takes = sum < share * total;
        sum += caps.get(name)!;
        return takes;
      });
    };
    const incumbents = order.filter((_, i) => i % 2 === 0);
    const expected = order.filter(
      (name) => upTo(0.5).includes(name) || (upTo(0.7).includes(name) && incumbents.includes(name)),
    );
    expect(
      selectedBy(sm, { type: 'CumulativeCoverage', params: { coverage: 0.5, buffer: 0.2 } }, { incumbents }),
    ).toEqual(expected.toSorted());
    expect(expected.length).toBeGreaterThan(upTo(0.5).length);
  });

  test('constituents have the lower bounds of their own', () => {
    const traded = values(universeAt(299), (name) => slow.over('VALUE_TRADED', name, 299, 60, median));
    const incumbents = slow.identifiers.filter((_, i) => i % 3 === 0);
    const expected = [...traded]
      .filter(([name, value]) => value !== null && value >= (incumbents.includes(name) ? 2e7 : 5e7))
      .map(([name]) => name);
    expect(
      selectedBy(sm, { type: 'LiquidityFilter', params: { minimum: 5e7, incumbent_minimum: 2e7 } }, { incumbents }),
    ).toEqual(expected.toSorted());
    const caps = values(universeAt(299), (name) => slow.latest('FREE_FLOAT_MARKET_CAP', name, 299));
    const large = [...caps]
      .filter(([name, value]) => value !== null && value >= (incumbents.includes(name) ? 5e8 : 2e9))
      .map(([name]) => name);
    expect(
      selectedBy(sm, { type: 'MarketCapFilter', params: { minimum: 2e9, incumbent_minimum: 5e8 } }, { incumbents }),
    ).toEqual(large.toSorted());
  });
});
