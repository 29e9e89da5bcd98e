import { DuckDBInstance } from '@duckdb/node-api';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { callOnce } from '#base/once.js';
import { findMemoryLimit, findPagedFile, limitMemory } from '#kernels/memory/paged-memory.js';
import { BLOCK_DAYS, createBlockDigests } from '#market/panels/panels.js';
import { createProblems } from '#market/tables/problems.js';
import { formatScan, planMarketColumns, readColumns } from '#market/read/parquet.js';
import { startScattering } from '#market/panels/scattering.js';
import { formatSettings, openDuckDb } from '#market/formats/duckdb.js';
import { readTypedMarket, type TypedMarketResult } from '#market/read/parquet-market.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';

const createFolder = openTemporaryFolders();

/** Number of securities. Stripes have 32 days and batches 64 days. */
const NAMES = 400;
const DAYS = 100;

/** Threads call DuckDB through the optional package koffi on Linux. */
const scatterers = startScattering('');
const isReady = await scatterers.areReady();
await scatterers.end();

const BARS = `SELECT DATE '2020-01-01' + t::INTEGER AS date, 'ID' || n AS identifier, t, n,
  CASE WHEN hash(t, n, 1) % 50 = 0 THEN NULL ELSE 1 + hash(t, n, 1) % 1000 END AS CLOSE,
  CASE WHEN hash(t, n, 2) % 50 = 0 THEN NULL ELSE hash(t, n, 2) % 1000 - 0.0 END AS VOLUME,
  CLOSE + 1 AS HIGH, CLOSE - 0.5 AS OPEN
  FROM range(${DAYS}) a(t), range(${NAMES}) b(n) WHERE hash(n, t) % 10 > 0`;

/** Writes files of rows. The day modulo the number of files selects the file, unless the test sets another way. */
async function write(
  rows: string,
  count = 1,
  formatFile = (t: string) => `${t} % ${count}`,
): Promise<{ readonly path: string; readonly label: string }[]> {
  const folder = await createFolder();
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const files = Array.from({ length: count }, (_, i) => ({
    path: join(folder, `part-${i}.parquet`),
    label: `market/part-${i}.parquet`,
  }));
  for (const [i, { path }] of files.entries())
    await connection.run(
      `COPY (SELECT date, identifier, CLOSE, VOLUME, HIGH, OPEN FROM (${rows}) WHERE ${formatFile('t')} = ${i}) TO '${path}' (FORMAT parquet, CODEC 'zstd', ROW_GROUP_SIZE 2048)`,
    );
  connection.closeSync();
  return files;
}

interface Outcome {
  readonly read: TypedMarketResult | undefined;
  readonly codes: readonly string[];
  readonly days: readonly number[];
  /** Digests that the threads computed for blocks of days. */
  readonly digests: ReadonlyMap<number, string>;
}

async function read(files: Awaited<ReturnType<typeof write>>, isApart: boolean): Promise<Outcome> {
  const paths = files.map(({ path }) => path);
  const scattering = isApart ? startScattering(formatSettings({ files: paths })) : undefined;
  const duck = await openDuckDb({ files: paths });
  try {
    if (scattering !== undefined) expect(await scattering.areReady()).toBe(true);
    const problems = createProblems();
    const scan = formatScan(files, { withRows: false });
    const columns = planMarketColumns(await readColumns(duck.connection, scan), problems);
    if (columns.kind !== 'typed') throw new Error('the columns are typed');
    const days: number[] = [];
    const digests = new Map<number, string>();
    const result = await readTypedMarket(
      duck,
      { files, scan, numberedScan: formatScan(files, { withRows: true }), columns, scattering },
      problems,
      () => {},
      {
        begin() {},
        complete(from, to) {
          expect(from % BLOCK_DAYS).toBe(0);
          for (let t = from; t < to; t++) days.push(t);
        },
        digested: (block, digest) => void digests.set(block, Buffer.from(digest).toString('hex')),
      },
    );
    return { read: result, codes: problems.findings().map(({ code }) => code), days, digests };
  } finally {
    duck.close();
    await scattering?.end();
  }
}

/** Expected day, identifier, close and volume of every row. */
const readExpectedBars = callOnce(async () => {
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const writtenRows = await connection.runAndReadAll(
    `SELECT t, 'ID' || n, CLOSE::DOUBLE, VOLUME::DOUBLE FROM (${BARS})`,
  );
  connection.closeSync();
  return writtenRows.getRows();
});

