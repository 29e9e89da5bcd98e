import { summariseRun } from '#domain/backtest/summary.js';
import { describe, expect, test } from 'vitest';
import { createCheckpoint } from '#domain/backtest/checkpoint.js';
import { createRunColumns } from '#domain/backtest/run-file/columns.js';
import type { Run } from '#domain/backtest/run.js';
import type { Adjustment, ReturnVariant } from '#domain/market/market-data.js';
import { createIndexLevels } from '#views/levels.js';
import { cut, extend, openExtended } from './extend/extended.js';
import { buildMarket, type ActionSketch } from './market-builder.js';
import { run } from './random-run.js';
import { runOverviewJson } from './run-texts.js';
import { createDocument } from '../index-document.js';

const DATES = ['2024-03-04', '2024-03-05', '2024-03-06', '2024-03-07'];
const CLOSE = { A: [100, 110, 99, 99], B: [50, 50, 55, 60] };
const DIVIDEND: ActionSketch = { name: 'A', type: 'DIVIDEND', value: 2, ex: '2024-03-06' };
/**
 * Levels of an index that holds equal weights from the first date on: half the growth of A plus half the growth of B.
 */
const HELD_LEVELS = [100, 105, (100 * (0.99 + 1.1)) / 2, (100 * (0.99 + 1.2)) / 2];

const createIndex = (dividends: ReturnVariant, tax = 0) =>
  createDocument({
    base_date: DATES[0],
    rebalance: { frequency: 'none' },
    pipeline: { treatment: { dividends, withholding_tax: tax }, weighting: { type: 'EqualWeight' } },
  });
const createMarket = (adjustment: Adjustment, actions: readonly ActionSketch[] = []) =>
  buildMarket({ dates: DATES, close: CLOSE, adjustment, actions });
const runOf = (adjustment: Adjustment, dividends: ReturnVariant, actions: readonly ActionSketch[] = []): Run =>
  run(createMarket(adjustment, actions), createIndex(dividends, 0.2));
const listCodes = ({ findings }: Pick<Run, 'findings'>) =>
  findings
    .filter(({ severity }) => severity === 'warning')
    .map(({ code }): string => code)
    .filter((code) => code !== 'CURRENCY_ASSUMED');
const VARIANTS: readonly ReturnVariant[] = ['price', 'total', 'net'];

describe('on prices that include dividends', () => {
  test.each(VARIANTS)('an index with %s return has only a total return', (dividends) => {
    const result = runOf('total', dividends, [DIVIDEND]);
    expect([result.variants.price, result.variants.net]).toEqual([null, null]);
    result.variants.total!.level.forEach((level, t) => expect(level).toBeCloseTo(HELD_LEVELS[t]!, 10));
    const columns = openExtended(createRunColumns(result, { contentHash: 's' }));
    expect(createIndexLevels(columns, { variant: null, start: null, end: null })).toMatchObject({
      variant: 'total',
      levels: result.index.book.value,
    });
    for (const variant of ['price', 'net'] as const) {
      expect(() => createIndexLevels(columns, { variant, start: null, end: null })).toThrow(
        expect.objectContaining({ code: 'VARIANT_NOT_AVAILABLE', detail: { variant, accepted: ['total'] } }),
      );
    }
    expect(JSON.parse(new TextDecoder().decode(runOverviewJson(result)))).toMatchObject({ return_variant: 'total' });
  });

  test('the warning names an index that uses another return', () => {
    expect(VARIANTS.map((dividends) => listCodes(runOf('total', dividends)))).toEqual([
      ['PRICE_BASIS'],
      [],
      ['PRICE_BASIS'],
    ]);
  });

  test('a benchmark has the total return too', () => {
    const result = run(createMarket('total'), createIndex('price'), {
      benchmark: { kind: 'identifier', id: 'B', price_column: 'CLOSE' },
    });
    expect(result.benchmark!.variant).toBe('total');
    expect(result.benchmark!.relative.benchmarkReturn).toBeCloseTo(0.2, 12);
  });
});

describe('on prices without dividends', () => {
  test.each(['none', 'splits'] as const)(
    'adjusted for %s, a total or net return without a cash action is reported to be a price return',
    (adjustment) => {
      expect(VARIANTS.map((dividends) => listCodes(runOf(adjustment, dividends)))).toEqual([
        [],
        ['NO_DIVIDENDS'],
        ['NO_DIVIDENDS'],
      ]);
      expect(VARIANTS.map((dividends) => listCodes(runOf(adjustment, dividends, [DIVIDEND])))).toEqual([[], [], []]);
      const { price, total, net } = runOf(adjustment, 'net', [DIVIDEND]).variants;
      // A is at 99. It has paid a dividend of 2, of which 1.6 remain after tax.
      expect([price, total, net].map((variant) => variant!.level[2]!)).toEqual([
        expect.closeTo(104.5, 10),
        expect.closeTo(105.5, 10),
        expect.closeTo(105.3, 10),
      ]);
    },
  );

  test('a split is no cash', () => {
    // The close of B does not reflect the split, which is another finding.
    expect(listCodes(runOf('none', 'total', [{ name: 'B', type: 'SPLIT', value: 2, ex: '2024-03-05' }]))).toEqual([
      'NO_DIVIDENDS',
      'PRICE_JUMP',
    ]);
  });

  test('the first dividend of a store ends the warning of a run that extends one from before it', () => {
    const document = createIndex('total');
    const before = cut(createMarket('none'), 3);
    const first = run(before, document);
    const payingMarket = createMarket('none', [{ ...DIVIDEND, ex: '2024-03-07' }]);
    const grownRun = extend(first.plan, payingMarket, {
      columns: openExtended(createRunColumns(first, { contentHash: 's' })),
      checkpoint: createCheckpoint(first),
    });
    if (typeof grownRun === 'string') throw new Error(grownRun);
    expect(listCodes(first)).toEqual(['NO_DIVIDENDS']);
    const { findings } = summariseRun(
      openExtended(grownRun.columns, [createRunColumns(first, { contentHash: 's' })]),
      first.plan,
    );
    expect(findings).toEqual(run(payingMarket, document).findings);
    expect(listCodes({ findings })).toEqual([]);
  });
});
