import { describe, expect, test } from 'vitest';
import {
  formatAxisLabels,
  limitToRange,
  listLogSplits,
  listSpreadPositions,
  PERCENT_UNIT,
  stackLines,
} from '#console/components/chart/series.js';
import { removeInapplicable } from '#console/components/form/field-spec.js';
import { findFile, parseLocation, setPath } from '#console/pages/data/source-files.js';
import {
  addFiles,
  findTrouble,
  needsMapping,
  readChosenFiles,
  removeFile,
  proposeStoreName,
} from '#console/pages/data/import-files.js';
import { createZip } from '../create-zip.js';
import {
  formatVariantPointer,
  formatWithUnit,
  listVariantFindings,
  listValueErrors,
  parseValues,
} from '#console/pages/sweeps/variants.js';
import { formatDuration, isDate, subtractMonths, formatZone } from '#console/words/dates.js';
import { formatCompact } from '#console/words/quantities.js';
import { createPlainSentence, formatRiskWindow } from '#console/words/methodology.js';
import {
  formatBytes,
  formatChange,
  formatFigure,
  formatLargeUnits,
  formatPercent,
  getSignClass,
} from '#console/words/numbers.js';
import { listDifferences, addValue } from '#console/words/paths.js';
import { formatScalar, parseTyped } from '#console/words/form-fields.js';
import { createParameterSpecs } from '#domain/definition/catalogue.js';
import { UniverseSpec } from '#domain/definition/index-document.js';
import { Mapping } from '#domain/definition/mapping.js';
import { LIMITS } from '#domain/base/limits.js';
import { getApiDocument } from '../../contract/api-document.js';

test('numbers have their unit, a true minus sign, and a dash for a missing value', () => {
  expect([formatPercent(0.05234), formatPercent(-0.5, 0), formatPercent(null)]).toEqual(['5.23%', '−50%', '–']);
  expect([formatChange(0.01), formatChange(0)]).toEqual(['+1.00%', '0.00%']);
  const figures = [1234, 1234.567, 1.5, 2e-9].map((value) => formatFigure(value));
  expect(figures).toEqual(['1,234', '1,234.57', '1.5000', '2.000e−9']);
  expect([formatBytes(999), formatBytes(1500), formatBytes(2_000_000)]).toEqual(['999 B', '1.5 KB', '2.0 MB']);
  // A change shown as 0.00% has neither the class of a rise nor of a fall.
  expect([getSignClass(4e-5), getSignClass(6e-5), getSignClass(-1)]).toEqual(['', 'up', 'down']);
});

test('a value of any kind is formatted so that it is parsed to the same value, and a text that looks like a number is quoted', () => {
  expect(['12', '1.5m', '1,000', 'true', 'Technology', ' A B ', '"12"', '"'].map(parseTyped)).toEqual([
    12,
    1_500_000,
    1000,
    true,
    'Technology',
    'A B',
    '12',
    '"',
  ]);
  for (const value of [12, -0.5, 1e-9, true, false, 'Technology', '12', '5%', 'true', '"12"', 'a "b" c', '\\'])
    expect(parseTyped(formatScalar(value))).toBe(value);
});

test('values of a sweep are numbers in the unit of their parameter, words, and yes or no', () => {
  expect(parseValues('5%, 0.1; 1', 'fraction')).toEqual([0.05, 0.1, 1]);
  expect(parseValues('monthly quarterly true null')).toEqual(['monthly', 'quarterly', true, null]);
  expect([formatWithUnit(0.1, 'fraction'), formatWithUnit('semi_annual', null)]).toEqual(['10%', 'semi annual']);
  expect(formatWithUnit(undefined, 'bps')).toBe('none');
});

test('values of a sweep that their parameter does not accept are refused, and rules are counted from 1', () => {
  const cap = { choices: null, unit: 'fraction', takes: 'number', isOptional: true } as const;
  expect(listValueErrors('abc, 0.1, 5%, null', cap)).toEqual(['abc is not a number.']);
  expect(listValueErrors('0, 2.5', { ...cap, unit: 'sessions', takes: 'integer' })).toEqual(['2.5 is not an integer.']);
  expect(listValueErrors('monthly, never', { ...cap, takes: 'word', choices: ['monthly', 'annual'] })).toEqual([
    'never is not one of monthly, annual.',
  ]);
  expect(listValueErrors('null', { ...cap, isOptional: false })).toHaveLength(1);
  expect(formatVariantPointer('/document/pipeline/selection/1/params/count')).toBe('rule 2: count');
});