test.runIf(isReady).each([
  ['t, n', 1],
  ['t, hash(n)', 1],
  ['n, t', 1],
  ['hash(n, t, 1)', 1],
  ['t DESC, n', 1],
  ['t, n', 7],
] as const)(
  'rows in whatever order (%s, %i files) are in their cells, each day is reported once, and threads change no bit',
  async (order, count) => {
    const files = await write(`${BARS} ORDER BY ${order}`, count);
    const [separateRead, jointRead] = [await read(files, true), await read(files, false)];
    const { panels, rows } = separateRead.read!;
    expect(separateRead.days.toSorted((a, b) => a - b)).toEqual(Array.from({ length: DAYS }, (_, t) => t));
    expect(rows).toBe(jointRead.read!.rows);
    expect(panels.identifiers).toEqual(jointRead.read!.panels.identifiers);
    for (const [name, panel] of jointRead.read!.panels.fields)
      expect(Buffer.compare(viewBytes(panels.fields.get(name)!), viewBytes(panel)), name).toBe(0);

    const expected = await readExpectedBars();
    const close = panels.fields.get('CLOSE')!;
    const volume = panels.fields.get('VOLUME')!;
    const columnIndices = new Map(panels.identifiers.map((name, column) => [name, column]));
    for (const [t, name, price, size] of expected) {
      const cell = Number(t) * NAMES + columnIndices.get(String(name))!;
      if (!Object.is(close[cell], price ?? Number.NaN) || !Object.is(volume[cell], size ?? Number.NaN))
        expect.fail(
          `${String(name)} on day ${String(t)}: ${close[cell]}, ${volume[cell]} for ${String(price)}, ${String(size)}`,
        );
    }
    expect(close.reduce((held, price) => held + Number(price === price), 0)).toBe(
      expected.filter(([, , price]) => price !== null).length,
    );
  },
);

/** Size of panels with more than 33 MiB each. Most of their cells are empty. */
const LONG_PANEL = { days: 1500, names: 3200 };
const FEW_BARS = `SELECT DATE '2010-01-01' + t::INTEGER AS date, 'ID' || n AS identifier, t, n,
  1 + hash(t, n) % 1000 AS CLOSE, hash(t, n) % 999 AS VOLUME, 2.5 AS HIGH, 1.5 AS OPEN
  FROM range(${LONG_PANEL.days}) a(t), range(${LONG_PANEL.names}) b(n) WHERE t = 70 OR (n + t) % 400 = 0`;

test.runIf(isReady).each([
  ['t, n', 1],
  ['n, t', 1],
  ['t, n', 3],
] as const)(
  'panels on a disk have equal bits (%s, %i files), and blocks of days have the digests of their content',
  async (order, count) => {
    const files = await write(`${FEW_BARS} ORDER BY ${order}`, count, (t) => `(${t} // 530)`);
    const jointRead = await read(files, false);
    const limit = findMemoryLimit();
    limitMemory({ panelBytes: 140 * 2 ** 20, folder: await createFolder(), keepsNames: true });
    const separateRead = await read(files, true).finally(() => limitMemory(limit));
    const { panels } = separateRead.read!;
    for (const [name, panel] of jointRead.read!.panels.fields)
      expect(Buffer.compare(viewBytes(panels.fields.get(name)!), viewBytes(panel)), name).toBe(0);
    const computeDigest = createBlockDigests(jointRead.read!.panels);
    for (const [block, digest] of separateRead.digests)
      expect(digest).toBe(Buffer.from(computeDigest(block)).toString('hex'));
    const areAlone = [...panels.fields.values()].every(({ buffer }) => findPagedFile(buffer) !== undefined);
    if (order === 't, n' && areAlone)
      expect(separateRead.digests.size).toBeGreaterThan(LONG_PANEL.days / BLOCK_DAYS / 2);
  },
);

test.runIf(isReady).each([
  [
    'a row that stands twice, far apart',
    `${BARS} UNION ALL SELECT * FROM (${BARS}) WHERE t = 3 AND n = 4`,
    'DUPLICATE_KEY',
  ],
  ['a price of zero', BARS.replace('1 + hash(t, n, 1) % 1000 END', 'hash(t, n, 1) % 7 END'), 'NON_POSITIVE_PRICE'],
  ['a volume below zero', BARS.replace('- 0.0 END', '- 5.0 END'), 'OUT_OF_RANGE'],
])('%s is refused with the findings that it has without threads', async (_, rows, code) => {
  const files = await write(rows);
  const [separateRead, jointRead] = [await read(files, true), await read(files, false)];
  expect(separateRead.read).toBeUndefined();
  expect(separateRead.codes).toContain(code);
  expect(separateRead.codes).toEqual(jointRead.codes);
});

test.runIf(isReady)('a file whose rows cannot be decoded fails with the same error as without threads', async () => {
  const files = await write(BARS);
  const { path } = files[0]!;
  const bytes = await readFile(path);
  bytes.fill(0xff, bytes.length / 2, bytes.length / 2 + 4096);
  await writeFile(path, bytes);
  const readOutcome = async (isApart: boolean): Promise<string> =>
    read(files, isApart).then(
      () => 'read',
      (fault: Error) => fault.message,
    );
  const separateOutcome = await readOutcome(true);
  expect(separateOutcome).toMatch(/error/i);
  expect(separateOutcome).toBe(await readOutcome(false));
});

function viewBytes({ buffer, byteOffset, byteLength }: Float64Array): Buffer {
  return Buffer.from(buffer as ArrayBuffer, byteOffset, byteLength);
}
