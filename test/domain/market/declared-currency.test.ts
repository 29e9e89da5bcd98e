import { fc } from '../../fast-check.js';
import { describe, expect, test } from 'vitest';
import type { Run } from '#domain/backtest/run.js';
import type { IndexDocument } from '#domain/definition/index-document.js';
import type { MarketData, ReferenceValue } from '#domain/market/market-data.js';
import { findMissingRates, listSecuritiesWithoutCurrency } from '#domain/definition/required-rates.js';
import { comparePrefixes, createPrefix, digestContent } from '#market/content/content-hash.js';
import { buildMarket } from '../backtest/market-builder.js';
import { randomMarket } from '../backtest/random-market.js';
import { randomDocument, run, tryRun } from '../backtest/random-run.js';
import { createDocument } from '../index-document.js';

const RUNS = Number(process.env['PROPERTY_RUNS'] ?? 20);
const DATES = ['2024-03-04', '2024-03-05', '2024-03-06', '2024-03-07'];
const EURUSD = [1.1, 1.2, null, 1.05];
const CLOSE = { A: [100, 110, 99, 99], B: [50, 50, 55, 60], EURUSD };

const createIndex = (currency = 'USD', universe: object = { kind: 'all' }) =>
  createDocument({ base_date: DATES[0], currency, universe, rebalance: { frequency: 'none' } });
const createMarket = (
  currency: string | null,
  reference: Record<string, Record<string, ReferenceValue>> = {},
): MarketData => ({ ...buildMarket({ dates: DATES, close: CLOSE, reference }), currency });
const listLevels = ({ index: { book } }: Run): number[] => [...book.value];
const listCodes = ({ findings }: Run): string[] => findings.map(({ code }) => code);

describe('the currency that a store declares', () => {
  test('is that of every security without a currency: prices are converted at the rate of the day, carried where there is none', () => {
    const outcome = run(createMarket('EUR'), createIndex());
    const rates = [1.1, 1.2, 1.2, 1.05];
    expect(outcome.index.compositions.list[0]!.columns).toHaveLength(2); // the exchange rate is not a constituent
    listLevels(outcome).forEach((level, t) =>
      expect(level).toBeCloseTo((50 * (CLOSE.A[t]! / 100 + CLOSE.B[t]! / 50) * rates[t]!) / 1.1, 10),
    );
    expect(listCodes(outcome)).toEqual(['DEFAULT_TAKEN']);
  });

  test('is crossed where the pair is missing, which the run reports with the pairs that take its place', () => {
    const close = { A: CLOSE.A, B: CLOSE.B, EURUSD, GBPUSD: [1.25, 1.3, 1.2, 1.2] };
    const reference = { A: { CURRENCY: 'GBX' }, B: { CURRENCY: 'EUR' } };
    const market = buildMarket({ dates: DATES, close, reference });
    const listCrossedCurrencies = (document: IndexDocument) =>
      run(market, document).findings.flatMap(({ code, message, severity }) =>
        code === 'FX_CROSSED' ? [[severity, message]] : [],
      );
    const listing = { kind: 'list', identifiers: ['A', 'B'] };
    expect(listCrossedCurrencies(createIndex('EUR', listing))).toEqual([
      ['warning', 'The data store has no exchange rate GBPEUR. It is computed as the cross rate of GBPUSD and EURUSD.'],
    ]);
    expect(listCrossedCurrencies(createIndex('USD', listing))).toEqual([]);
    expect(listCrossedCurrencies(createIndex('EUR', { kind: 'list', identifiers: ['B'] }))).toEqual([]);
  });

  test.each(['GBP', 'GBX', 'GBp'])('is not crossed between units of one currency, as into %s', (currency) => {
    const close = { A: [100, 110, 99, 99], B: [1, 1.1, 1, 1.2], C: CLOSE.A, GBPUSD: [1.25, 1.3, 1.2, 1.2] };
    const reference = { A: { CURRENCY: 'GBp' }, B: { CURRENCY: 'GBP' }, C: { CURRENCY: 'GBX' } };
    const listing = { kind: 'list', identifiers: ['A', 'B', 'C'] };
    const outcome = run(buildMarket({ dates: DATES, close, reference }), createIndex(currency, listing));
    expect(listCodes(outcome)).toEqual(['DEFAULT_TAKEN']);
    // The rate is constant, so levels are those of the prices.
    listLevels(outcome).forEach((level, t) =>
      expect(level).toBeCloseTo((100 / 3) * ((2 * CLOSE.A[t]!) / 100 + close.B[t]!), 10),
    );
  });

  test('leaves a name its own currency', () => {
    const outcome = run(createMarket('EUR', { A: { CURRENCY: 'USD' }, B: { CURRENCY: '' } }), createIndex());
    listLevels(outcome).forEach((level, t) =>
      expect(level).toBeCloseTo(50 * (CLOSE.A[t]! / 100 + ((CLOSE.B[t]! / 50) * [1.1, 1.2, 1.2, 1.05][t]!) / 1.1), 10),
    );
  });

  test('is needed in the currency of the index, in either direction', () => {
    expect(findMissingRates(createMarket('EUR'), createIndex())).toEqual([]);
    expect(findMissingRates(createMarket('USD'), createIndex('EUR'))).toEqual([]);
    expect(findMissingRates(createMarket('JPY'), createIndex())).toEqual(['JPYUSD']);
    expect(
      findMissingRates(
        createMarket('JPY', { A: { CURRENCY: 'USD' } }),
        createIndex('USD', { kind: 'list', identifiers: ['A'] }),
      ),
    ).toEqual([]);
    expect(() => run(createMarket('JPY'), createIndex())).toThrow(expect.objectContaining({ code: 'FX_MISSING' }));
  });

  test('may be a minor unit', () => {
    const outcome = run(createMarket('GBX'), createIndex('GBP'));
    listLevels(outcome).forEach((level, t) =>
      expect(level).toBeCloseTo(
        (100 / 3) * (CLOSE.A[t]! / 100 + CLOSE.B[t]! / 50 + [1.1, 1.2, 1.2, 1.05][t]! / 1.1),
        10,
      ),
    );
  });

  test('does not apply to a rate, so that a run is compared with the unconverted rate', () => {
    const result = run(createMarket('EUR'), createIndex(), {
      benchmark: { kind: 'identifier', id: 'EURUSD', price_column: 'CLOSE' },
    });
    expect(result.benchmark!.relative.benchmarkReturn).toBeCloseTo(1.05 / 1.1 - 1, 12);
  });

  test('gives the bits that a CURRENCY of its names gives, on random markets', () => {
    let ranCount = 0;
    fc.assert(
      fc.property(
        randomMarket,
        randomDocument,
        fc.subarray(
          [...'ABCDEFGH'].map((letter) => letter + letter),
          { minLength: 1 },
        ),
        ({ market }, document, blank) => {
          const position = market.reference.columns.indexOf('CURRENCY');
          const addCurrency = (value: string | null): MarketData => ({
            ...market,
            reference: {
              ...market.reference,
              rows: new Map(
                [...market.reference.rows].map(([name, rows]) => [
                  name,
                  blank.includes(name)
                    ? rows.map((row) => ({ ...row, values: row.values.with(position, value) }))
                    : rows,
                ]),
              ),
            },
          });
          const namedRun = tryRun(addCurrency('EUR'), document);
          const declaredRun = tryRun({ ...addCurrency(null), currency: 'EUR' }, document);
          expect(declaredRun?.level).toEqual(namedRun?.level);
          expect(declaredRun?.portfolio.weights).toEqual(namedRun?.portfolio.weights);
          expect(declaredRun?.findings).toEqual(namedRun?.findings);
          if (namedRun !== undefined) ranCount++;
        },
      ),
      { numRuns: RUNS },
    );
    expect(ranCount).toBeGreaterThan(RUNS / 30);
  });

  test('belongs to the history of a market: a run is not extended on another', async () => {
    const { digests } = await digestContent(createMarket(null));
    const hashPrefix = (currency: string | null) =>
      createPrefix(createMarket(currency), digests, createMarket(null).dates[2]!);
    expect(comparePrefixes(hashPrefix('EUR'), hashPrefix('EUR'))).toBeNull();
    expect(comparePrefixes(hashPrefix('EUR'), hashPrefix(null))).toBe('history');
    expect(comparePrefixes(hashPrefix('EUR'), hashPrefix('USD'))).toBe('history');
  });
});

