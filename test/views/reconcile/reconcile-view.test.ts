import { fc } from '../../fast-check.js';
import { expect, test } from 'vitest';
import { createRunColumns, openColumns } from '#domain/backtest/run-file/columns.js';
import { RebalanceSpec } from '#domain/definition/schedule.js';
import { createReconcileView } from '#views/reconcile.js';
import { buildMarket } from '../../domain/backtest/market-builder.js';
import { randomMarket } from '../../domain/backtest/random-market.js';
import { randomDocument, randomRequest, run, tryRun } from '../../domain/backtest/random-run.js';
import { IS_SOAK } from '../../soak.js';
import { createDocument } from '../../domain/index-document.js';

const market = buildMarket({
  dates: ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05'],
  close: { A: [100, 110, 105, 108], B: [50, 49, 52, 51] },
});
const document = createDocument({ base_date: '2024-01-02', rebalance: { frequency: 'daily' } });

function openChangedColumns(change: (bytes: Uint8Array<ArrayBuffer>, findOffset: (block: string) => number) => void) {
  const bytes = createRunColumns(run(market, document, { transaction_cost_bps: 20 }), { contentHash: 's' });
  const { header } = openColumns((start, end) => bytes.slice(start, end));
  change(bytes, (block) => header.blocks[block as keyof typeof header.blocks]!.offset);
  return openColumns((start, end) => bytes.slice(start, end));
}

const listFailingChecks = (change: Parameters<typeof openChangedColumns>[0]): string[] =>
  createReconcileView(openChangedColumns(change), () => [])
    .checks.filter(({ holds }) => !holds)
    .map(({ name }) => name);

test('a stored run reconciles', () => {
  expect(listFailingChecks(() => {})).toEqual([]);
});

test.each([
  ['a level', 'level', ['level', 'growth and costs', 'contributions', 'metrics: total return', 'metrics: volatility']],
  ['a weight', 'weights', ['weights', 'contributions']],
  ['a cost', 'costs', ['growth and costs', 'transaction costs']],
  ['a target', 'targets', ['rebalance 2024-01-03: redistributed']],
  ['a value', 'value', ['growth and costs', 'net asset value', 'positions: weight']],
] as const)('%s that was changed is found', (_name, block, names) => {
  const failingChecks = listFailingChecks((bytes, findOffset) => {
    const values = new Float64Array(bytes.buffer, findOffset(block), 4);
    values[block === 'level' ? 3 : 2]! *= 0.99;
  });
  expect(failingChecks).toEqual(expect.arrayContaining([...names]));
});

test('a strategy that rebalances while its index holds nothing reconciles', () => {
  const suspendedMarket = buildMarket({
    dates: ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05', '2024-01-08', '2024-01-09'],
    close: { A: [100, 110, 105, null, 108, 109], B: [50, 49, 52, null, 51, 52], LATER: [null, null, null, 10, 10, 11] },
  });
  const pipeline = { treatment: { missing_prices: 'exclude' }, weighting: { type: 'EqualWeight' } };
  const index = createDocument({ base_date: '2024-01-02', rebalance: { frequency: 'none' }, pipeline });
  const weekly = RebalanceSpec.parse({ frequency: 'weekly' });
  const bytes = createRunColumns(
    run(suspendedMarket, index, { strategy: { rebalance: weekly, drift_tolerance: null, exposure: 1 } }),
    { contentHash: 's' },
  );
  const columns = openColumns((start, end) => bytes.slice(start, end));
  expect(columns.header.rebalances.map(({ date }) => date)).toContain('2024-01-05');
  expect(createReconcileView(columns, () => []).checks.filter(({ holds }) => !holds)).toEqual([]);
});

test('weights of a rebalance that were all reduced are found', () => {
  const failingChecks = listFailingChecks((bytes, findOffset) => {
    const targets = new Float64Array(bytes.buffer, findOffset('targets'), 2);
    targets.forEach((weight, i) => (targets[i] = 0.9 * weight));
  });
  expect(failingChecks).toEqual(
    ['weights', 'uncapped weights', 'redistributed', 'held'].map((name) => `rebalance 2024-01-02: ${name}`),
  );
});