test('a finding about a variant is shown at the parameter that causes it', () => {
  const findAt = (path: string) => ({ severity: 'error', code: 'OUT_OF_RANGE', path, message: '' }) as const;
  const [cap, count] = ['/document/pipeline/weighting/cap', '/document/pipeline/selection/1/params/count'];
  const paths = [
    `grid${cap}`,
    'grid[7]/document.pipeline.weighting.cap',
    'grid[0]/document.pipeline.selection[1].params.count',
    'grid[12]/document.pipeline.selection[10].params.count',
    'request.start',
  ];
  const listShown = (pointer: string) =>
    listVariantFindings(paths.map(findAt), pointer).map(({ path }) => paths.indexOf(path));
  expect([listShown(cap), listShown(count), listShown('/document/pipeline/weighting')]).toEqual([[0, 1], [2], [0, 1]]);
});

test('a finding is shown at its table, file, row and column, and at the file that was chosen', () => {
  expect(parseLocation('market[row 2].CLOSE')).toEqual({ table: 'market', file: '', row: '2', column: 'CLOSE' });
  expect(parseLocation('market/BASF SE.csv[row 6].CLOSE')).toEqual({
    table: 'market',
    file: 'BASF SE.csv',
    row: '6',
    column: 'CLOSE',
  });
  expect(parseLocation('market/names.csv.CLOSE')).toMatchObject({ file: 'names.csv', row: '', column: 'CLOSE' });
  expect(parseLocation('market/Prices St. Gallen[row 3].CLOSE')).toMatchObject({ file: 'Prices St. Gallen', row: '3' });
  expect(parseLocation('market[XYZ 2024-03-15].CLOSE')).toMatchObject({ row: 'XYZ 2024-03-15' });
  expect(parseLocation('market/names.csv')).toMatchObject({ table: 'market', file: 'names.csv', column: '' });
  expect(parseLocation('mapping.fields[2].name')).toMatchObject({ table: 'mapping.fields[2].name', row: '' });
  expect(parseLocation('something else')).toMatchObject({ table: 'something else', row: '' });
  const files = [
    { name: 'A.csv', table: 'market' },
    { name: 'B.csv', table: 'market' },
    { name: 'names.csv', table: 'reference' },
  ];
  expect(findFile({ path: 'market/B.csv[row 6].CLOSE' }, files)).toBe(files[1]);
  expect(findFile({ path: 'market[row 6]', file: 'A.csv' }, files)).toBe(files[0]);
  expect(findFile({ path: 'reference[row 2].NAME' }, files)).toBe(files[2]);
  // If two files of one table qualify, neither file is named.
  expect(findFile({ path: 'market[row 6].CLOSE' }, files)).toBeUndefined();
});

test('every deviation from a plain table needs a mapping, also duplicates and zeros', () => {
  const usualMapping = Mapping.parse({});
  const isMappingNeeded = (mappingTerms: Partial<Mapping>) =>
    needsMapping({ ...usualMapping, ...mappingTerms }, usualMapping);
  expect(isMappingNeeded({})).toBe(false);
  expect(isMappingNeeded({ columns: { date: 'date', CLOSE: 'CLOSE' }, identifier_from: 'column' })).toBe(false);
  expect(isMappingNeeded({ columns: { date: 'Datum' } })).toBe(true);
  expect(isMappingNeeded({ on_duplicate: 'identical' })).toBe(true);
  expect(isMappingNeeded({ zero_prices: 'missing' })).toBe(true);
  expect(isMappingNeeded({ decimal: ',' })).toBe(true);
});

test('scales have round numbers at equal distances, and cover the shown values', () => {
  expect(listLogSplits(8, 1200)).toEqual([10, 20, 50, 100, 200, 500, 1000]);
  expect(listLogSplits(90, 140).every((value) => value >= 90 && value <= 140)).toBe(true);
  expect([0.005, 0.025].flatMap((step) => formatAxisLabels([0, step], PERCENT_UNIT))).toEqual([
    '0.0%',
    '0.5%',
    '0.0%',
    '2.5%',
  ]);
  expect(listSpreadPositions(1000, 3)).toEqual([0, 500, 999]);
  const dates = ['2024-01-02', '2024-01-03', '2024-01-05'];
  expect(limitToRange(dates, { from: '2024-01-03', to: '2024-01-04' })).toEqual([1, 1]);
  expect(limitToRange(dates, { from: '2025-01-01', to: '2025-02-01' })).toEqual([0, 2]);
  const findLine = (values: (number | null)[]) => ({ id: 'a', label: 'a', values, colour: 1 });
  const stackedLines = stackLines([findLine([1, null]), findLine([2, 3])]);
  expect(stackedLines.map(({ values }) => values.join())).toEqual(['1,0', '3,3']);
});

test('dates stay in their month, and long durations are written in words', () => {
  expect(subtractMonths('2024-05-31', 3)).toBe('2024-02-29');
  expect(subtractMonths('2024-01-15', -12)).toBe('2025-01-15');
  expect([0.42, 59, 200, 7500].map(formatDuration)).toEqual(['0.4 s', '59 s', '3 min 20 s', '2 h 5 min']);
});

