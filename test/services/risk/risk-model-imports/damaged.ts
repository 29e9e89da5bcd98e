import { Field, Float64, Table, tableToIPC, Utf8, vectorFromArray } from 'apache-arrow';
import { describe, expect, test } from 'vitest';
import { NAMES, service } from '../../optimisation/optimise/set-up.js';
import {
  ARROW,
  type Frame,
  requireImport,
  sendFile,
  readModel,
  createFrame,
  EARLY_DATE,
  F,
  factorModel,
} from './set-up.js';

export function describeRepairs(): void {
  describe('a repair', () => {
    test('covariances that are not symmetric or not positive semi-definite are errors, or repaired on request', async () => {
      const [a, b, c] = NAMES as [string, string, string];
      const ids = [a, b, c];
      const skew = {
        index: ids,
        columns: ids,
        data: [
          [0.04, 0.01, 0],
          [0.02, 0.09, 0],
          [0, 0, 0.01],
        ],
      };
      const indefinite = {
        index: ids,
        columns: ids,
        data: [
          [1, 0.9, -0.9],
          [0.9, 1, 0.9],
          [-0.9, 0.9, 1],
        ],
      };
      const refuseImport = async (covariance: Frame) =>
        service.refusal('POST', '/risk-models/bad/import', {
          units: 'annual',
          models: [{ date: EARLY_DATE, covariance }],
        });
      expect((await refuseImport(skew)).detail).toMatchObject({
        findings: [
          {
            code: 'OUT_OF_RANGE',
            path: 'models[0].covariance',
            message: `The covariance of ${a} and ${b} is 0.01, and that of ${b} and ${a} 0.02; repair uses their mean.`,
          },
        ],
      });
      expect((await refuseImport(indefinite)).detail).toMatchObject({
        findings: [{ code: 'OUT_OF_RANGE', message: expect.stringContaining('smallest eigenvalue is -0.8') }],
      });
      for (const covariance of [skew, indefinite]) {
        const body = { units: 'annual', repair: true, models: [{ date: EARLY_DATE, covariance }] };
        const result = await requireImport('repaired', body);
        expect(result.imported.dates[0]).toMatchObject({ repaired: true });
        expect(result.findings).toMatchObject([{ severity: 'warning', path: 'repair' }]);
        const { data } = (await readModel('repaired')).covariance;
        data.forEach((row, i) => {
          expect(row[i]).toBe(covariance.data[i]![i]);
          row.forEach((value, j) => expect(value).toBe(data[j]![i]));
        });
        if (covariance === skew) expect(data[0]![1]).toBe(0.015);
      }
      expect((await service.ask('GET', '/risk-models/bad')).status).toBe(404);
    });
  });
}

const twoNames = createFrame(NAMES.slice(0, 2), 0.01);
const createSeries = (...models: unknown[]) => ({ units: 'annual', models });

const model = { date: EARLY_DATE, covariance: twoNames };
const addData = (data: unknown[][]) => createSeries({ date: EARLY_DATE, covariance: { ...twoNames, data } });
const { factor_covariance: _f, ...withoutF } = factorModel(EARLY_DATE);

