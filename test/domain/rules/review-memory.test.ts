import { describe, expect, test } from 'vitest';
import { computeLookBack, createDecider } from '#domain/decide/rule-decider.js';
import { parseExpression } from '#domain/datapoints/expression-text.js';
import { createComposer } from '#domain/books/composer.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import type { MarketData } from '#domain/market/market-data.js';
import { alignDays, CALENDARS, createDeciderOf, createRuleDocument, createTableMarket } from './rule-market.js';

/** Number of sessions. Reviews are monthly, on the last session of a month, and on the first session. */
const SESSIONS = 190;
const NAMES = ['A', 'B', 'C', 'D', 'E'];
const readScore = (name: number, t: number): number => 50 + 40 * Math.sin(1.3 * name + t / (9 + 4 * name));
/** E is listed on session 60. */
const isListed = (name: number, t: number): boolean => name < 4 || t >= 60;
const readRows = (read: (name: number, t: number) => number) =>
  Array.from({ length: SESSIONS }, (_, t) => NAMES.map((_, name) => (isListed(name, t) ? read(name, t) : null)));
const market = createTableMarket({
  identifiers: NAMES,
  fields: { CLOSE: readRows(() => 10), SCORE: readRows(readScore) },
});
const sm = alignDays(market);
const monthOf = (t: number): number => new Date(sm.sessions[t]! * 864e5).getUTCMonth();
const isReview = (t: number): boolean => t === 0 || (t < SESSIONS - 1 && monthOf(t + 1) !== monthOf(t));
const schedule = { rebalance: { frequency: 'monthly' } };
const listReviews = (t: number): number[] => Array.from({ length: t }, (_, i) => t - 1 - i).filter(isReview);

const decider = createDeciderOf(sm, { weighting: { type: 'EqualWeight' } }, schedule);
/** Returns the values of the securities that are listed on a session. */
function evaluate(text: string, t: number, of = decider): number[] {
  const { cross } = of.trace(t, null);
  return [...cross.numbers(parseExpression(text).tree, cross.universe)];
}
const listNames = (t: number): number[] => NAMES.flatMap((_, name) => (isListed(name, t) ? [name] : []));

