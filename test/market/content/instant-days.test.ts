import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { expect, test } from 'vitest';
import { Mapping } from '#domain/definition/mapping.js';
import { formatDay } from '#domain/base/time.js';
import { inspect } from '#market/read/inspection.js';
import { type ImportSource, readImport, writeZip } from '#market/read/import.js';
import { openCalendars } from '#market/serve/calendar-files.js';
import { readDatabase } from '#market/read/databases.js';
import { createProblems } from '#market/tables/problems.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';
import { readFolder } from '../store-folder.js';

const createFolder = openTemporaryFolders();
const calendars = openCalendars();

/** Thursday and Friday, and the next Monday, as midnight in Sydney (UTC+10 in August). Monday is a Sunday in UTC. */
const SYDNEY_MIDNIGHTS = ['2021-08-11T14:00:00Z', '2021-08-12T14:00:00Z', '2021-08-15T14:00:00Z'];
const SYDNEY_DAYS = ['2021-08-12', '2021-08-13', '2021-08-16'];

/** Converts an instant to the text of a format. */
const FORMATS = {
  epoch_s: (text: string) => String(Date.parse(text) / 1e3),
  epoch_ms: (text: string) => String(Date.parse(text)),
  epoch_us: (text: string) => `${Date.parse(text)}000`,
  epoch_ns: (text: string) => `${Date.parse(text)}000000`,
  iso: (text: string) => text,
  offset: (text: string) => text.replace('Z', '+00:00'),
  spaced: (text: string) => text.replace('T', ' ').replace('Z', '.000000+00'),
};

const isEpoch = (format: string) => format.startsWith('epoch');

interface Source {
  readonly instants?: readonly string[];
  readonly format?: keyof typeof FORMATS;
  readonly exchange?: string;
  readonly mapping?: Partial<Mapping> | null;
}

async function read({ instants = SYDNEY_MIDNIGHTS, format = 'iso', exchange, mapping = {} }: Source) {
  const problems = createProblems();
  const data = instants.map((text, i) => ['A', FORMATS[format](text), 10 + i]);
  const reference = { columns: ['identifier', 'EXCHANGE'], data: [['A', exchange]] };
  const source: ImportSource = {
    kind: 'tables',
    tables: {
      market: { columns: ['identifier', 'date', 'CLOSE'], data },
      ...(exchange === undefined ? {} : { reference }),
    },
  };
  const terms = {
    mapping: mapping && Mapping.parse({ ...(isEpoch(format) ? { date_format: format } : {}), ...mapping }),
    adjustment: 'none' as const,
    calendars,
  };
  const result = await readImport(source, problems, terms);
  return { days: result && [...result.content.dates].map(formatDay), findings: problems.findings() };
}

test.each(Object.keys(FORMATS) as (keyof typeof FORMATS)[])(
  'instants as %s have the days of the time zone',
  async (format) => {
    const exchange = await read({ format, exchange: 'XASX' });
    expect(exchange).toEqual({ days: SYDNEY_DAYS, findings: [] });
    const stated = await read({ format, mapping: { time_zone: 'Australia/Sydney' } });
    expect(stated).toEqual({ days: SYDNEY_DAYS, findings: [] });
  },
);

test('instants that are not midnight in UTC need a time zone, with or without a mapping', async () => {
  for (const mapping of [{}, null]) {
    const { days, findings } = await read({ mapping });
    expect(days).toBeUndefined();
    expect(findings).toMatchObject([{ severity: 'error', code: 'REQUIRED', path: 'mapping.time_zone' }]);
    expect(findings[0]!.message).toContain('midnight in Australia/');
    expect(findings[0]!.message).toContain('1 of the days are on a weekend');
  }
});

test('the time zone of the mapping precedes that of the exchange', async () => {
  // 23:30 in London is 07:30 of the next day in Tokyo.
  const instants = ['2024-01-09T23:30:00Z', '2024-01-10T23:30:00Z'];
  expect((await read({ instants, exchange: 'XTKS' })).days).toEqual(['2024-01-10', '2024-01-11']);
  expect((await read({ instants, exchange: 'XTKS', mapping: { time_zone: 'Europe/London' } })).days).toEqual([
    '2024-01-09',
    '2024-01-10',
  ]);
});

test('the code of a calendar or an offset states the time zone', async () => {
  for (const time_zone of ['XASX', '+10:00'])
    expect((await read({ mapping: { time_zone } })).days).toEqual(SYDNEY_DAYS);
  expect((await read({ mapping: { time_zone: 'Mars/Olympus' } })).findings).toMatchObject([
    { code: 'NOT_IN_CHOICES', path: 'mapping.time_zone', value: 'Mars/Olympus' },
  ]);
});

