import { parseExpression } from '#domain/datapoints/expression-text.js';
import { describe, expect, test } from 'vitest';
import { createComposer } from '#domain/books/composer.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { WEIGHTING_CLASSES } from '#domain/definition/weighting-classes.js';
import { explainConstituent, type ExplainedWeighting, type Explanation } from '#domain/decide/explanation.js';
import { CALENDARS, computeNormalCdf, createRuleDocument, createGeneratedMarket } from './rule-market.js';

const market = createGeneratedMarket({ names: 40, sessions: 320, seed: 8 });

interface Case {
  readonly type: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** Returns the raw weight by hand, from the explanation only. Returns null if only a solver can determine it. */
  raw(parts: Readonly<Record<string, number>>, datapoint: (field: string) => number, name: string): number | null;
}

const GIVEN_WEIGHTS: Readonly<Record<string, number>> = Object.fromEntries(
  market.identifiers.map((name, i) => [name, 1 + (i % 5)]),
);

const CASES: readonly Case[] = [
  { type: 'EqualWeight', params: {}, raw: () => 1 },
  { type: 'MarketCapWeight', params: {}, raw: (_, datapoint) => datapoint('FREE_FLOAT_MARKET_CAP') },
  {
    type: 'MarketCapWeight',
    params: { float_field: parseExpression('ceil(FREE_FLOAT, 0.05)').tree },
    raw: ({ MARKET_CAP: size, float }) => size! * float!,
  },
  { type: 'PriceWeight', params: {}, raw: (_, datapoint) => datapoint('CLOSE') },
  { type: 'FieldWeight', params: { field: 'VOLUME', power: 0.5 }, raw: ({ VOLUME, power }) => VOLUME! ** power! },
  { type: 'PluginWeight', params: { plugin: 'VOLUME' }, raw: ({ VOLUME }) => VOLUME! },
  { type: 'FixedWeight', params: { weights: GIVEN_WEIGHTS }, raw: (_parts, _datapoint, name) => GIVEN_WEIGHTS[name]! },
  { type: 'RankWeight', params: { field: 'CLOSE' }, raw: ({ count, rank }) => count! + 1 - rank! },
  {
    type: 'RankWeight',
    params: { field: 'CLOSE', scheme: 'reciprocal', ascending: true },
    raw: ({ rank }) => 1 / rank!,
  },
  {
    type: 'InverseVolatilityWeight',
    params: { window: 60, minimum_observations: 40 },
    raw: ({ VOLATILITY }) => 1 / VOLATILITY!,
  },
  {
    type: 'EqualRiskWeight',
    params: { window: 200 },
    raw: ({ variance, count, marginal }) => variance! / (count! * marginal!),
  },
  { type: 'MinimumVarianceWeight', params: { window: 200 }, raw: () => null },
  { type: 'MaximumDiversificationWeight', params: { window: 200 }, raw: () => null },
  { type: 'HierarchicalRiskParityWeight', params: { window: 200 }, raw: () => null },
  {
    type: 'TiltWeight',
    params: { field: 'CLOSE', strength: 2 },
    raw: ({ base, z, strength }) => base! * computeNormalCdf(z!) ** strength!,
  },
  {
    type: 'GroupWeight',
    params: { field: 'SECTOR', between: 'market_cap', within: 'market_cap' },
    raw: ({ group_weight, within, group_total }) => (group_weight! * within!) / group_total!,
  },
  {
    type: 'GroupWeight',
    params: { field: 'SECTOR', between: 'equal', within: 'equal' },
    raw: ({ group_weight, within, group_total }) => (group_weight! * within!) / group_total!,
  },
];

const LIMITS = [
  { limits: 'no cap', weighting: {} },
  { limits: 'a cap', weighting: { cap: 0.06 } },
  { limits: 'a cap and a floor', weighting: { cap: 0.08, floor: 0.01 } },
  {
    limits: 'a cap, a floor and group caps',
    weighting: { cap: 0.1, floor: 0.005, group_caps: [{ field: 'SECTOR', cap: 0.3 }] },
  },
  {
    limits: 'a cap by expression, of issuers',
    weighting: { cap: parseExpression('0.06 + 0.05 * percentile(CLOSE)').tree, cap_by: 'ISSUER' },
  },
  {
    limits: 'a cap that excludes constituents',
    weighting: { cap: parseExpression('0.2 * percentile(CLOSE) - 0.02').tree },
  },
  {
    limits: 'caps in stages',
    weighting: {
      ladder_caps: {
        single: { above: 0.12, to: 0.1 },
        group: { each_above: 0.06, together_above: 0.3, to: 0.25 },
      },
    },
  },
  {
    limits: 'caps in stages that reduce the smallest first',
    weighting: {
      ladder_caps: {
        single: { above: 0.12, to: 0.1 },
        group: { each_above: 0.06, together_above: 0.3, to: 0.3, each_to: 0.055, reduce: 'smallest' },
      },
    },
  },
  { limits: 'caps by rank', weighting: { ladder_caps: { ranked: { above: [0.1, 0.08], to: [0.09, 0.07] } } } },
];

/** Explains every security on the last day. */
function explainSecurities(weighting: unknown) {
  const document = createRuleDocument(
    { selection: [{ id: 'seasoned', type: 'HistoryFilter', params: { sessions: 80, coverage: 0.9 } }], weighting },
    { base_date: '2020-12-01', rebalance: { frequency: 'monthly' } },
  );
  const asOf = market.dates.at(-1)!;
  const composer = createComposer({
    market,
    calendars: CALENDARS,
    documents: { TEST: document },
    until: asOf,
    createDecider: indexDecider,
  });
  const { list, sm } = composer.compositions('TEST');
  return {
    composition: list.at(-1)!,
    names: sm.identifiers.map((name, column) => ({
      name,
      column,
      explanation: explainConstituent(composer, 'TEST', { column, asOf }),
    })),
  };
}

