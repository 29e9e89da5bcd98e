import { describe, expect, test } from 'vitest';
import { referenceEngine } from '#kernels/engines/reference.js';
import { createComposer } from '#domain/books/composer.js';
import { createIndexDeciders } from '#domain/optimisation/derived-index.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { explainWeight, isDerivedExplanation, type SecuritySolve } from '#domain/optimisation/explanation.js';
import { CALENDARS, createRuleDocument, createGeneratedMarket } from '../rules/rule-market.js';

const market = createGeneratedMarket({ names: 30, sessions: 320, seed: 4 });
const parent = createRuleDocument(
  {
    selection: [{ id: 'size', type: 'TopN', params: { field: 'MARKET_CAP', count: 20 } }],
    weighting: { type: 'MarketCapWeight', cap: 0.15 },
  },
  { id: 'PARENT', base_date: '2020-06-01', rebalance: { frequency: 'quarterly' } },
);

/** Securities of the parent at its last rebalance. */
const PARENT_NAMES = ((): readonly string[] => {
  const { sm, parentComposition } = explainRows([]);
  return Array.from(parentComposition.columns, (column) => sm.identifiers[column]!);
})();

interface Row {
  readonly id: string;
  readonly type: string;
  readonly params: Readonly<Record<string, unknown>>;
}

function explainRows(constraints: readonly Row[], rest: { readonly lag?: number } = {}) {
  const source = {
    ...parent,
    rebalance: { ...parent.rebalance, effective_lag: rest.lag ?? 0, weights_as: 'weights' as const },
  };
  const { base_date, base_value, currency, calendar, rebalance } = source;
  const child = IndexDocument.parse({
    id: 'CHILD',
    name: 'Child',
    base_date,
    base_value,
    currency,
    calendar,
    rebalance,
    derivation: { source_index_id: 'PARENT', objective: 'min_tracking_error', constraints },
  });
  const asOf = market.dates.at(-1)!;
  const composer = createComposer({
    market,
    calendars: CALENDARS,
    documents: { PARENT: source, CHILD: child },
    until: asOf,
    createDecider: createIndexDeciders(referenceEngine),
  });
  const { list, sm } = composer.compositions('CHILD');
  const composition = list.at(-1)!;
  const explanation = Array.from(sm.identifiers, (_, column) => {
    const explanation = explainWeight(composer, 'CHILD', { column, asOf, engine: referenceEngine });
    if (!isDerivedExplanation(explanation)) throw new Error('a derived index is explained by its optimisation');
    return explanation;
  });
  return {
    explanation,
    composition,
    composer,
    sm,
    parentComposition: composer.compositions('PARENT').list.at(-1)!,
  };
}

/** Computes the weight of a security by hand, from the explanation only. */
function computeByHand({
  sourceWeight,
  pull,
  force,
  stiffness,
  lower,
  upper,
  heldBy,
  heldAt,
  scale,
}: SecuritySolve): number {
  const freeWeight = sourceWeight - (pull + force) / stiffness;
  const restedWeight = heldBy === 'kink' ? heldAt! : Math.min(upper, Math.max(lower, freeWeight));
  return restedWeight * scale;
}

interface Case {
  readonly name: string;
  readonly rows: (parent: readonly string[]) => readonly Row[];
  /** Reasons why securities have their weights. Each reason must occur in the case. */
  readonly holds?: readonly SecuritySolve['heldBy'][];
  /** True if rows that choose securities add further forces. */
  readonly isChoice?: boolean;
}

const createPosition = (params: object): Row => ({ id: 'pos', type: 'PositionBounds', params: { ...params } });

const CASES: readonly Case[] = [
  { name: 'no rows', rows: () => [] },
  { name: 'position bounds', rows: () => [createPosition({ upper: 0.07 })], holds: ['upper'] },
  {
    name: 'sector bounds',
    rows: () => [
      { id: 'sector', type: 'GroupBounds', params: { field: 'SECTOR', upper: 0.22 } },
      createPosition({ upper: 0.1 }),
    ],
    holds: ['upper'],
  },
  {
    name: 'an average',
    rows: () => [
      {
        id: 'score',
        type: 'WeightedAverage',
        params: { field: 'SCORE', upper: 0.9, relative: true, missing: 'renormalise' },
      },
    ],
  },
  {
    name: 'an exposure',
    rows: () => [{ id: 'tilt', type: 'FactorExposure', params: { field: 'SCORE', lower: 1.2 } }],
    holds: ['lower'],
  },
  {
    name: 'a soft turnover limit and a soft sector bound',
    rows: () => [
      { id: 'tilt', type: 'FactorExposure', params: { field: 'SCORE', lower: 0.8 } },
      { id: 'turn', type: 'Turnover', params: { limit: 0.05, soft: 0.01 } },
      { id: 'sector', type: 'GroupBounds', params: { field: 'SECTOR', upper: 0.25, soft: 0.01 } },
    ],
    holds: ['kink'],
  },
  { name: 'an effective number', rows: () => [{ id: 'spread', type: 'EffectiveNumber', params: { minimum: 18 } }] },
  { name: 'a volatility limit', rows: () => [{ id: 'calm', type: 'Volatility', params: { limit: 0.082 } }] },
  { name: 'soft bounds of names', rows: () => [createPosition({ upper: 0.04, soft: 0.001 })], holds: ['kink'] },
  {
    name: 'a number of names',
    rows: () => [{ id: 'count', type: 'Cardinality', params: { maximum: 12 } }, createPosition({ upper: 0.2 })],
    holds: ['fixed'],
    isChoice: true,
  },
  {
    name: 'names left out and frozen',
    rows: ([first, second]) => [
      { id: 'out', type: 'Exclude', params: { identifiers: [first] } },
      { id: 'stay', type: 'Freeze', params: { identifiers: [second] } },
    ],
    holds: ['fixed'],
  },
];

