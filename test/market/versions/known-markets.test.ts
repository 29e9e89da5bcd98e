import { expect, test } from 'vitest';
import type { Run } from '#domain/backtest/run.js';
import { createComposer, type DatedMarkets } from '#domain/books/composer.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { formatDay, parseValidDay } from '#domain/base/time.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import type { MarketData } from '#domain/market/market-data.js';
import { Refusal } from '#domain/base/refusals.js';
import { parseExpression } from '#domain/datapoints/expression-text.js';
import { previewRules } from '#domain/decide/preview.js';
import { computeContentChange, createDatedMarkets } from '#market/content/versions.js';
import {
  randomDefinition,
  randomDerivation,
  randomMarket,
  addVolume,
} from '../../domain/backtest/extend/random-definitions.js';
import { buildMarket, createWeekdayCalendars } from '../../domain/backtest/market-builder.js';
import { CALENDARS, run, runOn, tryRun, type RunRequest } from '../../domain/backtest/random-run.js';
import { fc } from '../../fast-check.js';
import { createDocument } from '../../domain/index-document.js';

const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 12);

interface Vintage {
  readonly knownOn: number;
  readonly content: MarketData;
}

/** Returns the data that decisions know, from several vintages. The vintages are ordered from the earliest. */
function createKnownMarkets(vintages: readonly Vintage[]): DatedMarkets {
  const last = vintages.at(-1)!;
  const earlierVintages = vintages.slice(0, -1).map(({ knownOn, content }, i) => ({
    knownOn,
    change: computeContentChange(content, vintages[i + 1]!.content),
  }));
  return createDatedMarkets(last.content, { knownOn: last.knownOn, earlier: earlierVintages.toReversed() });
}

/**
 * Returns a market up to a date. An additional column contains the number of the vintage as its first value, so that
 * vintages differ from the first day on.
 */
function cutMarketAt(market: MarketData, row: number): MarketData {
  const cells = (row + 1) * market.identifiers.length;
  const mark = new Float64Array(cells).fill(row, 0, 1);
  const panels = [...market.fields].map(([name, panel]) => [name, panel.slice(0, cells)] as const);
  return { ...market, dates: market.dates.slice(0, row + 1), fields: new Map([...panels, ['VINTAGE', mark]]) };
}

/** Returns one vintage per day from a row on. Each vintage is known on its last date. */
function createDailyVintages(from: number, count: number, marketOn: (row: number) => MarketData): Vintage[] {
  return Array.from({ length: count - from }, (_, i) => {
    const content = cutMarketAt(marketOn(from + i), from + i);
    return { knownOn: content.dates.at(-1)!, content };
  });
}

/** Random definitions of any kind. Each includes the definitions on which it depends. */
const randomRun = fc.oneof(
  randomDefinition.map(({ document, parent }) => ({ document, documents: { P: parent } })),
  randomDerivation.map(({ document, parent }) => ({ document, documents: { P: parent } })),
);

/** Returns the weights as they were decided. The weights at the effective close also depend on later prices. */
const listDecidedWeights = ({ index }: Run): unknown[] =>
  index.compositions.list.map(({ date, session, targets, ...composition }) => {
    const { columns, weights } = targets ?? composition;
    return [date, session, [...columns], [...weights]];
  });

const createRequest = (documents: RunRequest['documents'], known?: DatedMarkets): RunRequest => ({
  ...(documents === undefined ? {} : { documents }),
  createDecider: indexDecider,
  transaction_cost_bps: 10,
  ...(known === undefined ? {} : { known }),
});

test('decisions on the data known at the time are those of a plain run, bit for bit, where days were appended and nothing corrected', () => {
  let comparedCount = 0;
  fc.assert(
    fc.property(randomMarket, randomRun, ({ market: priced }, { document, documents }) => {
      const market = addVolume(priced);
      const vintages = createDailyVintages(1, market.dates.length, () => market);
      const last = vintages.at(-1)!.content;
      const plainRun = tryRun(last, document, createRequest(documents));
      if (plainRun === undefined) return;
      const knownRun = run(last, document, createRequest(documents, createKnownMarkets(vintages)));
      expect(listDecidedWeights(knownRun)).toEqual(listDecidedWeights(plainRun));
      expect(knownRun.level).toEqual(plainRun.level);
      comparedCount += 1;
    }),
    { numRuns: RUNS },
  );
  expect(comparedCount).toBeGreaterThan(fc.countDraws(RUNS) / 3);
});

