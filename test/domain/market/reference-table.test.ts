import { fc } from '../../fast-check.js';
import { expect, test } from 'vitest';
import { IndexDocument } from '#domain/definition/index-document.js';
import { createReferenceSpells, findSpell, type MarketData, type ReferenceRow } from '#domain/market/market-data.js';
import { findMissingRates } from '#domain/definition/required-rates.js';

function createMarket(
  identifiers: readonly string[],
  columns: readonly string[],
  rows: Readonly<Record<string, readonly ReferenceRow[]>>,
): MarketData {
  return {
    datasetId: 'T',
    contentHash: 'T',
    adjustment: 'none',
    identifiers,
    dates: Int32Array.of(0),
    fields: new Map([['CLOSE', new Float64Array(identifiers.length)]]),
    reference: { columns, rows: new Map(Object.entries(rows)) },
    actions: [],
    universes: [],
  };
}

test('columns with more periods than are cached return the same values for every order of reads', () => {
  const days = 300_000;
  const rows = Array.from({ length: days }, (_, day): ReferenceRow => ({
    validFrom: day,
    values: [day, -day, 'same'],
  }));
  const market = createMarket(['A'], ['UP', 'DOWN', 'STEADY'], { A: rows });
  for (const [column, expected] of [
    ['UP', 7],
    ['STEADY', 'same'],
    ['DOWN', -7],
    ['UP', 7],
    ['STEADY', 'same'],
    ['DOWN', -7],
    ['DOWN', -7],
  ] as const) {
    const spells = createReferenceSpells(market, column)[0]!;
    expect(spells).toHaveLength(column === 'STEADY' ? 1 : days);
    expect(findSpell(spells, 7)).toBe(expected);
  }
});

test('missing rates are those of all currencies that the requested securities ever had', () => {
  const names = ['A', 'B', 'C', 'D'];
  const rates = ['EURUSD', 'USDJPY', 'GBPEUR'];
  const currency = fc.constantFrom('USD', 'EUR', 'JPY', 'GBP', 'CHF', '', null);
  const row = currency.map((value): ReferenceRow => ({ validFrom: null, values: [value] }));
  // E is in the reference table but has no prices.
  const table = fc.record(Object.fromEntries([...names, 'E'].map((name) => [name, fc.array(row, { maxLength: 3 })])));
  fc.assert(
    fc.property(
      table,
      fc.subarray(rates),
      fc.subarray(names, { minLength: 1 }),
      fc.constantFrom('USD', 'EUR'),
      (rows, heldNames, listedNames, to) => {
        const market = createMarket([...names, ...heldNames].sort(), ['CURRENCY'], rows);
        for (const universe of [undefined, { kind: 'list', identifiers: listedNames }]) {
          const document = IndexDocument.parse({
            id: 'T',
            name: 'T',
            calendar: 'XNYS',
            base_date: '2020-01-02',
            currency: to,
            ...(universe === undefined ? {} : { universe }),
            rebalance: { frequency: 'monthly' },
            pipeline: { weighting: { type: 'EqualWeight' } },
          });
          const requestedNames = universe === undefined ? names : listedNames;
          const previousValues = requestedNames
            .flatMap((name) => rows[name]!.map(({ values }) => values[0]))
            .filter((code) => typeof code === 'string' && code !== '' && code !== to);
          const isDirect = (a: unknown, b: unknown) =>
            heldNames.some((pair) => [`${a}${b}`, `${b}${a}`].includes(pair));
          const isCrossed = (a: unknown, b: unknown) =>
            ['USD', 'EUR', 'GBP', 'JPY', 'CHF'].some((cross) => isDirect(a, cross) && isDirect(cross, b));
          const pairs = previousValues
            .filter((code) => !isDirect(code, to) && !isCrossed(code, to))
            .map((code) => `${String(code)}${to}`);
          for (const _ of ['first', 'again'])
            expect(findMissingRates(market, document)).toEqual([...new Set(pairs)].sort());
        }
      },
    ),
  );
});
