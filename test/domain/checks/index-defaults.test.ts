import { expect, test } from 'vitest';
import { findIndexDefaults } from '#domain/definition/required-rates.js';
import type { ReferenceValue } from '#domain/market/market-data.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { buildMarket } from '../backtest/market-builder.js';

type Reference = Record<string, Record<string, ReferenceValue>>;

const CLOSE = { A: [100, 110], B: [50, 51] };
const findDefaults = (reference: Reference, currency: string | null = null, dates = ['2024-03-04', '2024-03-05']) =>
  findIndexDefaults({ ...buildMarket({ dates, close: CLOSE, reference }), currency }, openCalendars());

test('a new index has the only currency and the calendar of the only exchange of the securities', () => {
  const german = { CURRENCY: 'EUR', EXCHANGE: 'XETR' };
  expect(findDefaults({ A: german, B: german })).toEqual({
    currency: 'EUR',
    calendar: 'XETR',
    base_date: '2024-03-04',
  });
  expect(findDefaults({ A: german, B: { CURRENCY: 'EUR', EXCHANGE: 'XPAR' } })).toMatchObject({
    currency: 'EUR',
    calendar: null,
  });
  expect(findDefaults({ A: { EXCHANGE: 'NOWHERE' } }).calendar).toBeNull();
});

test('several currencies leave the currency that the store declares, and pence count as pounds', () => {
  const mixed = { A: { CURRENCY: 'EUR' }, B: { CURRENCY: 'CHF' } };
  expect(findDefaults(mixed).currency).toBeNull();
  expect(findDefaults(mixed, 'JPY').currency).toBe('JPY');
  expect(findDefaults({}, 'JPY').currency).toBe('JPY');
  expect(findDefaults({ A: { CURRENCY: 'GBX' }, B: { CURRENCY: 'GBP' } }).currency).toBe('GBP');
});

test('the base date is one year after the first date if the store is longer', () => {
  expect(findDefaults({}, null, ['2022-01-03', '2024-03-05']).base_date).toBe('2023-01-03');
});