test('midnight in UTC is a day on every exchange', async () => {
  const instants = ['2024-01-05T00:00:00Z', '2024-01-08T00:00:00Z'];
  for (const exchange of ['XNYS', 'XTKS', undefined])
    expect((await read({ instants, ...(exchange === undefined ? {} : { exchange }) })).days).toEqual([
      '2024-01-05',
      '2024-01-08',
    ]);
});

test('a text with another offset has the day that it shows', async () => {
  const instants = ['2024-01-05T00:00:00+09:00', '2024-01-08T00:00:00+09:00'];
  expect((await read({ instants })).days).toEqual(['2024-01-05', '2024-01-08']);
});

test('a time zone that moves bars from sessions to other days is refused', async () => {
  // Friday and Monday at 01:00 UTC are Thursday and Sunday evening in New York.
  const instants = ['2024-01-05T01:00:00Z', '2024-01-08T01:00:00Z'];
  for (const terms of [{ exchange: 'XNYS' }, { mapping: { time_zone: 'America/New_York' } }]) {
    const { days, findings } = await read({ instants, ...terms });
    expect(days).toBeUndefined();
    expect(findings).toMatchObject([{ code: 'NOT_A_SESSION', path: 'mapping.time_zone', value: 'America/New_York' }]);
    expect(findings[0]!.message).toContain('2024-01-07');
  }
  expect((await read({ instants, exchange: 'XNYS', mapping: { time_zone: 'UTC' } })).days).toEqual([
    '2024-01-05',
    '2024-01-08',
  ]);
});

test('a stated time zone that puts bars on a Sunday is reported with the zones in which the instants are midnight', async () => {
  // Friday and Monday in Tokyo; Monday at midnight is Sunday at 10:00 in New York, and Sunday in UTC.
  const instants = ['2024-01-04T15:00:00Z', '2024-01-07T15:00:00Z'];
  const { days, findings } = await read({ instants, mapping: { time_zone: 'America/New_York' } });
  expect(days).toEqual(['2024-01-04', '2024-01-07']);
  expect(findings).toMatchObject([
    { severity: 'warning', code: 'NOT_A_SESSION', path: 'mapping.time_zone', value: 'America/New_York' },
  ]);
  expect(findings[0]!.message).toMatch(/A on 2024-01-07.*midnight in.* Asia\/Tokyo/);
  expect((await read({ instants, mapping: { time_zone: 'Asia/Tokyo' } })).findings).toEqual([]);
});

test('Sunday is a session in Tel Aviv', async () => {
  // Without a calendar, the time zone of XTAE shows that bars on a Sunday are right.
  const sundays = {
    instants: ['2024-01-06T22:00:00Z', '2024-01-07T22:00:00Z'],
    mapping: { time_zone: 'Asia/Jerusalem' },
  };
  expect(await read(sundays)).toEqual({ days: ['2024-01-07', '2024-01-08'], findings: [] });

  // Sunday 7 January 2024 was a session of XTAE: midnight is 22:00 UTC of Saturday.
  expect((await read({ instants: ['2024-01-06T22:00:00Z', '2024-01-07T22:00:00Z'], exchange: 'XTAE' })).days).toEqual([
    '2024-01-07',
    '2024-01-08',
  ]);
});

test('each security has the time zone of its exchange, in long and wide tables', async () => {
  const zones = {
    market: 'identifier,date,CLOSE\nN,2024-01-09T15:00:00Z,1\nT,2024-01-09T15:00:00Z,2\n',
    wide: 'date,N,T\n2024-01-09T15:00:00Z,1,2\n',
  };
  for (const [layout, text] of [
    ['long', zones.market],
    ['wide', zones.wide],
  ] as const) {
    const problems = createProblems();
    const bytes = writeZip([
      { name: 'market.csv', text },
      { name: 'reference.csv', text: 'identifier,EXCHANGE\nN,XNYS\nT,XTKS\n' },
    ]);
    const mapping = Mapping.parse(layout === 'wide' ? { layout, field: 'CLOSE' } : {});
    const result = await readImport({ kind: 'csv.zip', bytes }, problems, { mapping, adjustment: 'none', calendars });
    expect(problems.findings()).toEqual([]);
    const { identifiers, dates, fields } = result!.content;
    expect([identifiers, [...dates].map(formatDay)]).toEqual([
      ['N', 'T'],
      ['2024-01-09', '2024-01-10'],
    ]);
    expect([...fields.get('CLOSE')!]).toEqual([1, Number.NaN, Number.NaN, 2]);
  }
});

