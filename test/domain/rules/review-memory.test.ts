import { describe, expect, test } from 'vitest';
import { computeLookBack, createDecider } from '#domain/decide/rule-decider.js';
import { parseExpression } from '#domain/datapoints/expression-text.js';
import { alignDays, createDeciderOf, createRuleDocument, createTableMarket } from './rule-market.js';

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
