import { describe, expect, test } from 'vitest';
import { checkOnMarket } from '#domain/definition/index-validation.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { Refusal } from '#domain/base/refusals.js';
import { createMethodology } from '#domain/definition/methodology.js';
import { buildMarket } from '../backtest/market-builder.js';
import { expectNear, readLevels, runIndexCase, listWeekdays } from './index-case.js';

const DAYS = listWeekdays(4);
const RATES = { field: 'COUNTRY', rates: { US: 0.3, GB: 0 } };

/** The index holds A and B at 100, each with half of the weight. Each pays 10 on the second session. */
const sketch = {
  close: { A: [100, 90, 90, 90], B: [100, 90, 90, 90], C: [50, 50, 50, 50] },
  universe: ['A', 'B'],
  reference: { A: { COUNTRY: 'US' }, B: { COUNTRY: 'FR' }, C: { COUNTRY: 'JP' } },
  actions: (['A', 'B'] as const).map((name) => ({ name, type: 'DIVIDEND' as const, value: 10, ex: DAYS[1]! })),
};
const computeNetLevel = (withholding_tax: object, reinvestment = 'index'): number =>
  readLevels(runIndexCase({ ...sketch, treatment: { dividends: 'net', reinvestment, withholding_tax } }), 'net')[1]!;

describe('a withholding tax by country', () => {
  test('takes from each dividend the rate of its security: 3 of 10 in the United States, 1.5 by default', () => {
    // The price return level is 90. The index holds half a share of each security, so 3.5 and 4.25 points are
    // reinvested.
    expectNear(computeNetLevel({ ...RATES, default: 0.15 }), 90 + 3.5 + 4.25);
    expectNear(computeNetLevel({ field: 'COUNTRY', rates: { US: 0.3, FR: 0.25 } }), 90 + 3.5 + 3.75);
    expectNear(computeNetLevel({ ...RATES, default: 0.15 }, 'constituent'), 90 + 3.5 + 4.25);
  });

  test('leaves price and total return as they are', () => {
    const run = runIndexCase({ ...sketch, treatment: { dividends: 'net', withholding_tax: { ...RATES, default: 1 } } });
    expectNear(readLevels(run, 'price')[1]!, 90);
    expectNear(readLevels(run, 'total')[1]!, 100);
    expectNear(readLevels(run, 'net')[1]!, 93.5);
  });

  test('is that of the value on the ex-date', () => {
    const market = buildMarket({ dates: DAYS, close: { A: [100, 90, 80, 80] } });
    const movedResidence = {
      columns: ['COUNTRY'],
      rows: new Map([['A', [createResidence(null, 'US'), createResidence(DAYS[2]!, 'GB')]]]),
    };
    const actions = [DAYS[1]!, DAYS[2]!].map((ex) => ({ name: 'A', type: 'DIVIDEND' as const, value: 10, ex }));
    const dividendMarket = buildMarket({ dates: DAYS, close: { A: [100, 90, 80, 80] }, actions });
    const run = runIndexCase({
      close: { A: [100, 90, 80, 80] },
      actions,
      treatment: { dividends: 'net', withholding_tax: RATES },
      market: { ...dividendMarket, reference: movedResidence, contentHash: market.contentHash },
    });
    expectNear(readLevels(run, 'net')[2]!, ((97 / 100) * 100 * (80 + 10)) / 90);
  });
});

const createResidence = (from: string | null, country: string) => ({
  validFrom: from === null ? null : Date.parse(from) / 86_400_000,
  values: [country],
});

describe('a value without a rate and without a default', () => {
  test('is the error NO_RATE, which lists the values of the securities held', () => {
    const catchRefusal = (): unknown => computeNetLevel(RATES);
    expect(catchRefusal).toThrow(Refusal);
    try {
      catchRefusal();
    } catch (refusal) {
      expect(refusal).toMatchObject({ code: 'NO_RATE', detail: { field: 'COUNTRY', values: ['FR'] } });
      expect((refusal as Refusal).message).toContain('no rate and no default for 1 value of COUNTRY: FR');
    }
  });

  test('is a finding of the document, of the securities that the universe lists or of all', () => {
    const market = buildMarket({ dates: DAYS, ...sketch });
    const listFindings = (universe: object, tax: object) =>
      checkOnMarket(createDocument(universe, tax), market, { severity: 'error', indexOf: () => undefined });
    const listing = { kind: 'list', identifiers: ['A', 'B'] };
    expect(listFindings(listing, RATES)).toMatchObject([{ code: 'NO_RATE', value: ['FR'] }]);
    expect(listFindings({ kind: 'all' }, RATES)).toMatchObject([{ code: 'NO_RATE', value: ['FR', 'JP'] }]);
    expect(listFindings({ kind: 'all' }, { ...RATES, default: 0.1 })).toEqual([]);
    expect(listFindings({ kind: 'all' }, { ...RATES, field: 'LAND' })).toMatchObject([
      { code: 'UNKNOWN_FIELD_NAME', path: 'pipeline.treatment.withholding_tax.field', accepted: ['COUNTRY'] },
    ]);
  });
});

test('the methodology names every rate', () => {
  const text = createMethodology(createDocument({ kind: 'all' }, { ...RATES, default: 0.15 })).join(' ');
  expect(text).toMatch(/withholding tax of the COUNTRY of each security: US 30 ?%, GB 0 ?%, others 15 ?%/);
});

function createDocument(universe: object, withholding_tax: object) {
  return IndexDocument.parse({
    id: 'X',
    name: 'X',
    calendar: 'MAIN',
    base_date: DAYS[0],
    universe,
    pipeline: { treatment: { dividends: 'net', withholding_tax }, weighting: { type: 'EqualWeight' } },
  });
}