test('a correction changes no decision from before it was known', () => {
  let comparedCount = 0;
  let changedCount = 0;
  fc.assert(
    fc.property(
      randomMarket,
      randomRun,
      fc.array(fc.nat(1000), { minLength: 1, maxLength: 6 }),
      fc.integer({ min: 40, max: 55 }),
      ({ market: priced }, { document, documents }, wrong, row) => {
        const right = addVolume(priced);
        const close = right.fields.get('CLOSE')!.slice();
        for (const cell of wrong) close[(20 + (cell % 20)) * right.identifiers.length + (cell % 7)]! *= 1.5;
        const uncorrectedMarket: MarketData = { ...right, fields: new Map([...right.fields, ['CLOSE', close]]) };
        const vintages = createDailyVintages(1, right.dates.length, (marketRow) =>
          marketRow < row ? uncorrectedMarket : right,
        );
        const last = vintages.at(-1)!.content;
        const knownRun = tryRun(last, document, createRequest(documents, createKnownMarkets(vintages)));
        const neverRun = tryRun(
          cutMarketAt(uncorrectedMarket, right.dates.length - 1),
          document,
          createRequest(documents),
        );
        const plainRun = tryRun(last, document, createRequest(documents));
        if (knownRun === undefined || neverRun === undefined || plainRun === undefined) return;
        const countDecisions = ({ index: { compositions } }: Run): number =>
          compositions.list.filter(({ decision }) => compositions.sm.sessions[decision]! < right.dates[row]!).length;
        expect(countDecisions(knownRun)).toBe(countDecisions(neverRun));
        const [of, as] = [listDecidedWeights(knownRun), listDecidedWeights(neverRun)];
        expect(of.slice(0, countDecisions(knownRun))).toEqual(as.slice(0, countDecisions(neverRun)));
        comparedCount += 1;
        if (JSON.stringify(listDecidedWeights(plainRun)) !== JSON.stringify(of)) changedCount += 1;
      },
    ),
    { numRuns: RUNS },
  );
  expect(comparedCount).toBeGreaterThan(fc.countDraws(RUNS) / 3);
  expect(changedCount).toBeGreaterThan(0);
});

const DATES = ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-08'];
const rightCloses = { A: [10, 10, 20, 20, 30], B: [10, 10, 10, 10, 10] };
/** B had a price of 30 on the 3rd and 4th, which was corrected on the evening of the 5th. */
const wrongCloses = { A: rightCloses.A, B: [10, 30, 30, 10, 10] };
const DAILY = createDocument({
  base_date: '2024-01-02',
  base_value: 100,
  rebalance: { frequency: 'daily' },
  pipeline: { weighting: { type: 'PriceWeight' } },
});

const cut = (close: Record<string, number[]>, count: number): MarketData =>
  buildMarket({
    dates: DATES.slice(0, count),
    close: Object.fromEntries(Object.entries(close).map(([name, values]) => [name, values.slice(0, count)])),
  });

const vintages = [1, 2, 3, 4, 5].map((count) => ({
  knownOn: parseValidDay(DATES[count - 1]!),
  content: cut(count < 4 ? wrongCloses : rightCloses, count),
}));

test('weights are from the prices that were known, levels from those that are known now: by hand', () => {
  const { level, index } = run(cut(rightCloses, 5), DAILY, {
    createDecider: indexDecider,
    known: createKnownMarkets(vintages),
  });
  const weights = [
    [0.5, 0.5],
    [0.25, 0.75],
    [0.4, 0.6],
    [2 / 3, 1 / 3],
    [0.75, 0.25],
  ];
  index.compositions.list.forEach((composition, i) => {
    for (const [k, weight] of composition.weights.entries()) expect(weight).toBeCloseTo(weights[i]![k]!, 14);
  });
  // A has a weight of 1/4 and doubles on the 4th. It has a weight of 2/3 and rises by half on the 8th.
  const levels = [100, 100, 125, 125, 125 * (4 / 3)];
  levels.forEach((value, i) => expect(level[i]).toBeCloseTo(value, 10));
});

test('a rebalance has the composition of a preview on the version of its day', () => {
  const { index } = run(cut(rightCloses, 5), DAILY, {
    createDecider: indexDecider,
    known: createKnownMarkets(vintages),
  });
  vintages.forEach(({ knownOn, content }, i) => {
    const documents = { X: DAILY };
    const composer = createComposer({
      market: content,
      calendars: CALENDARS,
      documents,
      until: knownOn,
      createDecider: indexDecider,
    });
    const { decision } = previewRules(composer, 'X', knownOn).resolved!;
    expect(decision.kind === 'decided' && [...decision.weights]).toEqual([...index.compositions.list[i]!.weights]);
  });
});

