import { describe, expect, test } from 'vitest';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { createComposer } from '#domain/books/composer.js';
import { createMethodology } from '#domain/definition/methodology.js';
import {
  alignDays,
  CALENDARS,
  createRuleDocument,
  createGeneratedMarket,
  createTableMarket,
  selectByRule,
  createDeciderOf,
} from './rule-market.js';
import { slowMarket } from './slow-market.js';

/** Ten securities of equal size in two sectors, with scores that rise from A to J. */
const NAMES = ['A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J'];
const sm = alignDays(
  createTableMarket({
    identifiers: NAMES,
    fields: {
      CLOSE: [NAMES.map(() => 1)],
      SIZE: [NAMES.map(() => 10)],
      SCORE: [NAMES.map((_, i) => i + 1)],
    },
    reference: { SECTOR: NAMES.map((_, i) => (i % 2 === 0 ? 'even' : 'odd')) },
  }),
);
const selectIds = (type: string, params: object, incumbents: string[] | null = null) =>
  selectByRule(sm, { type, params }, { incumbents }).join('');

describe('bands of coverage', () => {
  // Sizes are equal, so the best n securities cover n tenths.
  const bands = { field: 'SIZE', rank_field: 'SCORE', coverage: 0.5, lower: 0.3, upper: 0.7 };

  test.each<[string[] | null, string, string]>([
    [null, 'FGHIJ', 'without constituents the best fill up to the coverage'],
    [['C', 'D'], 'DGHIJ', 'a constituent within the upper band stays before others fill up'],
    [['C', 'D', 'E', 'F'], 'DEFHIJ', 'constituents within the upper band stay even beyond the coverage'],
    [['A', 'B'], 'FGHIJ', 'a constituent beyond the upper band leaves'],
    [['J'], 'FGHIJ', 'a constituent within the lower band takes no place of others'],
  ])('constituents %j: %s, as %s', (incumbents, expected) => {
    expect(selectIds('CumulativeCoverage', bands, incumbents)).toBe(expected);
  });

  test('explain the exclusion by the band that a security must reach', () => {
    const pipeline = {
      selection: [{ id: 'x', type: 'CumulativeCoverage', params: bands }],
      weighting: { type: 'EqualWeight' },
    };
    const trace = createDeciderOf(sm, pipeline).trace(0, Int32Array.of(3));
    const readReason = (name: string) => trace.verdicts[0]!.verdict.because(NAMES.indexOf(name));
    expect(readReason('D')).toMatchObject({
      incumbent: true,
      rank: 7,
      cutoff: 7,
      thresholds: [{ type: 'coverage_upper' }],
    });
    expect(readReason('F')).toMatchObject({ rank: 5, thresholds: [{ type: 'fill_up' }], distance: 1 });
    expect(readReason('J')).toMatchObject({ rank: 1, distance: 0 });
  });
});

describe('the security that crosses the coverage', () => {
  // Ten equal sizes: 0.44 lies between 4 and 5 securities, 0.46 too, and 0.45 in the middle.
  const params = { field: 'SIZE', rank_field: 'SCORE', coverage: 0.44 };

  test.each([
    ['include', 0.44, 'FGHIJ'],
    ['exclude', 0.44, 'GHIJ'],
    ['nearest', 0.44, 'GHIJ'],
    ['nearest', 0.46, 'FGHIJ'],
    ['nearest', 0.45, 'FGHIJ'],
    ['include', 0.4, 'GHIJ'],
    ['exclude', 0.4, 'GHIJ'],
    ['nearest', 0.4, 'GHIJ'],
    ['exclude', 0.04, ''],
  ])('with %s and %s: %s', (crossing, coverage, expected) => {
    expect(selectIds('CumulativeCoverage', { ...params, crossing, coverage })).toBe(expected);
  });

  test('is decided in the same way for constituents within the buffer, and for those who fill up', () => {
    const incumbents = [...'ABCDEF'];
    expect(selectIds('CumulativeCoverage', { ...params, buffer: 0.22 }, incumbents)).toBe('DEFGHIJ');
    expect(selectIds('CumulativeCoverage', { ...params, buffer: 0.22, crossing: 'exclude' }, incumbents)).toBe(
      'EFGHIJ',
    );
    const bands = { ...params, coverage: 0.48, lower: 0.25, upper: 0.7 };
    expect(selectIds('CumulativeCoverage', bands, ['D'])).toBe('DGHIJ');
    expect(selectIds('CumulativeCoverage', { ...bands, crossing: 'exclude' }, ['D'])).toBe('DHIJ');
  });

  test('is described with the total in the methodology', () => {
    const document = createRuleDocument({
      selection: [
        { id: 'x', type: 'CumulativeCoverage', params: { ...params, crossing: 'nearest', over: 'universe' } },
      ],
      weighting: { type: 'EqualWeight' },
    });
    expect(createMethodology(document).join(' ')).toContain(
      'keep securities until they cover 44% of the total of the universe of SIZE, including the crossing security if the coverage is then at least as close to the target',
    );
  });
});

