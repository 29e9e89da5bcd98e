import { expect, test } from 'vitest';
import { formatDay, parseValidDay, toWeekday } from '#domain/base/time.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { type CandidateTerms, evaluateTerms } from '#domain/studies/difference-terms.js';
import { seeded } from '../../seeded.js';
import { type ActionSketch, buildMarket } from '../backtest/market-builder.js';
import { CALENDARS, explainCase, round, withActions, withBars, withDocument } from './planted-differences.js';

/** The first eight securities are in the universe U; weights follow the number of shares. */
const NAMES = Array.from({ length: 12 }, (_, k) => `N${String(k).padStart(2, '0')}`);

/** Column of N03: the exchange rate is the first one. */
const COLUMN = 4;

const DATES: string[] = [];
for (let day = parseValidDay('2020-01-02'); DATES.length < 100; day++)
  if (toWeekday(day) < 5) DATES.push(formatDay(day));

/** Returns the position of the first session of a month. */
const firstOf = (month: string): number => DATES.findIndex((date) => date.startsWith(month));

interface IndexTerms {
  readonly actions?: readonly ActionSketch[];
  /** Changes of the document. */
  readonly document?: Readonly<Record<string, unknown>>;
  readonly treatment?: Readonly<Record<string, unknown>>;
  readonly weighting?: Readonly<Record<string, unknown>>;
  readonly selection?: readonly unknown[];
}

/** Returns an index of the universe U, which is reviewed on the first session of each month. */
function createIndex({ actions = [], document = {}, treatment = {}, weighting = {}, selection = [] }: IndexTerms = {}) {
  const next = seeded(11);
  const moves = NAMES.map(() => DATES.map(() => 1 + 0.04 * (next() - 0.5)));
  const close = Object.fromEntries(
    NAMES.map((name, k) => {
      let price = 40 + 5 * k;
      return [name, DATES.map((_, t) => Math.round(100 * (price *= moves[k]![t]!)) / 100)];
    }),
  );
  const market = buildMarket({
    dates: DATES,
    close: { ...close, EURUSD: DATES.map((_, t) => Math.round(1e4 * (1.1 + 0.02 * Math.sin(t / 5))) / 1e4) },
    fields: {
      SHARES_OUTSTANDING: Object.fromEntries(NAMES.map((name, k) => [name, DATES.map(() => 100_000 * (20 - k))])),
      FREE_FLOAT: Object.fromEntries(NAMES.map((name) => [name, DATES.map(() => 1)])),
    },
    universes: NAMES.slice(0, 8).map((identifier) => ({ universe: 'U', identifier, start: null, end: null })),
    actions,
    reference: Object.fromEntries(NAMES.map((name) => [name, { CURRENCY: 'USD', COUNTRY: 'US' }])),
  });
  const terms: CandidateTerms = {
    market,
    documents: {
      X: IndexDocument.parse({
        id: 'X',
        name: 'X',
        calendar: 'MAIN',
        base_date: DATES[1],
        base_value: 1000,
        universe: { kind: 'named', id: 'U' },
        rebalance: { frequency: 'monthly', anchor: 'first_session' },
        pipeline: {
          selection,
          treatment: { dividends: 'total', ...treatment },
          weighting: { type: 'MarketCapWeight', ...weighting },
        },
        ...document,
      }),
    },
    indexId: 'X',
    variant: 'total',
    calendars: CALENDARS,
    createDecider: indexDecider,
    end: parseValidDay(DATES.at(-1)!),
    reading: [],
  };
  return { ...terms, variant: terms.documents['X']!.pipeline!.treatment.dividends };
}

/** Explains the levels of a changed index by the index. */
function explain(
  terms: CandidateTerms,
  changed: CandidateTerms,
  { decimals = 8 }: { readonly decimals?: number } = {},
) {
  const { days, levels } = evaluateTerms(changed);
  return explainCase({ terms, outside: { days, values: round(levels, decimals) }, decimals, plants: [] });
}

const name = ({
  subject,
  manner,
  identifier,
  date,
}: {
  subject: string;
  manner: string;
  identifier: string | null;
  date: string | null;
}) => `${subject} ${manner} ${identifier} ${date}`;

