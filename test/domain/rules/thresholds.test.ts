import { describe, expect, test } from 'vitest';
import { TreatmentSpec } from '#domain/definition/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { findSelectionClass, SELECTION_CLASSES } from '#domain/definition/rule-pipeline.js';
import { createIndexCrossSections } from '#domain/decide/rule-decider.js';
import type { Verdict } from '#domain/definition/selection.js';
import { alignDays, createGeneratedMarket, createGenerator, createTableMarket } from './rule-market.js';

/** Scores in descending order. The first security has 100 and ranks first, the next has 90, and so on. */
const SCORES = [100, 90, 80, 70, 60, 50, 40, 30, 20, 10];
const NAMES = SCORES.map((_, i) => `R${String(i + 1).padStart(2, '0')}`);

interface Question {
  readonly type: string;
  readonly params: Readonly<Record<string, unknown>>;
  /** Ranks of the previous constituents. It is null at the first rebalance. */
  readonly constituents?: readonly number[] | null;
  readonly scores?: readonly (number | null)[];
}

function explainRanks({ type, params, constituents = null, scores = SCORES }: Question) {
  const market = createTableMarket({
    identifiers: NAMES,
    fields: { CLOSE: [scores.map(() => 10)], SHARES_OUTSTANDING: [scores.map(() => 1)], SCORE: [[...scores]] },
  });
  const verdict = decideRule(market, { type, params, constituents: constituents?.map((rank) => rank - 1) ?? null });
  return (rank: number) => ({ kept: verdict.kept[rank - 1] === 1, ...verdict.because(rank - 1) });
}

interface RuleCase {
  readonly type: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly constituents: readonly number[] | null;
}

/** Returns the decision of a rule on the last session. It covers all securities with a price. */
function decideRule(market: MarketData, { type, params, constituents }: RuleCase): Verdict {
  const sm = alignDays(market);
  const session = sm.sessions.length - 1;
  const columns = Int32Array.from(sm.identifiers.keys()).filter((column) => sm.isPriceable(session, column, 5));
  const cross = createIndexCrossSections({ market: sm, treatment: TreatmentSpec.parse({}), currency: 'USD' }).at(
    session,
    columns,
  );
  const incumbents = constituents === null ? null : new Uint8Array(sm.securityCount);
  for (const column of constituents ?? []) incumbents![column] = 1;
  return findSelectionClass(type)!.bind(params).select({ cross, columns, identifiers: sm.identifiers, incumbents });
}