const readAppliedWeight = ({ weighting, capping, stayed }: Explanation): number => {
  const { cap, floor, scale } = capping!;
  const share = weighting!.raw / weighting!.rawTotal;
  return Math.min(cap ?? Infinity, Math.max(floor, scale * share)) / stayed;
};

// All parts that a formula uses are numbers, so the cast is safe.
const readNumbers = (weighting: ExplainedWeighting) => weighting.parts as Readonly<Record<string, number>>;

test('every weighting class is replayed here', () => {
  expect(WEIGHTING_CLASSES.map(({ type }) => type).filter((type) => !CASES.some((one) => one.type === type))).toEqual(
    [],
  );
});

describe.each(LIMITS)('with $limits', ({ weighting }) => {
  test.each(CASES)('a weight of $type $params replays by hand to 1e-12', ({ type, params, raw }) => {
    const { composition, names } = explainSecurities({ type, params, ...weighting });
    let replayedCount = 0;
    for (const { name, column, explanation } of names) {
      const position = composition.columns.indexOf(column);
      expect(explanation.weight).toBe(position < 0 ? null : composition.weights[position]);
      if (position < 0) continue;
      const computeDatapoint = (field: string): number =>
        explanation.datapoints.find((read) => read.field === field)!.value as number;
      const byHand = raw(readNumbers(explanation.weighting!), computeDatapoint, name);
      // Equal risk weights and derived values have a relative accuracy of 1e-8. All other weights follow from exact
      // arithmetic.
      if (byHand !== null)
        expect(Math.abs(byHand / explanation.weighting!.raw - 1)).toBeLessThan(
          type === 'EqualRiskWeight' ? 1e-8 : 1e-12,
        );
      expect(Math.abs(readAppliedWeight(explanation) - explanation.weight!)).toBeLessThan(1e-12);
      replayedCount++;
    }
    expect(replayedCount).toBeGreaterThan(type === 'MinimumVarianceWeight' ? 4 : 12);
  });
});

test('securities that leave between decision and effect pass their weight to the others, and the explanation states the remaining share', () => {
  const leaverName = market.identifiers[3]!;
  const laggedMarket = {
    ...market,
    actions: [
      ...market.actions,
      {
        identifier: leaverName,
        type: 'DELISTING' as const,
        value: 0,
        exDay: market.dates[260]!,
        payDay: null,
        status: null,
        announcedDay: null,
        related: null,
        subscriptionPrice: null,
      },
    ],
  };
  const bars = new Map(laggedMarket.fields);
  for (const [field, panel] of bars)
    bars.set(
      field,
      panel.map((value, cell) =>
        cell % market.identifiers.length === 3 && Math.floor(cell / market.identifiers.length) >= 260 ? NaN : value,
      ),
    );
  const document = createRuleDocument(
    { weighting: { type: 'EqualWeight' } },
    {
      base_date: '2020-06-01',
      rebalance: { frequency: 'custom', dates: ['2020-12-31'], effective_lag: 5, weights_as: 'weights' },
    },
  );
  const asOf = market.dates.at(-1)!;
  const composer = createComposer({
    market: { ...laggedMarket, fields: bars },
    calendars: CALENDARS,
    documents: { TEST: document },
    until: asOf,
    createDecider: indexDecider,
  });
  const { list, sm } = composer.compositions('TEST');
  const composition = list.at(-1)!;
  expect(composition.announced).not.toBeNull();
  expect(
    sm.sessions[composition.decision]! < market.dates[260]! && market.dates[260]! <= sm.sessions[composition.session]!,
  ).toBe(true);
  const count = composition.columns.length + 1;
  for (const column of composition.columns) {
    const explanation = explainConstituent(composer, 'TEST', { column, asOf });
    expect(explanation.stayed).toBeCloseTo((count - 1) / count, 12);
    expect(Math.abs(readAppliedWeight(explanation) - explanation.weight!)).toBeLessThan(1e-12);
  }
  expect(explainConstituent(composer, 'TEST', { column: 3, asOf }).weight).toBeNull();
});

test('a rule that reads no constituents states them as well, and memory is explained with its value', () => {
  const document = createRuleDocument(
    {
      selection: [
        { id: 'priced', type: 'ExpressionFilter', params: { expression: parseExpression('CLOSE > 0').tree } },
        { id: 'first', type: 'TopN', params: { field: 'CLOSE', count: 10 } },
      ],
      weighting: {
        type: 'FieldWeight',
        params: { field: parseExpression('1 + reviews_since(is_constituent() == 0, 3)').tree },
      },
    },
    { id: 'MEMORY', base_date: '2020-03-02', rebalance: { frequency: 'monthly' } },
  );
  const composer = createComposer({
    market,
    calendars: CALENDARS,
    documents: { MEMORY: document },
    until: market.dates.at(-1)!,
    createDecider: indexDecider,
  });
  const { list, sm } = composer.compositions('MEMORY');
  for (const k of [0, 1, 3])
    for (const column of list[k]!.columns) {
      const { rules, weighting } = explainConstituent(composer, 'MEMORY', {
        column,
        asOf: sm.sessions[list[k]!.session]!,
      });
      const wasHeld = k > 0 && list[k - 1]!.columns.includes(column);
      expect(rules.map(({ constituent }) => constituent)).toEqual([wasHeld, wasHeld]);
      let count = 0;
      while (count < Math.min(3, k) && list[k - 1 - count]!.columns.includes(column)) count++;
      expect(weighting!.raw).toBe(1 + count);
    }
});
