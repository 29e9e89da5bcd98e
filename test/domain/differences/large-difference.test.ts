import { expect, test } from 'vitest';
import { roundHalfAwayFromZero } from '#domain/base/numbers.js';
import { formatDay, parseValidDay, toWeekday } from '#domain/base/time.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import type { CorporateAction } from '#domain/market/market-data.js';
import { indexDecider } from '#domain/optimisation/derived-index.js';
import { evaluateTerms, type CandidateTerms } from '#domain/studies/difference-terms.js';
import { explainDifference } from '#domain/studies/differences.js';
import { seeded } from '../../seeded.js';
import { buildMarket, createWeekdayCalendars } from '../backtest/market-builder.js';

const SESSIONS = 5200;
const SECURITIES = 600;
const HELD = 500;

/** Returns a market of 20 years with dividends, splits, changing share counts and bad prints. */
function createLargeMarket(): CandidateTerms['market'] {
  const next = seeded(7);
  const dates: number[] = [];
  for (let day = parseValidDay('2004-01-02'); dates.length < SESSIONS; day++) if (toWeekday(day) < 5) dates.push(day);
  const identifiers = Array.from({ length: SECURITIES }, (_, k) => `S${String(k).padStart(4, '0')}`);
  const base = buildMarket({
    dates: [formatDay(dates[0]!)],
    close: Object.fromEntries(identifiers.map((name) => [name, [1]])),
    actions: [{ name: identifiers[0]!, type: 'DIVIDEND', value: 1, ex: formatDay(dates[0]!) }],
    reference: Object.fromEntries(identifiers.map((name) => [name, { CURRENCY: 'USD' }])),
  });
  const close = new Float64Array(SESSIONS * SECURITIES);
  const shares = new Float64Array(SESSIONS * SECURITIES);
  const actions: CorporateAction[] = [];
  identifiers.forEach((identifier, column) => {
    let [price, count] = [20 + 180 * next(), Math.round(1e6 * (1 + 50 * next()))];
    const [paysAt, splitAt, printAt] = [63, SESSIONS * 2, SESSIONS * 5].map((range) => Math.floor(next() * range));
    const act = (type: CorporateAction['type'], value: number, row: number): void =>
      void actions.push({ ...base.actions[0]!, identifier, type, value, exDay: dates[row]! });
    for (let row = 0; row < SESSIONS; row++) {
      price *= Math.exp(0.027 * (next() + next() + next() + next() - 2) + 0.0002);
      const dividend = Math.round(price * (0.3 + 0.4 * next())) / 100;
      if (row > 0 && row % 63 === paysAt && dividend > 0) {
        price -= dividend;
        act('DIVIDEND', dividend, row);
      }
      const ratio = row === splitAt ? 2 : row % 50 === 0 && price > 800 ? 10 : row % 50 === 0 && price < 2 ? 0.1 : 1;
      if (ratio !== 1) {
        [price, count] = [price / ratio, Math.round(count * ratio)];
        act('SPLIT', ratio, row);
      }
      if (next() < 0.002) count = Math.round(count * (0.97 + 0.08 * next()));
      const printed = row === printAt ? price * 1.15 : price;
      close[row * SECURITIES + column] = Math.max(0.01, Math.round(printed * 100) / 100);
      shares[row * SECURITIES + column] = count;
    }
  });
  const fields = new Map([
    ['CLOSE', close],
    ['SHARES_OUTSTANDING', shares],
  ]);
  return { ...base, dates: Int32Array.from(dates), fields, actions };
}

