import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';
import { Field, Float64, RecordBatchStreamWriter, Schema, TimestampMillisecond, Utf8 } from 'apache-arrow';
import { expect, test } from 'vitest';
import { formatDay } from '#domain/base/time.js';
import { createZoneReader } from '#market/formats/cells.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';
import { readFolderContent, readFolder } from '../store-folder.js';

const createFolder = openTemporaryFolders();

/** First UTC time of three days from 2 January 2024 on, by time zone: the close in New York, and else midnight. */
const PLACES = [
  ['Europe/Berlin', '2024-01-01 23:00:00', 'pandas'],
  ['Asia/Tokyo', '2024-01-01 15:00:00', 'arrow'],
  ['+05:30', '2024-01-01 18:30:00', 'pandas'],
  ['America/New_York', '2024-01-02 21:00:00', 'arrow'],
  ['UTC', '2024-01-02 00:00:00', 'pandas'],
] as const;

const formatPandasNote = (timezone: string, dates = 'date'): string =>
  JSON.stringify({
    index_columns: ['date'],
    columns: [
      { name: 'CLOSE', field_name: 'CLOSE', pandas_type: 'float64', metadata: null },
      { name: dates, field_name: dates, pandas_type: 'datetimetz', metadata: { timezone } },
    ],
  });

/** Returns the schema that Arrow stores in the metadata of a table. It is the first message of a stream. */
async function formatArrowNote(timezone: string): Promise<string> {
  const schema = new Schema([
    new Field('identifier', new Utf8()),
    new Field('date', new TimestampMillisecond(timezone)),
    new Field('CLOSE', new Float64()),
  ]);
  const writer = new RecordBatchStreamWriter();
  writer.reset(undefined, schema);
  return Buffer.from(await writer.finish().toUint8Array()).toString('base64');
}

async function writeFile(
  path: string,
  [zone, first, by]: readonly [string, string, 'pandas' | 'arrow'],
): Promise<void> {
  const note =
    by === 'pandas' ? `pandas: '${formatPandasNote(zone)}'` : `"ARROW:schema": '${await formatArrowNote(zone)}'`;
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  await connection.run(
    `COPY (SELECT '${zone.replace('/', '-')}' AS identifier, TIMESTAMPTZ '${first}+00' + to_days(i::INT) AS date, 10.0 + i AS CLOSE FROM range(3) t(i)) TO '${path}' (FORMAT parquet, KV_METADATA {${note}})`,
  );
  connection.closeSync();
}

const DAYS = ['2024-01-02', '2024-01-03', '2024-01-04'];

test.each(PLACES)('a table whose times are of %s has its days', async (...place) => {
  const folder = await createFolder();
  await writeFile(join(folder, 'market.parquet'), place);
  const { dates, fields } = await readFolderContent(folder);
  expect([...dates].map(formatDay)).toEqual(DAYS);
  expect([...fields.get('CLOSE')!]).toEqual([10, 11, 12]);
});

test('files of several zones have the days of each', async () => {
  const folder = await createFolder();
  await mkdir(join(folder, 'market'));
  for (const [i, place] of PLACES.entries()) await writeFile(join(folder, 'market', `${i}.parquet`), place);
  const { dates, identifiers, fields } = await readFolderContent(folder);
  expect([...dates].map(formatDay)).toEqual(DAYS);
  expect(identifiers).toHaveLength(PLACES.length);
  expect([...fields.get('CLOSE')!].filter(Number.isNaN)).toEqual([]);
});

test('the dates of another table are of its zone, too', async () => {
  const folder = await createFolder();
  await writeFile(join(folder, 'market.parquet'), ['UTC', '2024-01-02 00:00:00', 'pandas']);
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  await connection.run(
    `COPY (SELECT 'UTC' AS identifier, TIMESTAMPTZ '2024-01-02 23:00:00+00' AS ex_date, 'DIVIDEND' AS type, 0.5 AS value) TO '${join(folder, 'corporate_actions.parquet')}' (FORMAT parquet, KV_METADATA {pandas: '${formatPandasNote('Europe/Berlin', 'ex_date')}'})`,
  );
  connection.closeSync();
  const { actions } = await readFolderContent(folder);
  expect(actions.map(({ exDay }) => formatDay(exDay))).toEqual(['2024-01-03']);
});

test('an unknown zone is reported with its column', async () => {
  const folder = await createFolder();
  await writeFile(join(folder, 'market.parquet'), ['Mars/Olympus', '2024-01-02 00:00:00', 'pandas']);
  const { findings } = await readFolder(folder);
  expect(findings).toMatchObject([
    { code: 'UNREADABLE_FILE', message: expect.stringContaining('Mars/Olympus of the column date') },
  ]);
});

test('a moment has the day of the zone on either side of midnight and of a change of the clocks', () => {
  const formatLocalDay = (zone: string, moment: string) => formatDay(createZoneReader(zone)(Date.parse(moment)));
  expect(formatLocalDay('Europe/Berlin', '2024-03-30T22:59:59Z')).toBe('2024-03-30');
  expect(formatLocalDay('Europe/Berlin', '2024-03-30T23:00:00Z')).toBe('2024-03-31');
  expect(formatLocalDay('Europe/Berlin', '2024-03-31T22:00:00Z')).toBe('2024-04-01');
  expect(formatLocalDay('-03:30', '2024-01-02T03:29:59Z')).toBe('2024-01-01');
  expect(formatLocalDay('-03:30', '2024-01-02T03:30:00Z')).toBe('2024-01-02');
});
