import { expect, test } from 'vitest';
import { createDaysCalendar } from '#domain/calendars/calendar.js';
import { type MarketData, narrowMarket } from '#domain/market/market-data.js';

const action = {
  exDay: 11,
  payDay: null,
  status: null,
  announcedDay: null,
  related: null,
  subscriptionPrice: null,
} as const;
const market: MarketData = {
  datasetId: 'm',
  contentHash: 'h',
  adjustment: 'none',
  identifiers: ['A', 'B', 'C'],
  dates: Int32Array.of(10, 11, 12, 15),
  fields: new Map([
    ['CLOSE', Float64Array.of(1, Number.NaN, 9, Number.NaN, Number.NaN, 9, 3, 4, 9, 5, 6, 9)],
    ['VOLUME', new Float64Array(12)],
  ]),
  reference: { columns: ['SECTOR'], rows: new Map([['A', [{ validFrom: null, values: ['X'] }]]]) },
  actions: [
    { ...action, identifier: 'A', type: 'DIVIDEND', value: 1 },
    { ...action, identifier: 'C', type: 'SPLIT', value: 2 },
  ],
  universes: [],
};

test('keeps the days on which one of the securities has a bar, and their actions', () => {
  const narrow = narrowMarket(market, { columns: [0, 1], from: null, to: null });
  expect(narrow.identifiers).toEqual(['A', 'B']);
  expect([...narrow.dates]).toEqual([10, 12, 15]); // on day 11 only C has a price, and C is not selected
  expect([...narrow.fields.get('CLOSE')!]).toEqual([1, Number.NaN, 3, 4, 5, 6]);
  expect([...narrow.fields.keys()]).toEqual(['CLOSE']);
  expect(narrow.actions.map(({ identifier }) => identifier)).toEqual(['A']);
  expect(narrow.reference.columns).toEqual([]);
});

test('keeps sectors, or datapoints from the beginning, for what reads them; never the currency', () => {
  const reference = {
    columns: ['CURRENCY', 'SECTOR'],
    rows: new Map(['A', 'C'].map((name) => [name, [{ validFrom: 12, values: ['USD', `sector of ${name}`] }]])),
  };
  const marketWithReference = { ...market, reference };
  const sectors = narrowMarket(marketWithReference, { columns: [0, 1], from: 12, to: null, keeps: 'reference' });
  expect(sectors.reference).toEqual({
    columns: ['SECTOR'],
    rows: new Map([['A', [{ validFrom: 12, values: ['sector of A'] }]]]),
  });
  expect([...sectors.dates]).toEqual([12, 15]);
  const wholeHistory = narrowMarket(marketWithReference, { columns: [0, 1], from: 12, to: 12, keeps: 'datapoints' });
  expect([...wholeHistory.dates]).toEqual([10, 12]);
  expect([...wholeHistory.fields.keys()]).toEqual(['CLOSE', 'VOLUME']);
  expect(wholeHistory.fields.get('VOLUME')!.length).toBe(4);
});

test('cuts the window, also where it begins and ends between days', () => {
  expect([...narrowMarket(market, { columns: [0, 2], from: 11, to: 14 }).dates]).toEqual([11, 12]);
  expect([...narrowMarket(market, { columns: [0], from: 16, to: null }).dates]).toEqual([]);
});

test('days make a separate calendar', () => {
  const calendar = createDaysCalendar(Int32Array.of(10, 12));
  expect([10, 11, 12].map((day) => calendar.isSession(day))).toEqual([true, false, true]);
  expect(calendar.coverage).toEqual({ from: 10, publishedTo: 12, to: 12 });
});