/** The four largest securities by price and number of shares. */
const TOP = [{ id: 'size', type: 'TopN', params: { field: 'MARKET_CAP', count: 4 } }];

/** Returns an index whose universe has other members at one review. */
function changeUniverse(terms: CandidateTerms, at: number, change: (members: string[]) => string[]): CandidateTerms {
  const members = NAMES.slice(0, 8);
  const restored = { kind: 'named', id: 'U', identifiers: null };
  const held = { kind: 'list', id: null, identifiers: change(members) };
  return withDocument(terms, 'X', (own) => ({
    ...own,
    amendments: [
      { effective_from: DATES[at], changes: { universe: held } },
      { effective_from: DATES[firstOf('2020-04')], changes: { universe: restored } },
    ],
  }));
}

test('a constituent from outside the universe is found', () => {
  const terms = createIndex();
  const at = firstOf('2020-03');
  const { causes, reproduced } = explain(
    terms,
    changeUniverse(terms, at, (members) => [...members, 'N10']),
  );
  expect(causes.map(name)).toEqual([`constituent added N10 ${DATES[at]}`]);
  expect(reproduced).toBe(true);
});

test('a constituent from outside the universe that a selection holds instead of its last one is found', () => {
  // 20 x 40, 19 x 45, 18 x 50, 17 x 55 ... : the market values of N03 to N08 are the largest ones.
  const terms = createIndex({ selection: TOP });
  const at = firstOf('2020-03');
  const { causes, reproduced } = explain(
    terms,
    changeUniverse(terms, at, (members) => [...members, 'N08']),
  );
  expect(causes.map(name)).toEqual([`constituent added N08 ${DATES[at]}`]);
  expect(reproduced).toBe(true);
});

test('a constituent that another one replaces from before the first outside level is found up to the next review', () => {
  const terms = createIndex();
  const [first, at] = [DATES[1]!, DATES[firstOf('2020-02')]!];
  const changed = withDocument(terms, 'X', (own) => ({
    ...own,
    universe: { kind: 'list', identifiers: [...NAMES.slice(0, 8).filter((one) => one !== 'N02'), 'N10'] },
    amendments: [{ effective_from: at, changes: { universe: { kind: 'named', id: 'U', identifiers: null } } }],
  }));
  const { days, levels } = evaluateTerms(changed);
  const outside = { days: days.slice(6), values: round(levels.slice(6), 8) };
  const { causes, reproduced } = explainCase({ terms, outside, decimals: 8, plants: [] });
  expect(causes.map((cause) => [name(cause), cause.through]).toSorted()).toEqual([
    [`constituent added N10 ${first}`, at],
    [`constituent ignored N02 ${first}`, at],
  ]);
  expect(reproduced).toBe(true);
});

/** Returns an index that also holds a security at its reviews from a session on. */
function holdAlso(terms: CandidateTerms, from: number, security: string): CandidateTerms {
  const { list, sm } = evaluateTerms(terms).rule;
  const reviews = list.filter(({ date }) => date >= parseValidDay(DATES[from]!));
  return withDocument(terms, 'X', (own) => ({
    ...own,
    amendments: reviews.map(({ date, targets, decided, columns }) => {
      const names = [...(targets ?? decided ?? { columns }).columns].map((column) => sm.identifiers[column]!);
      return {
        effective_from: formatDay(date),
        changes: {
          universe: { kind: 'list', id: null, identifiers: [...new Set([...names, security])] },
          pipeline: { selection: [] },
        },
      };
    }),
  }));
}

test('a constituent that is held in addition to a selection to the end is one cause, also with another one before the next review', () => {
  const terms = createIndex({ selection: TOP });
  const at = firstOf('2020-03');
  const changed = withBars(holdAlso(terms, at, 'N00'), 'CLOSE', (panel, width) => {
    panel[(at + 6) * width + COLUMN + 2] = panel[(at + 5) * width + COLUMN + 2]!;
  });
  const { causes, reproduced } = explain(terms, changed);
  expect(causes.map((cause) => [name(cause), cause.through])).toEqual([
    [`constituent added N00 ${DATES[at]}`, null],
    [`price carried N05 ${DATES[at + 6]}`, DATES[at + 6]],
  ]);
  expect(reproduced).toBe(true);
});