describe('the memory of reviews', () => {
  test('has the value of the last review and of the one before it, on every session', () => {
    for (let t = 0; t < SESSIONS; t++) {
      const [last, second] = listReviews(t);
      const read = (at: number | undefined) =>
        listNames(t).map((name) => (at === undefined || !isListed(name, at) ? Number.NaN : readScore(name, at)));
      expect(evaluate('last_review(SCORE)', t)).toEqual(read(last));
      expect(evaluate('last_review(last_review(SCORE))', t)).toEqual(read(second));
    }
  });

  test('ranks securities among the universe of the earlier review', () => {
    for (let t = 0; t < SESSIONS; t++) {
      const [last] = listReviews(t);
      const ranks = listNames(t).map((name) => {
        if (last === undefined || !isListed(name, last)) return Number.NaN;
        return listNames(last).filter((other) => readScore(other, last) > readScore(name, last)).length + 1;
      });
      expect(evaluate('last_review(rank(SCORE, over="universe"))', t)).toEqual(ranks);
    }
  });

  test('counts the reviews since a condition was true, this one included', () => {
    for (let t = 0; t < SESSIONS; t++) {
      const moments = [t, ...listReviews(t)];
      const count = (most: number) =>
        listNames(t).map((name) => {
          const known = moments.slice(0, most);
          const position = known.findIndex((at) => isListed(name, at) && readScore(name, at) >= 70);
          return position < 0 ? known.length : position;
        });
      expect(evaluate('reviews_since(SCORE >= 70, 3)', t)).toEqual(count(3));
      expect(evaluate('reviews_since(SCORE >= 70)', t)).toEqual(count(12));
    }
  });

  test('has the value at the latest review at which a condition was true, this one included', () => {
    for (let t = 0; t < SESSIONS; t++) {
      const moments = [t, ...listReviews(t)];
      const read = (most: number) =>
        listNames(t).map((name) => {
          const at = moments.slice(0, most).find((one) => isListed(name, one) && readScore(name, one) >= 70);
          return at === undefined ? Number.NaN : readScore(name, at);
        });
      expect(evaluate('value_when(SCORE, SCORE >= 70, 3)', t)).toEqual(read(3));
      expect(evaluate('value_when(SCORE, SCORE >= 70)', t)).toEqual(read(12));
      expect(evaluate('value_when(SCORE, SCORE >= 70, 1)', t)).toEqual(read(1));
    }
  });

  test('keeps a value in a buffer as a state that changes only outside it, from the first review of a security on', () => {
    // The definition: the state at each review is the new value outside 40 to 60 or at the first review, else the old one.
    const keep = 'value_when(SCORE, SCORE < 40 or SCORE > 60 or coalesce(last_review(in_universe()), 0) == 0, 40)';
    const states = new Map<number, number>();
    for (let t = 0; t < SESSIONS; t++) {
      const now = new Map(
        listNames(t).map((name) => {
          const score = readScore(name, t);
          const isKept = states.has(name) && score >= 40 && score <= 60;
          return [name, isKept ? states.get(name)! : score];
        }),
      );
      expect(evaluate(keep, t)).toEqual([...now.values()]);
      if (isReview(t)) for (const [name, value] of now) states.set(name, value);
    }
  });

  test('knows the universe of earlier reviews: a security counts the reviews for which it has been in it', () => {
    // D leaves the universe on session 100 and returns on session 125, although it always has a price.
    const isInside = (name: number, t: number) => isListed(name, t) && (name !== 3 || t < 100 || t >= 125);
    const bounded = createDecider({
      document: createRuleDocument({ weighting: { type: 'EqualWeight' } }, schedule),
      market: sm,
      universe: (t) => Int32Array.from(NAMES.keys()).filter((name) => isInside(name, t)),
    });
    for (let t = 0; t < SESSIONS; t++) {
      const { cross } = bounded.trace(t, null);
      const columns = Int32Array.from(listNames(t));
      const read = (text: string) => [...cross.numbers(parseExpression(text).tree, columns)];
      expect(read('in_universe()')).toEqual(listNames(t).map((name) => Number(isInside(name, t))));
      const moments = [t, ...listReviews(t)].slice(0, 4);
      expect(read('reviews_since(in_universe() == 0, 4)')).toEqual(
        listNames(t).map((name) => {
          // A security without a price yet has no value, which is not outside.
          const position = moments.findIndex((at) => isListed(name, at) && !isInside(name, at));
          return position < 0 ? moments.length : position;
        }),
      );
    }
  });

  test('combines both: the number of reviews since a rank improved', () => {
    const text = 'reviews_since(rank(SCORE, over="universe") < last_review(rank(SCORE, over="universe")), 2)';
    const t = 170;
    const moments = [t, ...listReviews(t)];
    const rank = (name: number, at: number) =>
      listNames(at).filter((other) => readScore(other, at) > readScore(name, at)).length + 1;
    expect(evaluate(text, t)).toEqual(
      listNames(t).map((name) => {
        const position = [0, 1].findIndex((k) => rank(name, moments[k]!) < rank(name, moments[k + 1]!));
        return position < 0 ? 2 : position;
      }),
    );
  });

  test('reads nothing after the decision, and no session before the reviews that it names', () => {
    const rows = 150;
    const cut = {
      ...market,
      dates: market.dates.slice(0, rows),
      fields: new Map([...market.fields].map(([name, panel]) => [name, panel.slice(0, rows * NAMES.length)])),
    };
    const early = createDeciderOf(alignDays(cut), { weighting: { type: 'EqualWeight' } }, schedule);
    for (const text of ['last_review(last_review(SCORE))', 'reviews_since(SCORE >= 70, 4)'])
      expect(evaluate(text, rows - 1, early)).toEqual(evaluate(text, rows - 1));
    const lookBack = (text: string): number => {
      const field = parseExpression(text).tree;
      const selection = [{ id: 'x', type: 'RangeFilter', params: { field, minimum: 0 } }];
      const document = createRuleDocument({ selection, weighting: { type: 'EqualWeight' } }, schedule);
      return computeLookBack({ document, sm, decision: 150 }).session;
    };
    const reviews = listReviews(150);
    const base = lookBack('SCORE');
    expect(base - lookBack('last_review(SCORE)')).toBe(150 - reviews[0]!);
    expect(base - lookBack('reviews_since(SCORE > 1, 4)')).toBe(150 - reviews[2]!);
    expect(base - lookBack('last_review(reviews_since(SCORE > 1, 3))')).toBe(150 - reviews[2]!);
  });

  test('keeps a member until it has been outside the first two for two reviews', () => {
    const keep = 'reviews_since(rank(SCORE, over="universe") <= 2, 2)';
    const rules = {
      selection: [{ id: 'x', type: 'RangeFilter', params: { field: parseExpression(keep).tree, maximum: 1 } }],
      weighting: { type: 'EqualWeight' },
    };
    const ruled = createDeciderOf(sm, rules, schedule);
    for (let t = 1; t < SESSIONS; t++) {
      if (!isReview(t)) continue;
      const isFirst = (name: number, at: number) =>
        isListed(name, at) && listNames(at).filter((other) => readScore(other, at) > readScore(name, at)).length < 2;
      const expected = listNames(t).filter((name) => isFirst(name, t) || isFirst(name, listReviews(t)[0]!));
      const decision = ruled.decide(t, null);
      expect(decision.kind === 'decided' ? [...decision.columns] : []).toEqual(expected);
    }
  });
});

/** Returns the market with its last sessions removed. */
const cutMarket = (whole: MarketData, rows: number): MarketData => ({
  ...whole,
  dates: whole.dates.slice(0, rows),
  fields: new Map([...whole.fields].map(([name, panel]) => [name, panel.slice(0, rows * NAMES.length)])),
});

