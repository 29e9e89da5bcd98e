import { describe, expect, test } from 'vitest';
import { SELECTION_CLASSES } from '#domain/definition/rule-pipeline.js';
import { alignDays, createDeciderOf, createGeneratedMarket, selectByRule } from './rule-market.js';
import { createValues } from './selection/case.js';
import { DATAPOINTS } from './selection/datapoints.js';
import { RANKS } from './selection/ranks.js';
import { computeMedian, rankNames, slowMarket } from './slow-market.js';

const CASES = [...RANKS, ...DATAPOINTS];

test('every selection class is evaluated here', () => {
  expect(SELECTION_CLASSES.map(({ type }) => type).filter((type) => !CASES.some((one) => one.type === type))).toEqual(
    [],
  );
});

describe('each selection class keeps the securities of its definition', () => {
  for (const seed of [1, 2]) {
    const market = createGeneratedMarket({ names: 70, sessions: 300, seed });
    const sm = alignDays(market);
    const slow = slowMarket(market);
    CASES.forEach(({ type, params, keeps }, i) => {
      test(`${type} ${i} on market ${seed}`, () => {
        for (const t of [299, 250, 140]) {
          const universe = slow.identifiers.filter((name) => slow.isPriceable(name, t));
          const expected = [...keeps(slow, universe, t)].toSorted();
          expect(selectByRule(sm, { type, params }, { session: t })).toEqual(expected);
          if (t === 299) expect(expected.length).toBeGreaterThan(0);
        }
      });
    });
  }
});

describe('laws of selection', () => {
  const market = createGeneratedMarket({ names: 60, sessions: 280, seed: 5 });
  const sm = alignDays(market);

  test('the best n of the best m are the best n', () => {
    const decide = (counts: readonly number[]) => {
      const decision = createDeciderOf(sm, {
        selection: counts.map((count, i) => ({ id: `top${i}`, type: 'TopN', params: { field: 'SCORE', count } })),
        weighting: { type: 'EqualWeight' },
      }).decide(279, null);
      return decision.kind === 'decided' ? Array.from(decision.columns) : [];
    };
    expect(decide([30, 12])).toEqual(decide([12]));
    expect(decide([12, 30])).toEqual(decide([12]));
  });

  test('no rule reads data after its decision: the market truncated after the session gives the same decision', () => {
    const rows = 200;
    const cut = {
      ...market,
      dates: market.dates.slice(0, rows),
      fields: new Map([...market.fields].map(([name, panel]) => [name, panel.slice(0, rows * 60)])),
    };
    const shortMarket = alignDays({
      ...cut,
      actions: market.actions.filter(({ exDay }) => exDay <= cut.dates.at(-1)!),
    });
    for (const { type, params } of CASES)
      expect(selectByRule(shortMarket, { type, params }, { session: rows - 1 })).toEqual(
        selectByRule(sm, { type, params }, { session: rows - 1 }),
      );
  });

  test('the order of securities in the store does not matter', () => {
    const order = market.identifiers.map((_, i) => i).toReversed();
    const newNames = market.identifiers.map((_, i) => `Z${String(order[i]).padStart(3, '0')}`);
    // Without ties, the holdings do not depend on identifiers. Here the identifiers sort in the opposite order.
    const columns = newNames.map((_, i) => i).toSorted((a, b) => (newNames[a]! < newNames[b]! ? -1 : 1));
    const shuffledMarket = {
      ...market,
      identifiers: columns.map((column) => newNames[column]!),
      fields: new Map(
        [...market.fields].map(([name, panel]) => [
          name,
          Float64Array.from(panel, (_, cell) => panel[Math.floor(cell / 60) * 60 + columns[cell % 60]!]!),
        ]),
      ),
      reference: {
        ...market.reference,
        rows: new Map(
          [...market.reference.rows].map(([name, rows]) => [newNames[market.identifiers.indexOf(name)]!, rows]),
        ),
      },
      actions: market.actions.map((action) => ({
        ...action,
        identifier: newNames[market.identifiers.indexOf(action.identifier)]!,
      })),
    };
    const other = alignDays(shuffledMarket);
    for (const type of [
      'MarketCapFilter',
      'LiquidityFilter',
      'VolatilityFilter',
      'MomentumFilter',
      'BufferedTopN',
      'CumulativeCoverage',
    ]) {
      const { params } = CASES.find((one) => one.type === type)!;
      const originalNames = selectByRule(sm, { type, params }).map(
        (name) => newNames[market.identifiers.indexOf(name)]!,
      );
      expect(selectByRule(other, { type, params })).toEqual(originalNames.toSorted());
    }
  });
});