describe('the explanation of a solved weight', () => {
  test.for(CASES)('replays by hand to 1e-12 under $name', ({ rows, holds = [], isChoice = false }) => {
    const { explanation, composition, parentComposition, sm } = explainRows(rows(PARENT_NAMES));
    const heldReasons = new Set<string>();
    for (const [column, { solve, weight, stayed, inUniverse, source }] of explanation.entries()) {
      const position = composition.columns.indexOf(column);
      expect(weight).toBe(position < 0 ? null : composition.weights[position]);
      expect(inUniverse).toBe(parentComposition.columns.includes(column));
      expect(solve === null).toBe(!inUniverse);
      expect(source).toMatchObject({
        rebalance: parentComposition.date,
        asOf: sm.sessions[parentComposition.session],
        drift: null,
      });
      if (solve === null) continue;
      heldReasons.add(solve.heldBy);
      expect(solve.sourceWeight).toBe(source.weight);
      expect(Math.abs(computeByHand(solve) / stayed - (weight ?? 0))).toBeLessThan(1e-12);
      const explanation = solve.rows.reduce((sum, { force }) => sum + force, 0);
      if (!isChoice) expect(Math.abs(explanation - solve.force)).toBeLessThanOrEqual(1e-14);
      for (const { side, force } of solve.rows) {
        expect(side.slack).toBeCloseTo(
          side.side === 'eq'
            ? 0
            : Math.max(0, side.side === 'upper' ? side.limit - side.value : side.value - side.limit),
          14,
        );
        if (!side.isBinding && side.placed.origin.soft === null) expect(force).toBe(0);
      }
    }
    expect([...heldReasons]).toEqual(expect.arrayContaining([...holds]));
  });

  test('names rows by their measure: a coefficient is the change of the value, a force its price', () => {
    const { explanation, composition, sm } = explainRows([
      { id: 'sector', type: 'GroupBounds', params: { field: 'SECTOR', upper: 0.22 } },
      { id: 'score', type: 'WeightedAverage', params: { field: 'SCORE', upper: 0.9, relative: true } },
    ]);
    const scores = market.fields.get('SCORE')!;
    const row = sm.rows.startOf(composition.decision);
    const bySector = new Map<string, number>();
    const getSector = (column: number) =>
      String(
        market.reference.rows.get(sm.identifiers[column]!)?.[0]?.values[market.reference.columns.indexOf('SECTOR')] ??
          null,
      );
    composition.columns.forEach((column, k) =>
      bySector.set(getSector(column), (bySector.get(getSector(column)) ?? 0) + composition.weights[k]!),
    );
    for (const [column, { solve }] of explanation.entries()) {
      if (solve === null) continue;
      const sector = solve.rows.find(({ side }) => side.placed.origin.id === 'sector' && side.side === 'upper');
      if (sector !== undefined) {
        expect(sector).toMatchObject({ coefficient: 1 });
        expect(sector.side.limit).toBe(0.22);
        expect(sector.side.value).toBeCloseTo(bySector.get(getSector(column))!, 10);
        expect(sector.force + sector.side.shadowPrice).toBeCloseTo(0, 14);
      }
      // The average is over invested weights that sum to 1. So a security above the average raises it by the
      // difference.
      const score = solve.rows.find(({ side }) => side.placed.origin.id === 'score');
      const ownScore = scores[row + column]!;
      if (score !== undefined && !Number.isNaN(ownScore))
        expect(score.coefficient).toBeCloseTo(ownScore - score.side.value, 10);
    }
  });

  test('of securities that left between decision and effect states the remaining share', () => {
    const { explanation, composition } = explainRows([createPosition({ upper: 0.07 })], { lag: 2 });
    for (const { solve, weight, stayed } of explanation)
      if (solve !== null && weight !== null)
        expect(Math.abs(computeByHand(solve) / stayed - weight)).toBeLessThan(1e-12);
    expect(composition.announced).not.toBeNull();
  });
});