test('a coverage of the universe counts excluded securities in its total, by group, on every session', () => {
  const generated = alignDays(createGeneratedMarket({ names: 60, sessions: 200, seed: 9 }));
  const slow = slowMarket(generated.market);
  for (let t = 100; t < 200; t += 5) {
    const universe = slow.identifiers.filter((name) => slow.isPriceable(name, t));
    const read = (field: string, name: string): number | null => slow.latest(field, name, t);
    const sectors = new Set(universe.map((name) => slow.reference(name, 'SECTOR')));
    for (const crossing of ['include', 'exclude', 'nearest']) {
      const expected: string[] = [];
      for (const sector of sectors) {
        const members = universe.filter((name) => slow.reference(name, 'SECTOR') === sector);
        const size = (name: string): number => read('FREE_FLOAT_MARKET_CAP', name) ?? 0;
        const target = 0.5 * members.reduce((sum, name) => sum + size(name), 0);
        const ranked = members
          .filter((name) => (read('SCORE', name) ?? -Infinity) >= -0.5)
          .toSorted((a, b) => read('SCORE', b)! - read('SCORE', a)! || (a < b ? -1 : 1));
        const sums = ranked.map((_, i) => ranked.slice(0, i + 1).reduce((sum, name) => sum + size(name), 0));
        const crossed = sums.findIndex((sum) => sum >= target);
        const isNearer = sums[crossed]! - target <= target - (sums[crossed - 1] ?? 0);
        const isKept = crossing === 'include' || (crossing === 'nearest' && isNearer);
        expected.push(...ranked.slice(0, crossed < 0 ? ranked.length : isKept ? crossed + 1 : crossed));
      }
      const decision = createDeciderOf(generated, {
        selection: [
          { id: 'excluded', type: 'RangeFilter', params: { field: 'SCORE', minimum: -0.5 } },
          {
            id: 'covered',
            type: 'CumulativeCoverage',
            params: { coverage: 0.5, rank_field: 'SCORE', group_by: 'SECTOR', crossing, over: 'universe' },
          },
        ],
        weighting: { type: 'EqualWeight' },
      }).decide(t, null);
      const names = decision.kind === 'decided' ? Array.from(decision.columns, (i) => generated.identifiers[i]!) : [];
      expect(names.toSorted()).toEqual(expected.toSorted());
    }
  }
});

test('a buffer in groups counts ranks and constituents in each group', () => {
  const params = { field: 'SCORE', count: 2, enter_rank: 1, exit_rank: 3, group_by: 'SECTOR' };
  expect(selectIds('BufferedTopN', params)).toBe('GHIJ');
  // E is third of A, C, E, G and I. B is beyond the exit rank of its group.
  expect(selectIds('BufferedTopN', params, ['E', 'B'])).toBe('EHIJ');
});