describe('without a declared currency', () => {
  test('an index reports how many of its securities are assumed to be in its currency', () => {
    const result = run(createMarket(null, { A: { CURRENCY: 'USD' } }), createIndex());
    expect(result.findings).toMatchObject([
      { code: 'DEFAULT_TAKEN', path: 'pipeline.treatment.max_stale_sessions', value: 5 },
      {
        severity: 'warning',
        code: 'CURRENCY_ASSUMED',
        path: 'currency',
        value: 'USD',
        message: expect.stringContaining('2 of 3 securities of the data store have no CURRENCY (B, EURUSD)'),
      },
    ]);
    expect(listCodes(run(createMarket(null), createIndex('USD', { kind: 'list', identifiers: ['A'] })))).toEqual([
      'DEFAULT_TAKEN',
      'CURRENCY_ASSUMED',
    ]);
    expect(
      listCodes(
        run(createMarket(null, { A: { CURRENCY: 'USD' } }), createIndex('USD', { kind: 'list', identifiers: ['A'] })),
      ),
    ).toEqual(['DEFAULT_TAKEN']);
  });

  test('a rate between currencies in use needs none', () => {
    expect(
      listSecuritiesWithoutCurrency(
        createMarket(null, { A: { CURRENCY: 'USD' }, B: { CURRENCY: 'EUR' } }),
        createIndex(),
      ),
    ).toEqual([]);
  });

  test('a security counts while its currency begins after its first bar, and not when it begins with it', () => {
    const market = createMarket(null, { A: { CURRENCY: 'USD' }, B: { CURRENCY: 'USD' }, EURUSD: { CURRENCY: 'USD' } });
    const createMarketFrom = (validFrom: number): MarketData => ({
      ...market,
      reference: {
        ...market.reference,
        rows: new Map([...market.reference.rows, ['A', [{ validFrom, values: ['USD'] }]]]),
      },
    });
    expect(listSecuritiesWithoutCurrency(createMarketFrom(market.dates[0]!), createIndex())).toEqual([]);
    expect(listSecuritiesWithoutCurrency(createMarketFrom(market.dates[0]! + 1), createIndex())).toEqual(['A']);
  });
});