test('the question for the time zone shows an instant of the security without an exchange', async () => {
  const problems = createProblems();
  const market = [
    ['A', '2021-03-07T15:00:00Z', 1],
    ['A', '2021-03-08T15:00:00Z', 1],
    ['B', '2021-03-08T05:00:00Z', 2],
    ['B', '2021-03-09T05:00:00Z', 2],
  ];
  const tables = {
    market: { columns: ['identifier', 'date', 'CLOSE'], data: market },
    reference: { columns: ['identifier', 'EXCHANGE'], data: [['A', 'XTKS']] },
  };
  await readImport({ kind: 'tables', tables }, problems, { mapping: null, adjustment: 'none', calendars });
  const [finding] = problems.findings();
  expect(finding).toMatchObject({ code: 'REQUIRED', path: 'mapping.time_zone', value: '2021-03-08T05:00:00.000Z' });
  expect(finding!.message).toContain('states for B.');
  expect(finding!.accepted).toContain('America/New_York');
  expect(finding!.accepted).not.toContain('Asia/Tokyo');
});

/** Midnight in Tokyo of Tuesday and Wednesday, as a TIMESTAMPTZ. */
const TOKYO = `SELECT 'A' AS identifier, TIMESTAMPTZ '2024-01-08 15:00:00+00' + INTERVAL (i) DAY AS date, i + 10.5 AS "CLOSE" FROM range(2) r(i)`;
const TOKYO_DAYS = ['2024-01-09', '2024-01-10'];

test('a TIMESTAMPTZ of DuckDB, in a database or in Parquet, needs the time zone of its days', async () => {
  const folder = await createFolder();
  const instance = await DuckDBInstance.create(join(folder, 'prices.duckdb'));
  const connection = await instance.connect();
  await connection.run(`CREATE TABLE market AS ${TOKYO}; COPY market TO '${join(folder, 'market.parquet')}'`);
  connection.closeSync();
  instance.closeSync();
  const readAll = async (terms: { readonly mapping: Mapping | null }) => {
    const problems = createProblems();
    const options = { ...terms, adjustment: 'none' as const, calendars };
    const place = { kind: 'duckdb' as const, path: join(folder, 'prices.duckdb') };
    const database = await readDatabase(place, {}, problems, () => {}, { terms: options });
    const parquet = await readFolder(folder, {}, undefined, options);
    return [
      { content: database?.content, findings: problems.findings() },
      { content: parquet.read?.content, findings: parquet.findings },
    ];
  };
  for (const { content, findings } of await readAll({ mapping: null })) {
    expect(content).toBeUndefined();
    expect(findings).toMatchObject([{ code: 'REQUIRED', path: 'mapping.time_zone' }]);
  }
  for (const { content, findings } of await readAll({ mapping: Mapping.parse({ time_zone: 'XTKS' }) })) {
    expect(findings).toEqual([]);
    expect([...content!.dates].map(formatDay)).toEqual(TOKYO_DAYS);
  }
});

const toContent = (rows: readonly string[]) =>
  Buffer.from(['identifier,date,close', ...rows].join('\n')).toString('base64');

const inspectSydney = (codes: readonly string[], answers = {}) =>
  inspect(
    { kind: 'csv', content: toContent(SYDNEY_MIDNIGHTS.map((text, i) => `A,${Date.parse(text) / 1000},${10 + i}`)) },
    { zones: { calendars, codes }, answers },
  );

test('an inspection asks for the time zone, unless the calendar of the indices shows it', async () => {
  const { unsure, confidence } = await inspectSydney([]);
  expect(confidence).toBe('unsure');
  expect(unsure.find(({ field }) => field === 'time_zone')).toMatchObject({ taken: null, required: true });
  const other = await inspectSydney(['XNYS']);
  expect(other.unsure.find(({ field }) => field === 'time_zone')).toMatchObject({ taken: null, required: true });
  const calendar = await inspectSydney(['XASX']);
  expect(calendar.mapping.time_zone).toBe('Australia/Sydney');
  expect(calendar.unsure.find(({ field }) => field === 'time_zone')).toMatchObject({ required: false });
  const answered = await inspectSydney([], { time_zone: 'Australia/Sydney' });
  expect(answered.preview.data.map(([, day]) => day)).toEqual(SYDNEY_DAYS);
});

test('an instant in another table is refused', async () => {
  const problems = createProblems();
  const bytes = writeZip([
    { name: 'market.csv', text: 'identifier,date,CLOSE\nA,2024-01-09,1\n' },
    { name: 'corporate_actions.csv', text: 'identifier,type,value,ex_date\nA,DIVIDEND,0.1,2024-01-08T15:00:00Z\n' },
  ]);
  expect(await readImport({ kind: 'csv.zip', bytes }, problems)).toBeUndefined();
  expect(problems.findings()).toMatchObject([{ code: 'BAD_DATE', path: 'corporate_actions[row 1].ex_date' }]);
});