describe('a fallback', () => {
  const createRule = (fallback: unknown) => ({
    selection: [{ id: 'x', type: 'RangeFilter', params: { field: 'SCORE', minimum: 9 }, fallback }],
    weighting: { type: 'EqualWeight' },
  });
  const decideRule = (fallback: unknown) => {
    const decision = createDeciderOf(sm, createRule(fallback)).decide(0, null);
    return decision.kind === 'decided' ? Array.from(decision.columns, (column) => NAMES[column]).join('') : '';
  };

  test('applies step by step while fewer securities than its number remain', () => {
    expect(decideRule([])).toBe('IJ');
    expect(decideRule([{ when_fewer_than: 2, params: { minimum: 5 } }])).toBe('IJ');
    expect(decideRule([{ when_fewer_than: 3, params: { minimum: 8 } }])).toBe('HIJ');
    const steps = [
      { when_fewer_than: 3, params: { minimum: 9.5 } },
      { when_fewer_than: 3, params: { minimum: 7 } },
      { when_fewer_than: 3, params: { minimum: 1 } },
    ];
    expect(decideRule(steps)).toBe('GHIJ');
  });

  test('is described in the methodology and reads the fields of its parameters', () => {
    const document = createRuleDocument(createRule([{ when_fewer_than: 3, params: { field: 'SIZE', minimum: 8 } }]));
    expect(createMethodology(document).join(' ')).toContain(
      'If fewer than 3 remain, instead: Keep securities with a SIZE at least 8',
    );
  });
});

describe('sets of universes', () => {
  const market = createGeneratedMarket({ names: 30, sessions: 120, seed: 4 });
  const createDocumentNamed = (id: string, rest: Record<string, unknown>) =>
    createRuleDocument(
      {
        selection: [{ id: 'x', type: 'TopN', params: { field: 'SCORE', count: 8 } }],
        weighting: { type: 'EqualWeight' },
      },
      { id, base_date: '2020-03-02', rebalance: { frequency: 'monthly' }, ...rest },
    );
  const large = createDocumentNamed('LARGE', { rebalance: { frequency: 'monthly', effective_lag: 5 } });
  const list = { kind: 'list', identifiers: market.identifiers.slice(0, 12) };
  const composeUniverse = (universe: unknown) => {
    const document = createDocumentNamed('SET', { universe });
    const composer = createComposer({
      market,
      calendars: CALENDARS,
      documents: { LARGE: large, SET: document },
      until: market.dates.at(-1)!,
      createDecider: indexDecider,
    });
    const session = composer.market('SET').sessions.length - 2;
    const decidedWeights = composer.decidedOn('LARGE', session)!;
    const all = createDocumentNamed('ALL', {});
    const everythingComposer = createComposer({
      market,
      calendars: CALENDARS,
      documents: { ALL: all },
      until: market.dates.at(-1)!,
      createDecider: indexDecider,
    }).universe('ALL', session);
    return {
      found: Array.from(composer.universe('SET', session)),
      all: Array.from(everythingComposer),
      index: Array.from(decidedWeights.columns),
    };
  };
  const isFirst = (column: number) => column < 12;

  test('have the members of any, of all, or of the first set alone', () => {
    const index = { kind: 'index', id: 'LARGE' };
    const union = composeUniverse({ kind: 'union', of: [list, index] });
    expect(union.found).toEqual(union.all.filter((column) => isFirst(column) || union.index.includes(column)));
    const intersection = composeUniverse({ kind: 'intersection', of: [list, index, { kind: 'all' }] });
    expect(intersection.found).toEqual(
      intersection.all.filter((column) => isFirst(column) && intersection.index.includes(column)),
    );
    const otherUniverse = composeUniverse({ kind: 'difference', of: [{ kind: 'all' }, index, list] });
    expect(otherUniverse.found).toEqual(
      otherUniverse.all.filter((column) => !isFirst(column) && !otherUniverse.index.includes(column)),
    );
    expect(otherUniverse.found.length).toBeGreaterThan(0);
    const nestedUniverse = composeUniverse({
      kind: 'difference',
      of: [list, { kind: 'intersection', of: [list, index] }],
    });
    expect(nestedUniverse.found).toEqual(
      nestedUniverse.all.filter((column) => isFirst(column) && !nestedUniverse.index.includes(column)),
    );
  });

  test('are described in the methodology', () => {
    const document = createDocumentNamed('SET', {
      universe: { kind: 'difference', of: [{ kind: 'all' }, { kind: 'index', id: 'LARGE' }] },
    });
    expect(createMethodology(document).join(' ')).toContain(
      'The universe is the securities in (every security with a price on the decision date) and in none of (the constituents of the index LARGE as last decided).',
    );
  });
});