test.each([
  'annualised_return',
  'max_drawdown',
  'sharpe_ratio',
  'total_return',
  'tracking_difference',
  'tracking_error',
  'volatility',
])('a changed %s is found', (metric) => {
  const failingChecks = listFailingChecks((bytes, findOffset) => {
    const file = Buffer.from(bytes.buffer);
    const key = `"${metric}":`;
    const from = file.indexOf(key, findOffset('record')) + key.length;
    const storedText = file.subarray(from, file.indexOf(',', from)).toString();
    file.write(
      storedText === '0'
        ? '1'
        : storedText.replace(/[1-9]/, (digit) => (digit === '9' ? '8' : String(Number(digit) + 1))),
      from,
    );
  });
  expect(failingChecks).toHaveLength(1);
  expect(failingChecks[0]!.replace('maximum', 'max').replaceAll(' ', '_')).toBe(`metrics:_${metric}`);
});

test('a stored file with different bytes, or a missing one, is found', () => {
  const columns = openChangedColumns(() => {});
  const { reconciles, checks } = createReconcileView(columns, () => [
    { name: 'record', recorded: 'a', found: 'b' },
    { name: 'result', recorded: 'a', found: null },
    { name: 'overview', recorded: 'a', found: 'a' },
  ]);
  expect(reconciles).toBe(false);
  expect(checks.slice(0, 3).map(({ name, holds }) => [name, holds])).toEqual([
    ['stored record', false],
    ['stored result', false],
    ['stored overview', true],
  ]);
});

test('bytes that are not columns are reported as unreadable', () => {
  const unreadable = expect.objectContaining({ code: 'DOCUMENT_UNREADABLE' });
  expect(() => openColumns((start, end) => new Uint8Array(40).subarray(start, end))).toThrow(unreadable);
  expect(() => openColumns(() => new Uint8Array(0))).toThrow(unreadable);
});

test('an overwritten record is found, and the rest is still reported', () => {
  const failingChecks = listFailingChecks((bytes, findOffset) =>
    bytes.fill(0x78, findOffset('record'), findOffset('record') + 40),
  );
  expect(failingChecks).toEqual(['record']);
});

test('a price that was changed is found between two trades', () => {
  const document = createDocument({ base_date: '2024-01-02', rebalance: { frequency: 'none' } });
  const bytes = createRunColumns(run(market, document), { contentHash: 's' });
  const { header } = openColumns((start, end) => bytes.slice(start, end));
  const listFailedChecks = (): string[] =>
    createReconcileView(
      openColumns((start, end) => bytes.slice(start, end)),
      () => [],
    )
      .checks.filter(({ holds }) => !holds)
      .map(({ name }) => name);
  expect(listFailedChecks()).toEqual([]);
  new Float64Array(bytes.buffer, header.blocks.price!.offset, 8)[4]! += 1;
  expect(listFailedChecks()).toEqual(['drift']);
});

test('any run reconciles, on markets with every kind of corporate action', () => {
  fc.assert(
    fc.property(randomMarket, randomDocument, randomRequest, ({ market: any }, definition, request) => {
      const result = tryRun(any, definition, request);
      if (!result) return;
      const bytes = createRunColumns(result, { contentHash: 's' });
      const { checks } = createReconcileView(
        openColumns((start, end) => bytes.slice(start, end)),
        () => [],
      );
      expect(checks.filter(({ holds }) => !holds)).toEqual([]);
      expect(checks.map(({ name }) => name)).toEqual(
        expect.arrayContaining([
          'returns',
          'weights',
          ...(definition.rounding === undefined ? ['drift'] : []), // shares and divisor are rounded in this definition
          'contributions',
          'initial capital',
          'transaction costs',
        ]),
      );
    }),
    { numRuns: IS_SOAK ? 150 : 50 },
  );
});
