import { describe, expect, test } from 'vitest';
import { createPair, findUnit, isCurrency } from '#domain/market/rates.js';
import { DeclaredCurrency } from '#domain/definition/datasets.js';

/** Minor units in the spellings of exchanges and vendors, with their main units by ISO 4217. */
const UNITS = [
  ['GBX', 'GBP', 0.01],
  ['GBx', 'GBP', 0.01],
  ['GBp', 'GBP', 0.01],
  ['ZAC', 'ZAR', 0.01],
  ['ZAc', 'ZAR', 0.01],
  ['ZAr', 'ZAR', 0.01],
  ['ILA', 'ILS', 0.01],
  ['ILs', 'ILS', 0.01],
  ['USd', 'USD', 0.01],
  ['USX', 'USD', 0.01],
  ['EUr', 'EUR', 0.01],
  ['KWd', 'KWD', 0.001],
  ['KWF', 'KWD', 0.001],
  ['BHd', 'BHD', 0.001],
  ['OMr', 'OMR', 0.001],
  ['IQd', 'IQD', 0.001],
  ['AEd', 'AED', 0.01],
  ['SAr', 'SAR', 0.01],
] as const;

describe('a minor unit of a currency', () => {
  test.each(UNITS)('%s belongs to %s', (code, major, scale) => {
    expect(isCurrency(code)).toBe(true);
    expect(findUnit(code)).toEqual({ major, scale });
    expect(createPair(code, 'CHF')).toBe(`${major}CHF`);
    expect(DeclaredCurrency.safeParse(code).success).toBe(true);
  });

  test('does not exist for a currency that has none, or in another spelling', () => {
    for (const code of ['JPy', 'KRw', 'ABc', 'gbp', 'GbP', 'UKP']) {
      expect(isCurrency(code)).toBe(false);
      expect(findUnit(code)).toEqual({ major: code, scale: 1 });
    }
  });
});

test('a store declares only known currencies', () => {
  for (const code of ['GBP', 'USD', 'DEM', null]) expect(DeclaredCurrency.safeParse(code).success).toBe(true);
  for (const code of ['UKP', 'XYZ', 'usd']) expect(DeclaredCurrency.safeParse(code).success).toBe(false);
});