test('two documents differ only at the changed value', () => {
  const base = { a: 1, b: { c: [1, 2] } };
  const changedValue = addValue(base, ['b', 'c', 1], 3);
  expect(listDifferences(base, changedValue)).toEqual([{ path: ['b', 'c', 1], before: 2, after: 3 }]);
  expect(listDifferences(base, addValue(base, ['a'], undefined)).map(({ path }) => path)).toEqual([['a']]);
  // Lists of different lengths differ as a whole.
  expect(listDifferences([1, 2], [1])).toEqual([{ path: [], before: [1, 2], after: [1] }]);
});

test('a universe of another kind keeps no field of the earlier kind', () => {
  const members = createParameterSpecs(UniverseSpec);
  const chosenUniverse = { kind: 'index', id: 'CORE', watchlist_id: 'mine', identifiers: ['A'] };
  expect(removeInapplicable(members, chosenUniverse)).toEqual({ kind: 'index', id: 'CORE' });
  expect(removeInapplicable(members, { ...chosenUniverse, kind: 'watchlist' })).toEqual({
    kind: 'watchlist',
    watchlist_id: 'mine',
  });
  expect(removeInapplicable(members, { kind: 'all' })).toEqual({ kind: 'all' });
});

test('the risk of a solution has a source: a stored model, a number of returns, or the default number of a derived index', () => {
  const schemas = getApiDocument().components.schemas as Parameters<typeof formatRiskWindow>[1]; // An OpenAPI document contains the schemas of parameters.
  expect(formatRiskWindow('daily', schemas)).toBe('stored model daily');
  expect(formatRiskWindow({ sessions: 1260 }, schemas)).toBe('last 1,260 returns');
  const standardText = `last ${LIMITS.DERIVED_RISK_SESSIONS} returns`; // default of the contract
  expect(formatRiskWindow(undefined, schemas)).toBe(standardText);
  expect(formatRiskWindow({ estimator: 'ledoit_wolf' }, schemas)).toBe(standardText);
  expect(formatRiskWindow({ sessions: null }, schemas)).toBe(standardText);
  expect(formatRiskWindow(undefined, undefined)).toBeNull();
});

test('a time has its zone, and a day exists in the calendar', () => {
  expect([0, 60, -330, 345].map(formatZone)).toEqual(['UTC', '+01:00', '−05:30', '+05:45']);
  expect(['2024-02-29', '2023-02-29', '2024-13-01', '2024-1-1'].map(isDate)).toEqual([true, false, false, false]);
});

describe('an archive in the browser', () => {
  const packZip = async (names: readonly string[]) =>
    new File(
      [await createZip(names.map((name) => ({ name, bytes: new TextEncoder().encode(`${name}\n`.repeat(50)) })))],
      'a.zip',
    );

  test('is read as its tables, without files that a system or a reader adds', async () => {
    const names = ['prices/A.csv', 'prices/B.CSV', '__MACOSX/._A.csv', 'prices/.DS_Store', 'read me.pdf', 'notes.xlsx'];
    const { sources, ignored, troubles } = await readChosenFiles([await packZip(names), new File(['x'], 'c.csv')]);
    expect([sources.map(({ name }) => name), ignored, troubles]).toEqual([
      ['prices/A.csv', 'prices/B.CSV', 'c.csv'],
      ['read me.pdf', 'notes.xlsx'],
      [],
    ]);
    expect([sources[0]!.size, Buffer.from(await sources[0]!.arrayBuffer()).toString()]).toEqual([
      13 * 50,
      'prices/A.csv\n'.repeat(50),
    ]);
  });

  test('that is damaged, encrypted or not an archive is refused with the reason', async () => {
    const findTrouble = async (change: (bytes: Buffer) => Uint8Array) => {
      const bytes = Buffer.from(await (await packZip(['A.csv'])).arrayBuffer());
      return (await readChosenFiles([new File([new Uint8Array(change(bytes))], 'a.zip')])).troubles[0];
    };
    const computeEntry = (bytes: Buffer) => bytes.lastIndexOf(Buffer.from('PK\u0001\u0002', 'latin1'));
    const writeEntry = (offset: number, value: number) => (bytes: Buffer) => {
      bytes.writeUInt16LE(value, computeEntry(bytes) + offset);
      return bytes;
    };
    expect([
      await findTrouble((bytes) => bytes.subarray(0, -22)),
      await findTrouble(writeEntry(8, 1)),
      await findTrouble(writeEntry(10, 93)),
      await findTrouble(writeEntry(0, 0)),
    ]).toEqual([
      'a.zip is not a zip archive, or its end is missing.',
      'a.zip is encrypted. Unpack it first.',
      'a.zip packs A.csv in a way that browsers do not unpack. Unpack it first.',
      'a.zip is damaged: its list of files ends early.',
    ]);
    const shortFile = new File(
      [new Uint8Array(writeEntry(24, 5)(Buffer.from(await (await packZip(['A.csv'])).arrayBuffer())))],
      'a.zip',
    );
    await expect((await readChosenFiles([shortFile])).sources[0]!.arrayBuffer()).rejects.toThrow(
      'A.csv in a.zip is damaged.',
    );
  });
});