describe('constituents and their buffers', () => {
  const sm = alignDays(createGeneratedMarket({ names: 70, sessions: 300, seed: 3 }));
  const slow = slowMarket(sm.market);
  const listUniverseAt = (t: number) => slow.identifiers.filter((name) => slow.isPriceable(name, t));

  test('BufferedTopN follows its rule over several rebalances', () => {
    const params = { field: 'SCORE', count: 20, enter_rank: 15, exit_rank: 28 };
    let before: string[] | null = null;
    for (const t of [120, 150, 180, 210, 240, 270, 299]) {
      const order = rankNames(createValues(listUniverseAt(t), (name) => slow.latest('SCORE', name, t)));
      const rank = new Map(order.map((name, i) => [name, i + 1]));
      const expected = new Set(order.slice(0, before === null ? 20 : 15));
      if (before !== null) {
        for (const name of order)
          if (expected.size < 20 && before.includes(name) && rank.get(name)! <= 28) expected.add(name);
        for (const name of order) if (expected.size < 20) expected.add(name);
      }
      const selectedNames = selectByRule(sm, { type: 'BufferedTopN', params }, { session: t, incumbents: before });
      expect(selectedNames).toEqual([...expected].toSorted());
      before = selectedNames;
    }
  });

  test('an enter rank of the count and an exit rank of the count make BufferedTopN a TopN', () => {
    const incumbents = selectByRule(sm, { type: 'TopN', params: { field: 'SCORE', count: 20 } }, { session: 200 });
    const bufferedNames = selectByRule(
      sm,
      { type: 'BufferedTopN', params: { field: 'SCORE', count: 20, enter_rank: 20, exit_rank: 20 } },
      { incumbents },
    );
    expect(bufferedNames).toEqual(selectByRule(sm, { type: 'TopN', params: { field: 'SCORE', count: 20 } }));
  });

  test('CumulativeCoverage keeps constituents up to the coverage and the buffer', () => {
    const caps = createValues(listUniverseAt(299), (name) => slow.latest('FREE_FLOAT_MARKET_CAP', name, 299));
    const order = rankNames(caps);
    const total = order.reduce((sum, name) => sum + caps.get(name)!, 0);
    const selectUpTo = (share: number) => {
      let sum = 0;
      return order.filter((name) => {
        const takes = sum < share * total;
        sum += caps.get(name)!;
        return takes;
      });
    };
    const incumbents = order.filter((_, i) => i % 2 === 0);
    const expected = order.filter(
      (name) => selectUpTo(0.5).includes(name) || (selectUpTo(0.7).includes(name) && incumbents.includes(name)),
    );
    expect(
      selectByRule(sm, { type: 'CumulativeCoverage', params: { coverage: 0.5, buffer: 0.2 } }, { incumbents }),
    ).toEqual(expected.toSorted());
    expect(expected.length).toBeGreaterThan(selectUpTo(0.5).length);
  });

  test('constituents have their lower bounds', () => {
    const tradedValues = createValues(listUniverseAt(299), (name) =>
      slow.over('VALUE_TRADED', name, 299, 60, computeMedian),
    );
    const incumbents = slow.identifiers.filter((_, i) => i % 3 === 0);
    const expected = [...tradedValues]
      .filter(([name, value]) => value !== null && value >= (incumbents.includes(name) ? 2e7 : 5e7))
      .map(([name]) => name);
    expect(
      selectByRule(sm, { type: 'LiquidityFilter', params: { minimum: 5e7, incumbent_minimum: 2e7 } }, { incumbents }),
    ).toEqual(expected.toSorted());
    const caps = createValues(listUniverseAt(299), (name) => slow.latest('FREE_FLOAT_MARKET_CAP', name, 299));
    const largeNames = [...caps]
      .filter(([name, value]) => value !== null && value >= (incumbents.includes(name) ? 5e8 : 2e9))
      .map(([name]) => name);
    expect(
      selectByRule(sm, { type: 'MarketCapFilter', params: { minimum: 2e9, incumbent_minimum: 5e8 } }, { incumbents }),
    ).toEqual(largeNames.toSorted());
  });
});