test.each(['MAIN', 'OTHER'])('indices that a decision reads are as they were decided by then: on %s', (calendar) => {
  const span = { from: '2024-01-01', to: '2024-01-31' };
  const calendars = createWeekdayCalendars({
    MAIN: { ...span, holidays: [] },
    OTHER: { ...span, holidays: [DATES[1]!] },
  });
  const ask = (id: string): IndexDocument => IndexDocument.parse({ ...DAILY, id, name: id, calendar });
  const documents = { Q: ask('Q'), R: ask('R') };
  const weighting = {
    type: 'FieldWeight',
    params: { field: parseExpression('0.1 + weight_in("Q") + 2 * weight_in("R")').tree },
  };
  const document = IndexDocument.parse({ ...DAILY, pipeline: { weighting } });
  const appendedVintages = DATES.map((date, i) => ({ knownOn: parseValidDay(date), content: cut(rightCloses, i + 1) }));
  const plainRun = runOn(calendars, cut(rightCloses, 5), document, createRequest(documents));
  const knownRun = runOn(
    calendars,
    cut(rightCloses, 5),
    document,
    createRequest(documents, createKnownMarkets(appendedVintages)),
  );
  expect(listDecidedWeights(knownRun)).toEqual(listDecidedWeights(plainRun));
});

test('a day whose prices came on the next one is decided on the day before', () => {
  // each version is known a day after its last date
  const lateVintages = vintages.map(({ content }, i) => ({ knownOn: parseValidDay(DATES[i]!) + 1, content }));
  const { index } = run(
    cut(rightCloses, 5),
    { ...DAILY, base_date: '2024-01-03' },
    {
      createDecider: indexDecider,
      known: createKnownMarkets(lateVintages),
    },
  );
  const first = index.compositions.list.map(({ weights }) => weights[0]!);
  [0.5, 0.25, 0.4, 2 / 3].forEach((weight, i) => expect(first[i], DATES[i + 1]).toBeCloseTo(weight, 14));
});

test('a security that was unknown then is not selected, one that left since is refused, and a later start is waited for', () => {
  const [a, b] = [rightCloses.A, rightCloses.B];
  const grownVintages = [
    { knownOn: parseValidDay(DATES[0]!), content: cut({ B: b }, 1) },
    { knownOn: parseValidDay(DATES[2]!), content: cut({ A: a, B: b }, 5) },
  ];
  const { index } = run(cut({ A: a, B: b }, 5), DAILY, {
    createDecider: indexDecider,
    known: createKnownMarkets(grownVintages),
  });
  expect(index.compositions.list.map(({ weights }) => weights.length)).toEqual([1, 1, 2, 2, 2]);
  const shrunkVintages = [grownVintages[0]!, { knownOn: parseValidDay(DATES[2]!), content: cut({ A: a }, 5) }];
  const createRefusal = (): unknown =>
    run(cut({ A: a }, 5), DAILY, { createDecider: indexDecider, known: createKnownMarkets(shrunkVintages) });
  expect(createRefusal).toThrow(Refusal);
  expect(createRefusal).toThrow(
    'The security B was selected from the data known at that time, but the data of the run does not contain it.',
  );
});

test('a decision from before the first version is refused, with the day of that version', () => {
  const knownMarkets = createKnownMarkets(vintages.slice(2));
  try {
    run(cut(rightCloses, 5), DAILY, { createDecider: indexDecider, known: knownMarkets });
    expect.unreachable();
  } catch (refusal) {
    expect(refusal).toMatchObject({
      code: 'NO_DATA_KNOWN',
      detail: { decision_date: '2024-01-02', first_known_on: '2024-01-04' },
    });
  }
  expect(formatDay(knownMarkets.at(parseValidDay('2024-01-04')).dates.at(-1)!)).toBe('2024-01-04');
});

test('the last content replaces an earlier one if all later data has later dates', () => {
  const appendedVintages = [3, 4, 5].map((count) => ({
    knownOn: parseValidDay(DATES[count - 1]!),
    content: cut(rightCloses, count),
  }));
  const knownMarkets = createKnownMarkets(appendedVintages);
  const last = knownMarkets.at(parseValidDay(DATES[4]!));
  expect(knownMarkets.at(parseValidDay(DATES[2]!))).toBe(last);
  const correctedMarkets = createKnownMarkets([...vintages.slice(0, 3), ...appendedVintages.slice(1)]);
  expect(correctedMarkets.at(parseValidDay(DATES[2]!)).fields.get('CLOSE')![3]).toBe(30);
  expect(correctedMarkets.at(parseValidDay(DATES[3]!)).fields.get('CLOSE')![3]).toBe(10);
});