describe('a buffer', () => {
  const explainBuffered = (params: object, constituents: readonly number[] | null) =>
    explainRanks({ type: 'BufferedTopN', params: { field: 'SCORE', ...params }, constituents });

  test('compares a constituent with the exit rank, a new security with the enter rank, and others with the rank of the last one added', () => {
    // Ranks 1 and 2 enter. The constituent with rank 6 stays within 7. Ranks 3 and 4 complete the count of five.
    const explainRank = explainBuffered({ count: 5, enter_rank: 2, exit_rank: 7 }, [1, 6, 9]);
    expect(explainRank(1)).toMatchObject({ kept: true, threshold: 40, cutoff: 7, distance: 0, incumbent: false });
    expect(explainRank(2)).toMatchObject({
      kept: true,
      threshold: 90,
      cutoff: 2,
      thresholds: [{ type: 'enter_rank' }],
    });
    expect(explainRank(4)).toMatchObject({ kept: true, threshold: 70, cutoff: 4, thresholds: [{ type: 'fill_up' }] });
    expect(explainRank(6)).toMatchObject({ kept: true, threshold: 40, cutoff: 7, distance: 0, incumbent: true });
    expect(explainRank(5)).toMatchObject({
      kept: false,
      threshold: 70,
      cutoff: 4,
      distance: 10,
      thresholds: [{ type: 'fill_up', rank: 4, value: 70, met: false, distance: 10 }],
      test: 'SCORE, largest first, rank at most 4, because the count was complete',
    });
    expect(explainRank(9)).toMatchObject({
      kept: false,
      threshold: 40,
      cutoff: 7,
      distance: 20,
      thresholds: [{ type: 'exit_rank', rank: 7, value: 40, met: false, distance: 20 }],
      test: 'SCORE, largest first, rank at most 7, the exit rank of constituents',
    });
  });

  test('without a free slot reports to a constituent the rank at which the slots were filled', () => {
    // Ranks 1 to 3 enter. The constituent with rank 4 is the last to stay. Rank 5 is also within the exit rank, but
    // comes after 4.
    const explainRank = explainBuffered({ count: 4, enter_rank: 3, exit_rank: 6 }, [1, 2, 4, 5, 8]);
    const places = { type: 'places', rank: 4, value: 70, met: false };
    // A constituent that enters by its rank needs none of the remaining places.
    expect(explainRank(2).thresholds).toEqual([{ type: 'exit_rank', rank: 6, value: 50, met: true, distance: 0 }]);
    expect(explainRank(5)).toMatchObject({ kept: false, threshold: 70, cutoff: 4, distance: 10, incumbent: false });
    expect(explainRank(5).thresholds).toEqual([
      { ...places, distance: 10 },
      { type: 'exit_rank', rank: 6, value: 50, met: true, distance: 0 },
    ]);
    // For a security beyond the exit rank, the exit rank is the first threshold that it misses.
    expect(explainRank(8)).toMatchObject({ kept: false, threshold: 50, cutoff: 6, distance: 20 });
    expect(explainRank(8).thresholds).toEqual([
      { type: 'exit_rank', rank: 6, value: 50, met: false, distance: 20 },
      { ...places, distance: 40 },
    ]);
    // The remaining places stay empty, because a newcomer must reach the enter rank.
    expect(explainRank(7)).toMatchObject({
      threshold: 80,
      cutoff: 3,
      distance: 40,
      thresholds: [{ type: 'enter_rank' }],
    });
  });

  test('does not apply at the first rebalance', () => {
    const explainRank = explainBuffered({ count: 4, enter_rank: 3, exit_rank: 6 }, null);
    for (const rank of [1, 5, 8])
      expect(explainRank(rank)).toMatchObject({ threshold: 70, cutoff: 4, thresholds: [{ type: 'count', rank: 4 }] });
  });

  test('of coverage is the bound for constituents', () => {
    // 100 + 90 + 80 of 550 are the first half. With 70 more the sum is 340. So the buffer of 60 % ends with the fourth
    // security.
    const explainRank = explainRanks({
      type: 'CumulativeCoverage',
      params: { field: 'SCORE', coverage: 0.45, buffer: 0.15 },
      constituents: [4, 6],
    });
    expect(explainRank(3)).toMatchObject({ kept: true, cutoff: 3, thresholds: [{ type: 'coverage' }] });
    expect(explainRank(4)).toMatchObject({
      kept: true,
      cutoff: 4,
      incumbent: true,
      thresholds: [{ type: 'coverage_buffer' }],
    });
    expect(explainRank(5)).toMatchObject({ kept: false, cutoff: 3, threshold: 80, distance: 20 });
    expect(explainRank(6)).toMatchObject({ kept: false, cutoff: 4, threshold: 70, distance: 20 });
  });
});

describe('a bound', () => {
  test('of constituents is the bound that a constituent had to meet', () => {
    const explainRank = explainRanks({
      type: 'MarketCapFilter',
      params: { minimum: 12, maximum: 40, incumbent_minimum: 9 },
      constituents: [1],
    });
    const maximum = { type: 'maximum', rank: null, value: 40, met: true, distance: 0 };
    expect(explainRank(1)).toMatchObject({ kept: true, value: 10, threshold: 9, distance: 0, incumbent: true });
    expect(explainRank(1).thresholds).toEqual([
      { type: 'incumbent_minimum', rank: null, value: 9, met: true, distance: 0 },
      maximum,
    ]);
    expect(explainRank(2)).toMatchObject({ kept: false, threshold: 12, distance: 2, incumbent: false });
    expect(explainRank(2).thresholds).toEqual([
      { type: 'minimum', rank: null, value: 12, met: false, distance: 2 },
      maximum,
    ]);
  });

  test('on a score is reported next to the rank, the tighter of the two first', () => {
    const createComposite = (params: object, scores?: readonly (number | null)[]) =>
      explainRanks({
        type: 'CompositeScore',
        params: { terms: [{ field: 'SCORE' }], missing: 'include', ...params },
        ...(scores ? { scores } : {}),
      });
    // The z-scores of the scores 100 to 10 are (score - 55) / sqrt(825). Six of them are above -0.5.
    const deviation = Math.sqrt(825);
    const explainFew = createComposite({ count: 8, minimum: -0.5 });
    expect(explainFew(8)).toMatchObject({ kept: false, threshold: -0.5, cutoff: 6 });
    expect(explainFew(8).distance).toBeCloseTo(25 / deviation - 0.5, 12);
    expect(explainFew(8).thresholds.map(({ type, met }) => [type, met])).toEqual([
      ['minimum', false],
      ['count', true],
    ]);
    const explainMany = createComposite({ count: 3, minimum: -0.5 });
    expect(explainMany(5)).toMatchObject({ kept: false, cutoff: 3 });
    expect(explainMany(5).threshold).toBeCloseTo(25 / deviation, 12);
    expect(explainMany(5).distance).toBeCloseTo(20 / deviation, 12);
    expect(explainMany(5).thresholds.map(({ type, met }) => [type, met])).toEqual([
      ['count', false],
      ['minimum', true],
    ]);
    // A security without a score is kept because missing values are kept. It is not kept because it is a constituent.
    const explainMissing = createComposite({ count: 8, minimum: -0.5 }, [...SCORES.slice(0, 9), null]);
    expect(explainMissing(10)).toMatchObject({ kept: true, value: null, incumbent: false, distance: 0 });
  });
});