test('a constituent that is held in addition to one that leaves between the decision of a review and its effect is found', () => {
  const at = firstOf('2020-05');
  const terms = createIndex({
    selection: TOP,
    weighting: { cap: 0.3 },
    document: { rebalance: { frequency: 'monthly', anchor: 'first_session', effective_lag: 5 } },
    actions: [{ name: 'N05', type: 'ACQUISITION', value: 60, ex: DATES[at - 2]! }],
  });
  const { causes, reproduced } = explain(terms, holdAlso(terms, at, 'N00'));
  expect(causes.map(name)).toEqual([`constituent added N00 ${DATES[at]}`]);
  expect(reproduced).toBe(true);
});

test.each([
  ['fee added null null', (level: number, t: number) => level * 0.99 ** (t / 365), 0],
  ['calendar early null null', (level: number) => level, 1],
])(
  'a constituent that is left out from the start is found below a convention of all levels: %s',
  (found, change, by) => {
    const terms = createIndex();
    const without = withDocument(terms, 'X', (own) => ({
      ...own,
      universe: { kind: 'list', identifiers: NAMES.slice(0, 8).filter((one) => one !== 'N02') },
    }));
    const { days, levels } = evaluateTerms(without);
    const values = levels.slice(by, by + 60).map((level, t) => change(level, days[t]! - days[0]!));
    const outside = { days: days.slice(0, 60), values: round(values, 8) };
    const { causes, reproduced } = explainCase({ terms, outside, decimals: 8, plants: [] });
    expect(causes.map(name).toSorted()).toEqual([found, 'constituent ignored N02 null'].toSorted());
    expect(reproduced).toBe(true);
  },
);

test('a review on the session of a change of the universe, on which the run has none, is found', () => {
  const at = firstOf('2020-03') + 8;
  const index = createIndex();
  const joined = { universe: 'U', identifier: 'N09', start: parseValidDay(DATES[at]!), end: null };
  const terms = { ...index, market: { ...index.market, universes: [...index.market.universes, joined] } };
  const dates = ['2020-02', '2020-03', '2020-04', '2020-05'].map((month) => DATES[firstOf(month)]!);
  const changed = withDocument(terms, 'X', (own) => ({
    ...own,
    rebalance: { frequency: 'custom', dates: [...dates, DATES[at]!].toSorted() },
  }));
  const { causes, reproduced } = explain(terms, changed);
  expect(causes.map(name)).toEqual([`rebalance added null ${DATES[at]}`]);
  expect(reproduced).toBe(true);
});

test('a constituent that a selection replaces by the next one is found', () => {
  const terms = createIndex({ selection: TOP });
  const at = firstOf('2020-03');
  const without = changeUniverse(terms, at, (members) => members.filter((one) => one !== 'N06'));
  const { causes, reproduced } = explain(terms, without);
  expect(causes.map(name)).toEqual([`constituent ignored N06 ${DATES[at]}`]);
  expect(reproduced).toBe(true);
});

test.each([
  [0.1, 3],
  [0.5, 10],
  [2, 0.1],
])('the ratio of a split of %d for which an outside level used %d is found', (own, used) => {
  const terms = createIndex({ actions: [{ name: 'N02', type: 'SPLIT', value: own, ex: DATES[30]! }] });
  const changed = withActions(terms, (actions) => actions.map((action) => ({ ...action, value: used })));
  const { causes, reproduced } = explain(terms, changed);
  expect(causes.map((cause) => [name(cause), cause.value])).toEqual([[`split value N02 ${DATES[30]}`, used]]);
  expect(reproduced).toBe(true);
});