const DAMAGED_IMPORTS: readonly (readonly [string, unknown, readonly string[]])[] = [
  ['no units', { models: [model] }, ['REQUIRED units']],
  ['other units', { ...createSeries(model), units: 'monthly' }, ['NOT_IN_CHOICES units']],
  ['no models', createSeries(), ['OUT_OF_RANGE models']],
  ['an unknown member', { ...createSeries(model), kind: 'x' }, ['UNKNOWN_FIELD kind']],
  ['an unknown table', createSeries({ ...model, covariances: twoNames }), ['UNKNOWN_FIELD models[0].covariances']],
  ['no table', createSeries({ date: EARLY_DATE }), ['REQUIRED models[0]']],
  ['no date', createSeries({ covariance: twoNames }), ['REQUIRED models[0].date']],
  ['a date that is none', createSeries({ ...model, date: '2023-02-30' }), ['BAD_DATE models[0].date']],
  ['dates out of order', createSeries({ ...model, date: '2023-03-31' }, model), ['BAD_DATE models[1]']],
  ['both kinds', createSeries({ ...factorModel(EARLY_DATE), covariance: twoNames }), ['REQUIRED models[0]']],
  ['no factor covariance', createSeries(withoutF), ['REQUIRED models[0]']],
  ['kinds that change', createSeries(model, factorModel('2023-06-30')), ['NOT_IN_CHOICES models[1]']],
  [
    'a text',
    addData([
      [0.04, 'x'],
      [0.01, 0.09],
    ]),
    ['NOT_A_NUMBER models[0].covariance.data[0][1]'],
  ],
  [
    'an empty cell',
    addData([
      [0.04, 0.01],
      [null, 0.09],
    ]),
    ['NOT_A_NUMBER models[0].covariance.data[1][0]'],
  ],
  ['a short row', addData([[0.04, 0.01], [0.01]]), ['OUT_OF_RANGE models[0].covariance.data[1]']],
  ['a row less', addData([[0.04, 0.01]]), ['OUT_OF_RANGE models[0].covariance.data']],
  [
    'a negative variance',
    addData([
      [-0.04, 0],
      [0, 0.09],
    ]),
    ['OUT_OF_RANGE models[0].covariance'],
  ],
  [
    'no security of the store',
    createSeries({ date: EARLY_DATE, covariance: { ...twoNames, index: ['P', 'Q'], columns: ['P', 'Q'] } }),
    ['UNKNOWN_IDENTIFIER models'],
  ],
  [
    'a security twice',
    createSeries({ date: EARLY_DATE, covariance: { ...twoNames, index: ['N00', 'N00'], columns: ['N00', 'N00'] } }),
    Array(3)
      .fill('DUPLICATE_KEY models[0].covariance.data')
      .map((path, k) => `${path}[${[0, 1, 1][k]}][${[1, 0, 1][k]}]`),
  ],
  [
    'a variance that is absent',
    createSeries({ ...factorModel(EARLY_DATE), specific_variances: { N00: 0.01 } }),
    NAMES.slice(1).map(() => 'REQUIRED models[0].specific_variances'),
  ],
  [
    'a factor without exposures',
    createSeries({
      ...factorModel(EARLY_DATE),
      factor_covariance: { index: ['SIZE', 'MARKET'], columns: ['SIZE', 'MARKET'], data: F },
    }),
    ['REQUIRED', 'REQUIRED', 'UNKNOWN_FIELD', 'UNKNOWN_FIELD'].map((code) => `${code} models[0].factor_covariance`),
  ],
];

export function describeDamagedBodies(): void {
  describe('a damaged body', () => {
    test.each(DAMAGED_IMPORTS)(
      'a body with %s is refused at its place, and nothing is stored',
      async (_what, body, expected) => {
        const { status, code, detail } = await service.refusal('POST', '/risk-models/damaged/import', body);
        expect([status, code]).toEqual([422, 'VALIDATION_FAILED']);
        const findings = (detail as { findings: { code: string; path: string }[] }).findings;
        expect(findings.map((finding) => `${finding.code} ${finding.path}`)).toEqual(expected);
        expect((await service.ask('GET', '/risk-models/damaged')).status).toBe(404);
      },
    );
  });
}

const LONG_HEADER = 'date,table,row,column,value';

const DAMAGED_FILES: readonly (readonly [string, string, string, readonly string[]])[] = [
  ['no units', '', `${LONG_HEADER}\n`, ['REQUIRED units']],
  ['no rows', 'units=annual', `${LONG_HEADER}\n`, ['EMPTY_DATASET model']],
  ['nothing', 'units=annual', '\n', ['UNREADABLE_FILE model']],
  ['an open quote', 'units=annual', `${LONG_HEADER}\n"2023`, ['UNREADABLE_FILE model[row 1]']],
  ['no date', 'units=annual', 'identifier,N00\nN00,0.04\n', ['REQUIRED date']],
  ['no securities', 'units=annual', 'date,N00\n2023-02-28,0.04\n', ['REQUIRED model']],
  ['an unknown column', 'units=annual', `${LONG_HEADER},note\n`, ['UNKNOWN_FIELD model']],
  [
    'an unknown table',
    'units=annual',
    `${LONG_HEADER}\n2023-02-28,covar,N00,N00,1\n`,
    ['NOT_IN_CHOICES model[row 1].table'],
  ],
  ['a bad date', 'units=annual', `${LONG_HEADER}\n28.2.2023,covariance,N00,N00,1\n`, ['BAD_DATE model[row 1].date']],
  [
    'dates out of order',
    'units=annual',
    `${LONG_HEADER}\n2023-02-28,covariance,N00,N00,1\n2023-01-31,covariance,N00,N00,1\n`,
    ['BAD_DATE model[row 2].date'],
  ],
  [
    'a text',
    'units=annual',
    `${LONG_HEADER}\n2023-02-28,covariance,N00,N00,one\n`,
    ['NOT_A_NUMBER model[row 1].value'],
  ],
  [
    'an infinite number',
    'units=annual',
    `${LONG_HEADER}\n2023-02-28,covariance,N00,N00,1e999\n`,
    ['NOT_A_NUMBER model[row 1].value'],
  ],
  [
    'a pair twice',
    'units=annual',
    `${LONG_HEADER}\n2023-02-28,covariance,N00,N00,1\n2023-02-28,covariance,N00,N00,2\n`,
    ['DUPLICATE_KEY model[row 2]'],
  ],
  [
    'a pair that is absent',
    'units=annual',
    `${LONG_HEADER}\n2023-02-28,covariance,N00,N00,1\n2023-02-28,covariance,N01,N01,2\n`,
    ['REQUIRED model.covariance'],
  ],
  [
    'a text in a column',
    'units=annual',
    'date,identifier,N00,N01\n2023-02-28,N00,0.04,x\n2023-02-28,N01,0.01,0.09\n',
    ['NOT_A_NUMBER model[row 1].N01'],
  ],
];