test.each([
  ['4 decimals', 4],
  ['2 decimals', 2],
])(
  'four causes in 20 years of an index of 500 securities with %s are found in a few seconds of processor time',
  (_, decimals) => {
    const market = createLargeMarket();
    const names = market.identifiers.slice(0, HELD);
    const X = IndexDocument.parse({
      id: 'X',
      name: 'X',
      calendar: 'MAIN',
      base_date: formatDay(market.dates[1]!),
      base_value: 1000,
      universe: { kind: 'list', identifiers: names },
      rebalance: { frequency: 'quarterly', anchor: 'third_friday', effective_lag: 2 },
      pipeline: { treatment: { dividends: 'total' }, weighting: { type: 'MarketCapWeight', cap: 0.05 } },
    });
    const terms: CandidateTerms = {
      market,
      documents: { X },
      indexId: 'X',
      variant: 'total',
      calendars: createWeekdayCalendars({ MAIN: { from: '2003-12-01', to: '2026-12-31' } }),
      createDecider: indexDecider,
      end: market.dates.at(-1)!,
      reading: [],
    };
    const shares = market.fields.get('SHARES_OUTSTANDING')!;
    const measureValue = (name: string): number => {
      const cell = 500 * SECURITIES + market.identifiers.indexOf(name);
      return market.fields.get('CLOSE')![cell]! * shares[cell]!;
    };
    // Small causes of the largest securities are visible in a level with 2 decimals.
    const [largest, second] = names.toSorted((a, b) => measureValue(b) - measureValue(a)) as [string, string];
    const find = (type: CorporateAction['type'], from: number, some: readonly string[]): CorporateAction =>
      market.actions.find(
        (one) => one.type === type && one.exDay > market.dates[from]! && some.includes(one.identifier),
      )!;
    const [dividend, split] = [find('DIVIDEND', 500, [largest]), find('SPLIT', 2900, names)];
    const late = { ...split, exDay: market.dates[market.dates.indexOf(split.exDay) + 1]! };
    const close = market.fields.get('CLOSE')!.slice();
    const at = (row: number, column: number): number => close[row * SECURITIES + column]!;
    const isPrint = (row: number, column: number): boolean => {
      const [before, print, after] = [at(row - 1, column), at(row, column), at(row + 1, column)];
      return print / before > 1.1 && print / after > 1.1 && Math.max(before / after, after / before) < 1.03;
    };
    let [row, column] = [1600, 0];
    while (!isPrint(row, column)) [row, column] = column + 1 < HELD ? [row, column + 1] : [row + 1, 0];
    close[row * SECURITIES + column] = Math.round(50 * (at(row - 1, column) + at(row + 1, column))) / 100;
    const { list, sm } = evaluateTerms(terms).compositions;
    const [review, following] = [list[Math.floor(0.8 * list.length)]!, list[Math.floor(0.8 * list.length) + 1]!];
    const without = names.filter((name) => name !== second);
    const outside = evaluateTerms({
      ...terms,
      documents: {
        X: IndexDocument.parse({
          ...X,
          amendments: [
            { effective_from: formatDay(review.date), changes: { universe: { identifiers: without } } },
            { effective_from: formatDay(following.date), changes: { universe: { identifiers: names } } },
          ],
        }),
      },
      market: {
        ...market,
        fields: new Map([...market.fields, ['CLOSE', close]]),
        actions: market.actions.flatMap((one) => (one === dividend ? [] : one === split ? [late] : [one])),
      },
    });
    const before = process.cpuUsage();
    const { causes, complete } = explainDifference({
      terms,
      outside: { days: outside.days, values: outside.levels.map((level) => roundHalfAwayFromZero(level, decimals)) },
      decimals,
      variant: 'total',
      currency: null,
      ownVariant: 'total',
      causesMax: 12,
      known: [],
      report: () => {},
    });
    const { user, system } = process.cpuUsage(before);
    const day = (session: number): string => formatDay(sm.sessions[session]!);
    expect(causes.map(({ subject, manner, identifier, date }) => [subject, manner, identifier, date])).toEqual([
      ['dividend', 'ignored', dividend.identifier, formatDay(dividend.exDay)],
      ['price', 'value', names[column], formatDay(market.dates[row]!)],
      ['split', 'late', split.identifier, formatDay(split.exDay)],
      ['constituent', 'ignored', second, day(review.session)],
    ]);
    expect(complete).toBe(true);
    // Alone on a machine it takes about 8 seconds.
    expect((user + system) / 1e6).toBeLessThan(30);
  },
  120_000,
);