test.each([
  ['ignored', (t: number) => t >= 30 && t < firstOf('2020-03')],
  ['late', (t: number) => t === 30],
])(
  'a change of a number of shares between reviews that an outside level adopted not or late is found: %s',
  (manner, isOld) => {
    const set = (terms: CandidateTerms, isChanged: (t: number) => boolean): CandidateTerms =>
      withBars(terms, 'SHARES_OUTSTANDING', (panel, width) => {
        const column = terms.market.identifiers.indexOf('N04');
        for (let t = 30; t < DATES.length; t++) if (isChanged(t)) panel[t * width + column]! *= 1.2;
      });
    const index = createIndex({ document: { events: { share_changes: 'effective', threshold: 0.05 } } });
    const { causes, reproduced } = explain(
      set(index, () => true),
      set(index, (t) => !isOld(t)),
    );
    expect(causes.map(name)).toEqual([`shares ${manner} N04 ${DATES[30]}`]);
    expect(reproduced).toBe(true);
  },
);

test('a level that continues from its rounded level at another scale is found', () => {
  // Outside: 7.3 times the level, each from the previous one with 2 decimals.
  const terms = createIndex();
  const { days, levels } = evaluateTerms(terms);
  const values = levels.slice();
  values[0] = 7300;
  for (let t = 1; t < values.length; t++)
    values[t] = Math.round(((values[t - 1]! * levels[t]!) / levels[t - 1]!) * 100) / 100;
  const { causes, reproduced, scale } = explainCase({ terms, outside: { days, values }, decimals: 2, plants: [] });
  expect(causes.map((cause) => [name(cause), cause.value])).toEqual([['rounding value null null', 2]]);
  expect(causes[0]!.change.rounding).toEqual({ chained_level: 2, chained_scale: 7.3 });
  expect(scale).toBeCloseTo(7.3, 4);
  expect(reproduced).toBe(true);
});

test('a dividend of which the outside level used an amount with one more decimal is found', () => {
  const terms = createIndex({ actions: [{ name: 'N02', type: 'DIVIDEND', value: 1.01, ex: DATES[30]! }] });
  const changed = withActions(terms, (actions) => actions.map((action) => ({ ...action, value: 0.758 })));
  const { causes, reproduced } = explain(terms, changed);
  expect(causes.map((cause) => [name(cause), cause.value])).toEqual([[`dividend value N02 ${DATES[30]}`, 0.758]]);
  expect(reproduced).toBe(true);
});

test('a price that moves by a tenth and back beyond the price before is a bad print', () => {
  const set = (price: number): CandidateTerms =>
    withBars(createIndex(), 'CLOSE', (panel, width) => {
      [50, price, 47].forEach((close, k) => (panel[(29 + k) * width + COLUMN] = close));
    });
  const { causes, reproduced } = explain(set(55), set(48.5));
  expect(causes.map((cause) => [name(cause), cause.value])).toEqual([[`price value N03 ${DATES[30]}`, 48.5]]);
  expect(reproduced).toBe(true);
});

test('a review that is left out and its only change of a number of shares are ties', () => {
  // Weights that follow the number of shares change at a review only with it.
  const set = (last: number): CandidateTerms =>
    withBars(createIndex(), 'SHARES_OUTSTANDING', (panel, width) => {
      for (let t = 30; t < DATES.length; t++) panel[t * width + COLUMN]! *= t < last ? 1 : 1.01;
    });
  const at = firstOf('2020-03');
  const { causes } = explain(set(30), set(at + 1));
  expect(causes.flatMap((cause) => [cause, ...cause.ties].map(name)).toSorted()).toEqual([
    `rebalance ignored null ${DATES[at]}`,
    `shares ignored N03 ${DATES[30]}`,
  ]);
});

test('levels from outside on no session of the run are counted', () => {
  const terms = createIndex();
  const { days, levels } = evaluateTerms(terms);
  // 2020-01-11 is a Saturday, and the run begins on 2020-01-03.
  const added = ['2020-01-02', '2020-01-11'].map(parseValidDay);
  const all = [...days, ...added].toSorted((a, b) => a - b);
  const values = Float64Array.from(all, (day) => levels[days.indexOf(day)] ?? 1000);
  const { sessions } = explainCase({
    terms,
    outside: { days: Int32Array.from(all), values },
    decimals: null,
    plants: [],
  });
  expect([sessions.unmatched, sessions.common, sessions.equal]).toEqual([2, days.length, days.length]);
});