export function describeDamagedFiles(): void {
  describe('a damaged file', () => {
    test.each(DAMAGED_FILES)('a file with %s is refused at its row and column', async (_what, query, csv, expected) => {
      const { status, body } = await sendFile('damaged', query, 'text/csv', csv);
      expect(status).toBe(422);
      const { detail } = (body as unknown as { error: { detail: { findings: { code: string; path: string }[] } } })
        .error;
      expect(detail.findings.map(({ code, path }) => `${code} ${path}`)).toEqual(expected);
    });

    test('an Arrow stream that is cut off, a large body and a body of another type are refused', async () => {
      const table = new Table({
        identifier: vectorFromArray(['N00'], new Utf8()),
        N00: vectorFromArray([0.04], new Float64()),
      });
      expect(table.schema.fields.every((field) => field instanceof Field)).toBe(true);
      const bytes = tableToIPC(table, 'stream');
      expect((await sendFile('small', 'units=annual&date=2023-02-28', ARROW, bytes)).status).toBe(201);
      const cut = await sendFile('cut', 'units=annual&date=2023-02-28', ARROW, bytes.slice(0, 40));
      expect(cut.status).toBe(422);
      expect((await sendFile('cut', 'units=annual', 'text/plain', 'x')).status).toBe(400);
      const large = await sendFile('cut', 'units=annual', 'text/csv', new Uint8Array(67_108_865));
      expect([large.status, (large.body as unknown as { error: { code: string } }).error.code]).toEqual([
        400,
        'BODY_TOO_LARGE',
      ]);
    });
  });
}

export function describeCoverage(): void {
  describe('an imported model', () => {
    test('securities that the store lacks are a warning; an imported model is not estimated or validated again', async () => {
      const ids = ['N00', 'ZZZ'];
      const result = await requireImport(
        'warned',
        createSeries({ date: EARLY_DATE, covariance: { ...twoNames, index: ids, columns: ids } }),
      );
      expect(result.findings).toMatchObject([{ severity: 'warning', code: 'UNKNOWN_IDENTIFIER', places: ['ZZZ'] }]);
      expect((await readModel('warned')).findings).toMatchObject([{ code: 'UNKNOWN_IDENTIFIER' }]);
      expect(await service.refusal('POST', '/risk-models/warned/estimate')).toMatchObject({
        code: 'UNIVERSE_REQUIRED',
      });
      expect(await service.refusal('POST', '/risk-models/warned/validate', {})).toMatchObject({
        code: 'VALIDATION_FAILED',
        detail: { findings: [{ path: 'model_id' }] },
      });
      expect(await service.refusal('GET', '/risk-models/inside?date=2024-01-02')).toMatchObject({
        code: 'VALIDATION_FAILED',
      });
      const { body: list } = await service.ask<{ risk_models: { model_id: string; estimator: string }[] }>(
        'GET',
        '/risk-models',
      );
      expect(list.risk_models.find(({ model_id: id }) => id === 'warned')).toMatchObject({ estimator: 'imported' });
    });
  });
}