describe('a folder in the browser', () => {
  test('is read as its tables, named by their paths inside it', async () => {
    const files = ['eod/2024/A.csv', 'eod/.DS_Store', 'eod/notes.pdf'].map((path) => {
      const file = new File(['x'], path.slice(path.lastIndexOf('/') + 1));
      setPath(file, path);
      return file;
    });
    const { sources, ignored } = await readChosenFiles(files);
    expect([sources.map(({ name }) => name), ignored]).toEqual([['2024/A.csv'], ['eod/notes.pdf']]);
  });
});

describe('files that are to be imported', () => {
  test('name the store: by the only file, their folder, or their common prefix', () => {
    const nameStore = (...paths: string[]) => proposeStoreName(paths, '2026-11-25');
    expect(nameStore('desk_prices.csv')).toBe('desk prices');
    expect(nameStore('vendor-eod/A.csv', 'vendor-eod/sub/B.csv')).toBe('vendor eod');
    expect(nameStore('prices_2023.csv', 'prices_2024.csv')).toBe('prices');
    expect(nameStore('T00.csv', 'T01.csv')).toBe('Import of 2026-11-25');
  });

  const createFile = (name: string) => new File(['x'], name);
  const createTables = (files: Parameters<typeof removeFile>[0]) => files.map(({ table }) => table);

  test('are workbooks of one table each if there are several, and a workbook of all tables if it is alone', () => {
    const oneFile = addFiles([], [createFile('AAPL.xlsx')]);
    const threeFiles = addFiles(oneFile, [createFile('IBM.xlsx'), createFile('reference.xlsx')]);
    expect([createTables(oneFile), createTables(threeFiles)]).toEqual([[null], ['market', 'market', 'reference']]);
    expect(createTables(removeFile(removeFile(threeFiles, 2), 1))).toEqual([null]);
    expect([oneFile, threeFiles].map((files) => findTrouble(files))).toEqual([null, null]);
  });

  test('keep the chosen table when other files are added or removed', () => {
    const [first, second] = addFiles([], [createFile('a.csv'), createFile('b.csv')]);
    const chosenFiles = [{ ...first!, table: 'series' as const }, second!];
    expect(createTables(addFiles(chosenFiles, [createFile('c.csv')]))).toEqual(['series', 'market', 'market']);
    expect(createTables(removeFile(chosenFiles, 1))).toEqual(['series']);
  });

  test('are refused with both kinds if workbooks are mixed with other files, and with both sizes if one is too large', () => {
    const mixedFiles = addFiles([], [createFile('AAPL.xlsx'), createFile('b.csv')]);
    expect(findTrouble(mixedFiles)).toBe('AAPL.xlsx is a workbook. Import workbooks separately from other files.');
    const large = { name: 'prices.csv', size: 300_000_000, arrayBuffer: () => Promise.resolve(new ArrayBuffer(0)) };
    expect(findTrouble(addFiles([], [large]))).toBe(
      'prices.csv has 300.0 MB; a file may have up to 200.0 MB. Connect its folder instead.',
    );
  });
});

test('sizes and large numbers are written in the largest unit', () => {
  expect(formatLargeUnits('70121 MiB are free; 256 MiB are needed for writes.')).toBe(
    '68.5 GiB are free; 256 MiB are needed for writes.',
  );
  expect([1_234_000_000, 1_200_000_000, 51.5638, 50, -4_850_000_000, null].map(formatCompact)).toEqual([
    '1.23B',
    '1.20B',
    '51.6',
    '50',
    '−4.85B',
    '–',
  ]);
});

test('a sentence of a methodology has words instead of codes, and refers to its rule', () => {
  const splitSentence = (text: string) => {
    const { parts, rule } = createPlainSentence(
      text,
      new Set(['MARKET_CAP']),
      new Map([['XNYS', 'New York Stock Exchange']]),
    );
    return [parts.map(({ text: own }) => own).join(''), rule];
  };
  expect(splitSentence('Rule top: Keep the 40 securities with the largest MARKET_CAP.')).toEqual([
    'Keep the 40 securities with the largest market cap.',
    'top',
  ]);
  expect(splitSentence('CORE is an index in USD on the calendar XNYS.')).toEqual([
    'CORE is an index in USD on the calendar New York Stock Exchange.',
    null,
  ]);
});
