import { expect, test } from 'vitest';
import { listNamedAssets } from '#domain/definition/catalogue.js';
import { CONSTRAINT_CLASSES } from '#domain/definition/constraints.js';
import { IndexDocument } from '#domain/definition/index-document.js';
import { findUnknownRowSecurities, findUnknownSecurities } from '#domain/definition/index-validation.js';
import { RETURNS_CLASSES } from '#domain/definition/expected-returns.js';
import { SELECTION_CLASSES } from '#domain/definition/rule-pipeline.js';
import { WEIGHTING_CLASSES } from '#domain/definition/weighting-classes.js';
import { buildMarket } from '../backtest/market-builder.js';

const MARKET = buildMarket({
  dates: ['2024-01-02'],
  close: { AAPL: [1], MSFT: [2], NVDA: [3], 'BRK.B': [4] },
});

const base = { id: 'X', name: 'X', calendar: 'XNYS', base_date: '2024-01-02' };
const findRules = (overrides: object): IndexDocument =>
  IndexDocument.parse({ ...base, pipeline: { weighting: { type: 'EqualWeight' } }, ...overrides });

test('every class that lists assets declares that parameter in its schema', () => {
  const classes = [...SELECTION_CLASSES, ...WEIGHTING_CLASSES, ...CONSTRAINT_CLASSES, ...RETURNS_CLASSES];
  const listing = classes.filter(({ params }) => 'identifiers' in params.shape);
  expect(listing.map(({ type }) => type)).toEqual(expect.arrayContaining(['IncludeList', 'PositionBounds', 'Freeze']));
  for (const { type, params } of listing)
    expect(listNamedAssets(params, { identifiers: ['AAPL'] }, 'p'), type).toEqual([
      { path: 'p.identifiers[0]', identifier: 'AAPL' },
    ]);
  for (const { type, params, example } of classes) {
    if (!JSON.stringify(example).includes('"AAPL"')) continue;
    const exampleParams = 'params' in example ? example['params'] : example;
    expect(
      listNamedAssets(params, exampleParams, 'p').map(({ identifier }) => identifier),
      type,
    ).toContain('AAPL');
  }
});

test('a misspelt identifier is reported with its path and the similar identifier, in every list of a document', () => {
  const findings = [
    ...findUnknownSecurities(findRules({ universe: { kind: 'list', identifiers: ['AAPL', 'MSTF'] } }), MARKET),
    ...findUnknownSecurities(findRules({ events: { replacement: 'reserve', reserve: ['AAPL', 'MFST'] } }), MARKET),
    ...findUnknownSecurities(
      findRules({
        pipeline: {
          selection: [
            { id: 'in', type: 'IncludeList', params: { identifiers: ['aapl'] } },
            { id: 'out', type: 'ExcludeList', params: { identifiers: ['NVDA', 'ZZZZZZ'] } },
          ],
          weighting: { type: 'FixedWeight', params: { weights: { NVDIA: 0.5, MSFT: 0.5 } } },
        },
      }),
      MARKET,
    ),
    ...findUnknownSecurities(
      IndexDocument.parse({
        ...base,
        derivation: {
          source_index_id: 'P',
          constraints: [
            { id: 'short', type: 'PositionBounds', params: { lower: -0.05, upper: -0.05, identifiers: ['BRKB'] } },
            { type: 'LinearConstraint', params: { coefficients: { MSFT: 1, NVDO: -1 }, upper: 0 } },
            { type: 'PositionBounds', params: { upper: 0.1 } },
          ],
          expected_returns: { type: 'black_litterman', views: [{ weights: { APPL: 1 }, value: 0.1 }] },
        },
      }),
      MARKET,
    ),
  ];
  expect(findings.map(({ severity, code, path, row_id, message }) => [severity, code, path, row_id, message])).toEqual(
    [
      ['universe.identifiers[1]', null, 'The store has no MSTF. Did you mean MSFT?'],
      ['events.reserve[1]', null, 'The store has no MFST. Did you mean MSFT?'],
      ['pipeline.selection[0].params.identifiers[0]', 'in', 'The store has no aapl. Did you mean AAPL?'],
      ['pipeline.selection[1].params.identifiers[1]', 'out', 'The store has no ZZZZZZ.'],
      ['pipeline.weighting.params.weights.NVDIA', null, 'The store has no NVDIA. Did you mean NVDA?'],
      ['derivation.constraints[0].params.identifiers[0]', 'short', 'The store has no BRKB. Did you mean BRK.B?'],
      ['derivation.constraints[1].params.coefficients.NVDO', null, 'The store has no NVDO. Did you mean NVDA?'],
      ['derivation.expected_returns.views[0].weights.APPL', null, 'The store has no APPL. Did you mean AAPL?'],
    ].map((finding) => ['warning', 'UNKNOWN_IDENTIFIER', ...finding]),
  );
});

