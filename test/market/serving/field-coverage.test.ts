import { expect, test } from 'vitest';
import { measureFieldCoverage } from '#market/serve/coverage.js';

const NONE = Number.NaN;
const dates = Int32Array.of(10, 11, 12, 13);
const identifiers = ['A', 'B', 'C'];

test('the coverage of a panel counts securities with a value on any date, from the first to the last value', () => {
  const early = Float64Array.of(NONE, NONE, NONE, 1, NONE, NONE, NONE, 2, NONE, NONE, NONE, NONE);
  const full = new Float64Array(12).fill(1);
  const empty = new Float64Array(12).fill(NONE);
  const CLOSE = Float64Array.of(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, NONE);
  const fields = new Map(Object.entries({ early, full, empty, CLOSE }));
  const reference = { columns: [], rows: new Map() };
  expect(measureFieldCoverage({ dates, identifiers, fields, reference })).toEqual([
    { name: 'early', dataset: 'market', securities: 2, securitiesAtEnd: 0, start: 11, end: 12 },
    { name: 'full', dataset: 'market', securities: 3, securitiesAtEnd: 2, start: 10, end: 13 },
    { name: 'empty', dataset: 'market', securities: 0, securitiesAtEnd: 0, start: null, end: null },
    { name: 'CLOSE', dataset: 'market', securities: 3, securitiesAtEnd: 2, start: 10, end: 13 },
  ]);
});

test('the coverage of a reference column spans the days of its values', () => {
  const rows = new Map([
    ['A', [{ validFrom: null, values: ['a', null] }]],
    [
      'B',
      [
        { validFrom: 5, values: ['b', 1] },
        { validFrom: 9, values: [null, 2] },
        { validFrom: 14, values: ['later', null] },
      ],
    ],
  ]);
  const reference = { columns: ['NAME', 'RATING', 'OTHER'], rows };
  const fields = new Map([['CLOSE', new Float64Array(12).fill(1)]]);
  const [, ...columns] = measureFieldCoverage({ dates, identifiers, fields, reference });
  expect(columns).toEqual([
    { name: 'NAME', dataset: 'reference', securities: 2, securitiesAtEnd: 1, start: 5, end: 14 },
    { name: 'RATING', dataset: 'reference', securities: 1, securitiesAtEnd: 1, start: 5, end: 9 },
    { name: 'OTHER', dataset: 'reference', securities: 0, securitiesAtEnd: 0, start: null, end: null },
  ]);
});