/** Index of the three best scores whose weights remember: its compositions by session. */
function composeRemembering(text: string, on: MarketData, known?: (day: number) => MarketData) {
  const document = createRuleDocument(
    {
      selection: [{ id: 'best', type: 'TopN', params: { field: 'SCORE', count: 3 } }],
      weighting: { type: 'FieldWeight', params: { field: parseExpression(`1 + coalesce(${text}, 0)`).tree } },
    },
    { ...schedule, id: 'OWN' },
  );
  const composer = createComposer({
    market: on,
    calendars: CALENDARS,
    documents: { OWN: document },
    until: on.dates.at(-1)!,
    createDecider: indexDecider,
    ...(known === undefined ? {} : { known: { at: known } }),
  });
  return composer.compositions('OWN').list.map(({ session, columns, weights }) => ({
    session,
    weights: Object.fromEntries([...columns].map((column, k) => [NAMES[column]!, weights[k]!])),
  }));
}

type Composed = ReturnType<typeof composeRemembering>;

/** Returns weights that are proportional to 1 and a number by security, for the securities of a composition. */
function weighBy({ weights }: Composed[number], count: (name: string) => number): Record<string, number> {
  const values = Object.keys(weights).map((name) => [name, 1 + count(name)] as const);
  const sum = values.reduce((total, [, value]) => total + value, 0);
  return Object.fromEntries(values.map(([name, value]) => [name, expect.closeTo(value / sum, 12) as number]));
}

/** Returns the number of reviews up to a review before which a security was a constituent, at most `most`. */
function countMember(list: Composed, k: number, name: string, most: number): number {
  let count = 0;
  while (count < most && k - 1 - count >= 0 && name in list[k - 1 - count]!.weights) count++;
  return count;
}

describe('the memory of the own constituents', () => {
  test('counts the reviews before which a security was a constituent without a break', () => {
    const list = composeRemembering('reviews_since(is_constituent() == 0, 4)', market);
    expect(list.length).toBeGreaterThan(8);
    const counts = list.flatMap((composition, k) => {
      expect(composition.weights).toEqual(weighBy(composition, (name) => countMember(list, k, name, 4)));
      return Object.keys(composition.weights).map((name) => countMember(list, k, name, 4));
    });
    expect(new Set(counts)).toEqual(new Set([0, 1, 2, 3, 4]));
  });

  test('has the constituents before the last review', () => {
    const list = composeRemembering('last_review(is_constituent())', market);
    list.forEach((composition, k) => {
      const before = (name: string): number => Number(k >= 2 && name in list[k - 2]!.weights);
      expect(composition.weights).toEqual(weighBy(composition, before));
    });
  });

  const TEXTS = [
    'last_review(SCORE) / 100',
    'last_review(last_review(rank(SCORE, over="universe")))',
    'reviews_since(SCORE >= 70, 3)',
    'value_when(SCORE, SCORE >= 70, 6)',
    'reviews_since(in_universe() == 0, 4)',
    'last_review(is_constituent())',
    'reviews_since(is_constituent() == 0, 4)',
  ];

  test.each(TEXTS)('reads nothing after a decision: %s', (text) => {
    const whole = composeRemembering(text, market);
    for (const rows of [61, 104, 150]) {
      const cut = composeRemembering(text, cutMarket(market, rows));
      expect(cut).toEqual(whole.slice(0, cut.length));
    }
  });

  /** Scores of all sessions are corrected on session 110. */
  const corrected = createTableMarket({
    identifiers: NAMES,
    fields: { CLOSE: readRows(() => 10), SCORE: readRows((name, t) => 100 - readScore(name, t)) },
  });
  const knownAt = (day: number): MarketData => {
    const rows = sm.sessionAt(day) + 1;
    return cutMarket(rows <= 110 ? market : corrected, rows);
  };

  test.each(TEXTS)('decides on what was known, and remembers what was decided: %s', (text) => {
    const list = composeRemembering(text, corrected, knownAt);
    const first = composeRemembering(text, market);
    const later = composeRemembering(text, corrected);
    const isOwn = text.includes('is_constituent');
    list.forEach((composition, k) => {
      const version = composition.session < 110 ? first : later;
      expect(Object.keys(composition.weights)).toEqual(Object.keys(version[k]!.weights));
      if (!isOwn) expect(composition).toEqual(version[k]);
      else if (text.startsWith('reviews_since'))
        expect(composition.weights).toEqual(weighBy(composition, (name) => countMember(list, k, name, 4)));
      else
        expect(composition.weights).toEqual(
          weighBy(composition, (name) => Number(k >= 2 && name in list[k - 2]!.weights)),
        );
    });
    const next = list.findIndex(({ session }) => session >= 110);
    expect(Object.keys(list[next - 1]!.weights)).not.toEqual(Object.keys(later[next - 1]!.weights));
  });
});