test('names beyond twenty are counted by their list', () => {
  const createNames = (count: number): string[] => Array.from({ length: count }, (_, i) => `UNKNOWN-NAME-${i}`);
  const createRow = (count: number) => ({ id: '', type: 'Exclude', params: { identifiers: createNames(count) } });
  const findings = findUnknownRowSecurities([createRow(19), createRow(4), createRow(1)], MARKET, 'constraints');
  expect(findings).toHaveLength(22);
  expect(findings.slice(20).map(({ path, message }) => [path, message])).toEqual([
    ['constraints[1].params.identifiers', '3 further identifiers are not in the store.'],
    ['constraints[2].params.identifiers', '1 further identifier is not in the store.'],
  ]);
});

test('a series is reported as one', () => {
  const rate = { identifier: 'RATE', name: null, currency: null, days: Int32Array.of(1), closes: Float64Array.of(1) };
  const row = { id: '', type: 'Exclude', params: { identifiers: ['RATE'] } };
  expect(findUnknownRowSecurities([row], { ...MARKET, series: new Map([['RATE', rate]]) }, 'c')).toMatchObject([
    { code: 'UNKNOWN_IDENTIFIER', message: 'RATE is a series of the store, which is never a constituent.' },
  ]);
});

test('a group of a row that no security of the store ever had is reported with the existing groups', () => {
  const market = buildMarket({
    dates: ['2024-01-02'],
    close: { AAPL: [1], MSFT: [2], NVDA: [3], 'BRK.B': [4] },
    reference: {
      AAPL: { SECTOR: 'Tech' },
      MSFT: { SECTOR: 'Tech' },
      NVDA: { SECTOR: 'Energy' },
      'BRK.B': { SECTOR: '' },
    },
  });
  const createRow = (type: string, groups: readonly string[]) => ({
    id: 'g',
    type,
    params: { field: 'SECTOR', groups },
  });
  const rows = [createRow('GroupBounds', ['Technology', 'Tech']), createRow('GroupCardinality', ['Enregy', ''])];
  expect(
    findUnknownRowSecurities(rows, market, 'constraints').map(({ path, row_id, message }) => [path, row_id, message]),
  ).toEqual([
    [
      'constraints[0].params.groups[0]',
      'g',
      'No security in the data has the SECTOR Technology. The constraint has no effect there. There are Energy, Tech.',
    ],
    [
      'constraints[1].params.groups[0]',
      'g',
      'No security in the data has the SECTOR Enregy. The constraint has no effect there. Did you mean Energy?',
    ],
  ]);
});

test('unknown groups beyond 100 are counted, and few are compared with the groups of a large field', () => {
  const names = Array.from({ length: 600 }, (_, i) => `S${i}`);
  const market = buildMarket({
    dates: ['2024-01-02'],
    close: Object.fromEntries(names.map((name) => [name, [1]])),
    reference: Object.fromEntries(names.map((name, i) => [name, { ISSUER: `Issuer ${String(i).padStart(4, '0')}` }])),
  });
  const groups = Array.from({ length: 200 }, (_, i) => `Issuer ${String(i).padStart(4, '0')}x`);
  const rows = ['a', 'b'].map((id) => ({ id, type: 'GroupBounds', params: { field: 'ISSUER', groups } }));
  const findings = findUnknownRowSecurities(rows, market, 'constraints');
  expect(findings).toHaveLength(101);
  expect(findings.at(-1)).toMatchObject({ severity: 'warning', code: 'MORE_FINDINGS', count: 300 });
  // 5,000 comparisons are enough for 8 groups with 600 names each.
  expect(findings.map(({ message }) => message.includes('Did you mean'))).toEqual(
    Array.from({ length: 101 }, (_, i) => i < 8),
  );
  expect(findings[8]?.message).toContain('There are Issuer 0000, Issuer 0001, ');
});
