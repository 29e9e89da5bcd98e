import { DuckDBInstance } from '@duckdb/node-api';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { digestContent } from '#market/content/content-hash.js';
import { BLOCK_DAYS, type Panels } from '#market/panels/panels.js';
import { openDuckDb, readIntegers, streamChunks } from '#market/formats/duckdb.js';
import { createLocations, listFolderFiles } from '#market/read/folder.js';
import { createGrowingDigests } from '#market/panels/hashing.js';
import { createProblems } from '#market/tables/problems.js';
import { readSource } from '#market/read/read-source.js';
import { writeRows } from '#market/panels/scattering.js';
import { openTemporaryFolders } from '../../store/temporary-folder.js';

const createFolder = openTemporaryFolders();

const NAMES = 400;
const DAYS = 500;

/** Writes bars with six fields in the given order. A tenth of the rows is missing. */
async function writeBars(order: string): Promise<string> {
  const folder = await createFolder();
  const fields = ['OPEN', 'HIGH', 'LOW', 'CLOSE', 'VWAP', 'VOLUME'].map(
    (name, f) => `CASE WHEN hash(t, n, ${f}) % 50 = 0 THEN NULL ELSE 1 + hash(t, n, ${f}) % 1000 END AS ${name}`,
  );
  const barsSql = `SELECT DATE '2020-01-01' + t::INTEGER AS date, 'ID' || n AS identifier, ${fields.join(', ')} FROM range(${DAYS}) a(t), range(${NAMES}) b(n) WHERE hash(n, t) % 10 > 0 ORDER BY ${order}`;
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  await connection.run(
    `COPY (${barsSql}) TO '${join(folder, 'market.parquet')}' (FORMAT parquet, ROW_GROUP_SIZE 20480)`,
  );
  connection.closeSync();
  return folder;
}

/** Returns a SHA-256 over some days of all panels. */
function formatBits({ identifiers, fields }: Panels, from: number, to: number): string {
  const hash = createHash('sha256');
  for (const panel of fields.values()) hash.update(panel.subarray(from * identifiers.length, to * identifiers.length));
  return hash.digest('hex');
}

test.each(['t, n', 'n, t', 'hash(n, t, 1)', 't DESC, n'])(
  'whatever the order of rows (%s), each day is reported once and changes no more, and the digests are those of the whole',
  async (order) => {
    const folder = await writeBars(order);
    const files = await listFolderFiles(
      folder,
      { tables: {}, mapping: null },
      createLocations([folder]),
      createProblems(),
    );
    const growingDigests = createGrowingDigests();
    let startedPanels: Panels | undefined;
    const reportedRanges: { readonly from: number; readonly to: number; readonly bits: string }[] = [];
    const read = await readSource(files, createProblems(), () => {}, {
      follower: {
        begin(panels) {
          growingDigests.begin(panels);
          startedPanels = panels;
        },
        complete(from, to) {
          growingDigests.complete(from, to);
          reportedRanges.push({ from, to, bits: formatBits(startedPanels!, from, to) });
        },
      },
    });
    const { content } = read!;
    expect(content.fields).toBe(startedPanels!.fields);
    const days = reportedRanges.flatMap(({ from, to }) => Array.from({ length: to - from }, (_, i) => from + i));
    expect(days.toSorted((a, b) => a - b)).toEqual(Array.from({ length: DAYS }, (_, t) => t));
    expect(reportedRanges.length).toBeGreaterThan(2);
    for (const { from, to, bits } of reportedRanges) {
      expect(from % BLOCK_DAYS).toBe(0);
      expect(bits).toBe(formatBits(content, from, to));
    }
    const result = await growingDigests.awaitBlocks();
    expect(result!.digests.size).toBe(Math.ceil(DAYS / BLOCK_DAYS));
    expect(await digestContent(content, { computedBlocks: result })).toEqual(await digestContent(content));
  },
);

test.each([
  [2, 1],
  [2, 2],
  [1, 1],
  [0, 0],
])('a wrong number of rows (%i and %i instead of two and one) is reported', async (first, second) => {
  const duck = await openDuckDb({});
  try {
    const rows =
      "SELECT DATE '2020-01-01' + t::INTEGER, n::INTEGER, 1.5::DOUBLE FROM (VALUES (0, 0), (0, 1), (1, 0)) v(t, n)";
    const dates = Int32Array.from([18_262, 18_263]);
    const result = await writeRows(
      [{ chunks: streamChunks(duck.connection, rows), namesOf: (chunk) => readIntegers(chunk, 1) }],
      { identifiers: ['A', 'B'], dates, fields: ['CLOSE'], rowsOfDay: Int32Array.from([first, second]) },
      () => {},
    );
    expect(result.rows).toBe(3);
    expect(result.isSound).toBe(first === 2 && second === 1);
  } finally {
    duck.close();
  }
});
