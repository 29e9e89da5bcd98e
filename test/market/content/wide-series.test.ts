import { expect, test } from 'vitest';
import { formatDay } from '#domain/base/time.js';
import { Mapping, type WideSeries } from '#domain/definition/mapping.js';
import { createSeriesRows } from '#market/content/table-rows.js';
import { createProblems } from '#market/tables/problems.js';

/** Reads one table, and returns its series with their values by day. */
function read(
  columns: readonly string[],
  rows: readonly (readonly (string | number | null)[])[],
  wide: WideSeries | null = null,
) {
  const problems = createProblems();
  const series = createSeriesRows(problems, wide);
  const readRow = series.beginFile('series', columns);
  for (const row of rows) readRow?.(row);
  const values = [...series.toTable().values()].map(
    ({ identifier, days, closes }) =>
      [identifier, Object.fromEntries(Array.from(days, (day, k) => [formatDay(day), closes[k]]))] as const,
  );
  return { values: Object.fromEntries(values), findings: problems.findings() };
}

const terms = (series: object) => Mapping.parse({ series }).series;

/** Excerpt of eurofxref-hist.csv of the European Central Bank, which ends each line with a comma. */
const ECB = [
  ['Date', 'USD', 'JPY', 'BGN', 'CYP', ''],
  [
    ['2024-01-03', '1.0919', '155.99', '1.9558', 'N/A', ''],
    ['2024-01-02', '1.0956', '155.72', '1.9558', 'N/A', ''],
  ],
] as const;

test('the table of the European Central Bank gives rates per euro', () => {
  const { values, findings } = read(ECB[0], ECB[1], terms({ base: 'EUR' }));
  expect(findings).toEqual([]);
  expect(values).toEqual({
    EURUSD: { '2024-01-02': 1.0956, '2024-01-03': 1.0919 },
    EURJPY: { '2024-01-02': 155.72, '2024-01-03': 155.99 },
    EURBGN: { '2024-01-02': 1.9558, '2024-01-03': 1.9558 },
  });
});

test('an inverse table gives the opposite pairs, and pairs in the header need no base', () => {
  const rows = [['2024-01-02', 0.9127]];
  expect(read(['date', 'USD'], rows, terms({ base: 'EUR', quoted: 'per_unit' })).values).toEqual({
    USDEUR: { '2024-01-02': 0.9127 },
  });
  expect(read(['date', 'USD/EUR'], rows).values).toEqual({ USDEUR: { '2024-01-02': 0.9127 } });
  expect(read(['DATE', 'USDEUR'], rows).values).toEqual({ USDEUR: { '2024-01-02': 0.9127 } });
});

test('a column named by one currency is refused without a base, and two columns of one series always', () => {
  const { findings } = read(['date', 'USD'], [['2024-01-02', 1.09]]);
  expect(findings.map(({ code, path }) => [code, path])).toEqual([['REQUIRED', 'series.USD']]);
  expect(findings[0]!.message).toMatch(/series\.base/);
  expect(read(['date', 'EURUSD', 'EUR/USD'], []).findings.map(({ code }) => code)).toEqual(['DUPLICATE_KEY']);
});

test('interest rates in basis points and fractions are stored in percent', () => {
  const rows = [['2024-01-02', 535, 1.1]];
  expect(read(['date', 'SOFR', 'EURUSD'], rows, terms({ unit: 'basis_points' })).values).toEqual({
    SOFR: { '2024-01-02': 5.35 },
    EURUSD: { '2024-01-02': 1.1 },
  });
  const columns = ['identifier', 'date', 'CLOSE', 'UNIT'];
  const long = read(columns, [
    ['A', '2024-01-02', 535, 'basis_points'],
    ['B', '2024-01-02', 0.0535, 'fraction'],
    ['C', '2024-01-02', 5.35, null],
  ]);
  expect(long.findings).toEqual([]);
  for (const name of ['A', 'B', 'C']) expect(long.values[name]!['2024-01-02']).toBeCloseTo(5.35, 14);
  const [finding] = read(columns, [['A', '2024-01-02', 1, 'permille']]).findings;
  expect([finding!.code, finding!.accepted]).toEqual(['NOT_IN_CHOICES', ['percent', 'basis_points', 'fraction']]);
});

test('an empty unit is that of the other rows of a series, and another unit or that of an exchange rate is refused', () => {
  const columns = ['identifier', 'date', 'CLOSE', 'UNIT'];
  const { values, findings } = read(columns, [
    ['A', '2024-01-02', 535, null],
    ['A', '2024-01-03', 536, 'basis_points'],
    ['A', '2024-01-04', 537, ''],
  ]);
  expect(findings).toEqual([]);
  expect(values['A']).toEqual({ '2024-01-02': 5.35, '2024-01-03': 5.36, '2024-01-04': 5.37 });
  const differing = read(columns, [
    ['A', '2024-01-02', 535, 'basis_points'],
    ['A', '2024-01-03', 5.36, 'percent'],
    ['EURUSD', '2024-01-02', 1.1, 'percent'],
  ]).findings;
  expect(differing.map(({ code, path, value }) => [code, path, value])).toEqual([
    ['NOT_IN_CHOICES', 'series[row 2].UNIT', 'percent'],
    ['NOT_IN_CHOICES', 'series[row 3].UNIT', 'percent'],
  ]);
  expect(differing[0]!.message).toMatch(/"percent"; an earlier row has "basis_points"/);
});

test('a column of the base itself, and terms of wide tables for a table of rows, are reported', () => {
  const own = read(['date', 'EUR', 'USD'], [['2024-01-02', 1, 1.0956]], terms({ base: 'EUR' }));
  expect(Object.keys(own.values)).toEqual(['EURUSD']);
  expect(own.findings).toMatchObject([{ severity: 'warning', code: 'COLUMN_IGNORED', path: 'series.EUR' }]);
  const rows = [['EURUSD', '2024-01-02', 1.0956]];
  const long = read(
    ['identifier', 'date', 'CLOSE'],
    rows,
    terms({ base: 'EUR', quoted: 'per_unit', unit: 'fraction' }),
  );
  expect(long.values).toEqual({ EURUSD: { '2024-01-02': 1.0956 } });
  expect(long.findings.map(({ code, path, value }) => [code, path, value])).toEqual([
    ['NO_EFFECT', 'mapping.series.base', 'EUR'],
    ['NO_EFFECT', 'mapping.series.quoted', 'per_unit'],
    ['NO_EFFECT', 'mapping.series.unit', 'fraction'],
  ]);
  expect(read(['identifier', 'date', 'CLOSE'], rows, terms({})).findings).toEqual([]);
});
