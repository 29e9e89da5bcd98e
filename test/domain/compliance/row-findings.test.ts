import { expect, test } from 'vitest';
import { listRowFindings } from '#domain/definition/limit-monitoring.js';
import { parseValidDay } from '#domain/base/time.js';
import type { ConstraintRow } from '#domain/definition/constraint-class.js';
import { buildMarket } from '../backtest/market-builder.js';

const market = buildMarket({
  dates: ['2024-01-02'],
  close: { A: [1], B: [1], C: [1], D: [1] },
  reference: {
    A: { SECTOR: 'Tech', ISSUER: 'One' },
    B: { SECTOR: 'Energy', ISSUER: '' },
    C: { SECTOR: 'Tech', ISSUER: null },
    D: { SECTOR: 'Health', ISSUER: 'Two' },
  },
});
const names = ['A', 'B', 'C'];
const findRowFindings = (type: string, params: Record<string, unknown>, id = '') => {
  const row: ConstraintRow = { id, type, params };
  return listRowFindings([row], { names, market, day: parseValidDay('2024-01-02') }).map(
    ({ code, path, message, row_id }) => ({
      code,
      path,
      message,
      row_id,
    }),
  );
};

test('a group without any security of the run is reported, with the intended one', () => {
  const path = 'rows[0].params.groups';
  expect(findRowFindings('GroupBounds', { field: 'SECTOR', groups: ['Tehc', 'Tech'], upper: 0.3 }, 'tech')).toEqual([
    {
      code: 'UNKNOWN_IDENTIFIER',
      path,
      message:
        'No security of the run has the SECTOR Tehc (did you mean Tech?). This part of the constraint has no effect.',
      row_id: 'tech',
    },
  ]);
  // D, the only security of its sector, was never held.
  expect(findRowFindings('GroupCardinality', { field: 'SECTOR', groups: ['Health', 'Energy'] })).toMatchObject([
    { path },
  ]);
  expect(findRowFindings('GroupBounds', { field: 'SECTOR', groups: ['Tech', 'Energy'] })).toEqual([]);
});

test('securities without an issuer count together in a row of groups, which is reported if they are several', () => {
  expect(findRowFindings('GroupBounds', { field: 'ISSUER', upper: 0.3 })).toEqual([
    {
      code: 'UNKNOWN_FIELD_NAME',
      path: 'rows[0].params.field',
      message: '2 of 3 securities have no ISSUER on 2024-01-02 and are grouped as UNCLASSIFIED.',
      row_id: null,
    },
  ]);
  expect(findRowFindings('GroupBounds', { field: 'SECTOR', upper: 0.3 })).toEqual([]);
});

test('securities that the run never held are reported by their row', () => {
  expect(findRowFindings('Exclude', { identifiers: ['D', 'A'] })).toMatchObject([
    { path: 'rows[0].params.identifiers', message: 'The run never held D. This part of the constraint has no effect.' },
  ]);
  expect(findRowFindings('PositionBounds', { upper: 0.3 })).toEqual([]);
});
