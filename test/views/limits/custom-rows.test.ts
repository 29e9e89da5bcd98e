import { expect, test } from 'vitest';
import { createRunColumns, type RunColumns } from '#domain/backtest/run-file/columns.js';
import { createLimitRows } from '#domain/definition/limit-monitoring.js';
import type { ConstraintRow } from '#domain/definition/constraint-class.js';
import { formatDay } from '#domain/base/time.js';
import { createLimitsView } from '#views/limits.js';
import { fc } from '../../fast-check.js';
import { openExtended } from '../../domain/backtest/extend/extended.js';
import { buildMarket } from '../../domain/backtest/market-builder.js';
import { randomMarket } from '../../domain/backtest/random-market.js';
import { randomDocument, tryRun } from '../../domain/backtest/random-run.js';
import { createDocument } from '../../domain/index-document.js';

const createRow = (type: string, params: Record<string, unknown>): ConstraintRow => ({ id: '', type, params });

/** Returns the view of a client's rows over a run up to a date. */
function renderCustomRows(columns: RunColumns, rows: readonly ConstraintRow[], end: string | null = null) {
  const { names } = columns.header;
  const groups = names.map((name) => `G${name.codePointAt(name.length - 1)! % 3}`);
  const refuseCall = (): never => {
    throw new Error('no row reads numbers');
  };
  return createLimitsView(columns, {
    window: { start: null, end },
    limits: {
      rowsOn: (_day, weights) =>
        createLimitRows(rows, {
          identifiers: names,
          numbers: refuseCall,
          categories: () => groups,
          covers: (name) => weights[name] === 1,
        }),
    },
    by: 'IDENTIFIER',
    openIssuers: null,
    findings: [],
  });
}

const FLOORS = [
  createRow('GroupBounds', { field: 'SECTOR', lower: 0.1, upper: 0.5 }),
  createRow('GroupCardinality', { field: 'SECTOR', minimum: 2 }),
  createRow('PositionBounds', { lower: 0.05, upper: 0.3 }),
  createRow('EffectiveNumber', { minimum: 3 }),
];

test('later holdings do not change custom rows of earlier closes', () => {
  let laterCount = 0;
  fc.assert(
    fc.property(
      randomMarket,
      randomDocument,
      fc.double({ min: 0.2, max: 0.8, noNaN: true }),
      ({ market }, document, part) => {
        const wholeRun = tryRun(market, document);
        if (wholeRun === undefined || wholeRun.days.length < 3) return;
        const end = formatDay(wholeRun.days[Math.floor(part * wholeRun.days.length)]!);
        const cut = tryRun(market, document, { end });
        if (cut === undefined) return;
        const [all, some] = [wholeRun, cut].map((run) => openExtended(createRunColumns(run, { contentHash: 's' })));
        if (all!.header.names.length > some!.header.names.length) laterCount++;
        expect(renderCustomRows(all!, FLOORS, end)).toEqual(renderCustomRows(some!, FLOORS));
      },
    ),
    { numRuns: 25 },
  );
  expect(laterCount).toBeGreaterThan(0);
});

test('a count may have only a minimum, and an effective number has the requested bound', () => {
  const context = { identifiers: ['A', 'B'], numbers: () => new Float64Array(2), categories: () => [null, null] };
  const listBounds = (type: string, params: Record<string, unknown>) =>
    createLimitRows([createRow(type, params)], context).map(({ side, limit }) => [side, limit]);
  expect(listBounds('Cardinality', { minimum: 2 })).toEqual([['lower', 2]]);
  expect(listBounds('Cardinality', { maximum: 2 })).toEqual([
    ['lower', 1],
    ['upper', 2],
  ]);
  // 25 is not exact after rounding. 1 divided by the square of its root is 24.999999999999996.
  expect(listBounds('EffectiveNumber', { minimum: 25 })).toEqual([['lower', 25]]);
});

test.each([
  { type: 'DELISTING', value: 1, cause: 'action' },
  { type: 'ACQUISITION', value: 140, cause: 'action' },
  { type: null, value: 0, cause: 'price' },
] as const)('a bound passed by $type is passed by $cause', ({ type, value, cause }) => {
  const dates = ['2024-01-02', '2024-01-03', '2024-01-04', '2024-01-05'];
  const steadyCloses = [100, 100, 100, 100];
  const closes = type === null ? [100, 100, 10, 10] : [100, 100, null, null];
  const market = buildMarket({
    dates,
    close: { A: steadyCloses, B: closes, C: steadyCloses },
    actions: type === null ? [] : [{ name: 'B', type, value, ex: '2024-01-04' }],
  });
  const document = createDocument({
    base_date: '2024-01-02',
    rebalance: { frequency: 'none' },
    pipeline: { weighting: { type: 'EqualWeight' }, treatment: { delisting: 'action_value' } },
  });
  const columns = openExtended(createRunColumns(tryRun(market, document)!, { contentHash: 's' }));
  const rows = [createRow('LinearConstraint', { coefficients: { B: 1 }, lower: 0.2 })];
  expect(renderCustomRows(columns, rows).breaches).toMatchObject([{ begin: '2024-01-04', end: null, cause }]);
});