/** Rules that rank by SCORE or limit SCORE, in a random market. */
const MOVABLE = [
  { type: 'BufferedTopN', params: { field: 'SCORE', count: 12, enter_rank: 8, exit_rank: 18 } },
  { type: 'BufferedTopN', params: { field: 'SCORE', count: 12, enter_rank: 12, exit_rank: 12, ascending: true } },
  { type: 'TopN', params: { field: 'SCORE', count: 3, group_by: 'SECTOR' } },
  { type: 'TopFraction', params: { field: 'SCORE', fraction: 0.3 } },
  { type: 'GroupLimit', params: { field: 'SECTOR', rank_field: 'SCORE', maximum: 3 } },
  { type: 'RangeFilter', params: { field: 'SCORE', minimum: -0.5, maximum: 1 } },
  { type: 'FieldFilter', params: { field: 'SCORE', comparison: 'ge', value: 0.5 } },
];

describe.each([3, 5])('in a market of chance (seed %i)', (seed) => {
  const market = createGeneratedMarket({ names: 50, sessions: 40, seed });
  const random = createGenerator(seed);
  const constituents = market.identifiers.flatMap((_, column) => (random() < 0.35 ? [column] : []));

  test.each(MOVABLE)('a security moved past every reported bound under $type $params is kept', ({ type, params }) => {
    const scores = market.fields.get('SCORE')!;
    const last = scores.length - market.identifiers.length;
    const sm = alignDays(market);
    const pricedColumns = [...sm.identifiers.keys()].filter((column) =>
      sm.isPriceable(sm.sessions.length - 1, column, 5),
    );
    const before = decideRule(market, { type, params, constituents });
    let movedCount = 0;
    pricedColumns.forEach((column, position) => {
      const { value, thresholds, distance, threshold, cutoff } = before.because(position);
      const [decisive] = thresholds;
      // A security without a score on the day has no score to change.
      if (value === null || Number.isNaN(scores[last + column]!)) return;
      expect([threshold, cutoff, distance]).toEqual([decisive!.value, decisive!.rank, decisive!.distance]);
      expect(thresholds.every(({ met }) => met)).toBe(before.kept[position] === 1);
      if (before.kept[position] === 1) return;
      const missedThresholds = thresholds.filter(({ met }) => !met);
      const furthest = missedThresholds.toSorted((a, b) => b.distance! - a.distance!)[0]!;
      const step = Math.sign(furthest.value! - (value as number)) || ('ascending' in params ? -1 : 1);
      const changedScores = scores.slice();
      // The score moves slightly beyond the threshold, so that an equal value cannot rank before it. A bound is reached
      // exactly.
      changedScores[last + column] = furthest.value! + (furthest.rank === null ? 0 : step * 1e-9);
      const after = decideRule(
        { ...market, fields: new Map([...market.fields, ['SCORE', changedScores]]) },
        { type, params, constituents },
      );
      expect(after.kept[position]).toBe(1);
      movedCount++;
    });
    expect(movedCount).toBeGreaterThan(5);
  });
});

describe('with its example', () => {
  const generatedMarket = createGeneratedMarket({ names: 60, sessions: 330, seed: 9 });
  const { columns, rows } = generatedMarket.reference;
  const market = {
    ...generatedMarket,
    reference: {
      columns: [...columns, 'CURRENCY'],
      rows: new Map(
        [...rows].map(([name, spells]) => [
          name,
          spells.map((spell) => ({ ...spell, values: [...spell.values, 'USD'] })),
        ]),
      ),
    },
  };
  const constituents = market.identifiers.flatMap((_, column) => (column % 3 === 0 ? [column] : []));

  test.each(SELECTION_CLASSES)(
    '$type keeps a security that has a value exactly when it met every reported bound',
    (rule) => {
      const exampleParams = rule.example['params'] as Record<string, unknown>;
      // A parameter contains the name of a plug-in where another rule would have a column.
      const params = rule.takesPlugin === true ? { plugin: 'CLOSE' } : exampleParams;
      const verdict = decideRule(market, { type: rule.type, params, constituents });
      verdict.kept.forEach((isKept, position) => {
        const { value, thresholds } = verdict.because(position);
        if (value === null || thresholds.length === 0) return;
        expect(thresholds.every(({ met }) => met)).toBe(isKept === 1);
        for (const { met, distance } of thresholds) expect(met ? distance === 0 : distance! >= 0).toBe(true);
      });
    },
  );
});
