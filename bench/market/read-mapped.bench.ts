import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DuckDBInstance, type DuckDBConnection } from '@duckdb/node-api';
import { Mapping } from '#domain/documents/mapping.js';
import { createProblems } from '#market/content/problems.js';
import { folderFiles } from '#market/sources/folder.js';
import { createLocations } from '#market/sources/locations.js';
import { readSource } from '#market/sources/read-source.js';
import { median } from '#domain/order-statistics.js';

/**
 * A vendor's files read by their mapping into panels, with every check, a digest of each file and, in CSV, dividends derived; beside it
 * DuckDB alone filling the same panels from the same files. Rows are those of the S&P 500 over five years, 482 names x 1228 days of six
 * numbers; times are of the processor, all threads together.
 */
const NAMES = 482;
const DAYS = 1228;
const ROUNDS = 3;

/** Most of the time of DuckDB alone. */
const RATIO_MAX = 1.3;

const FIELDS = ['Open', 'High', 'Low', 'Close', 'Adj Close', 'Volume'];
const columns = { OPEN: 'Open', HIGH: 'High', LOW: 'Low', CLOSE: 'Close', VOLUME: 'Volume' };

const folder = await mkdtemp(join(tmpdir(), 'divisor-bench-'));
const connection = await (await DuckDBInstance.create(':memory:')).connect();
try {
  await write(connection);
  await measure(
    'CSV, a file a name',
    'csv',
    {
      columns: { ...columns, date: 'Date' },
      identifier_from: 'file:{identifier}_data.csv',
      adjusted_close: 'Adj Close',
    },
    `SELECT *, split_part(parse_filename(filename), '_', 1) AS name FROM read_csv('${folder}/csv/*.csv', filename = true)`,
  );
  await measure(
    'Parquet, one file',
    'parquet',
    { columns: { ...columns, date: 'Date', identifier: 'Ticker' } },
    `SELECT *, Ticker AS name FROM read_parquet('${folder}/parquet/bars.parquet')`,
  );
} finally {
  connection.closeSync();
  await rm(folder, { recursive: true, force: true });
}

async function write(writer: DuckDBConnection): Promise<void> {
  await mkdir(join(folder, 'csv'));
  await mkdir(join(folder, 'parquet'));
  const price = (offset: number) =>
    `round(20 + n / 10.0 + ${offset} + sin(t / 50.0 + n) + (hash(t * 1009 + n) % 100) / 100.0, 2)`;
  await writer.run(`CREATE TABLE bars AS SELECT DATE '2013-02-08' + t::INT AS Date, 'N' || n AS Ticker, ${price(0)} AS Open, ${price(1)} AS High,
    ${price(-1)} AS Low, ${price(0.5)} AS Close, round(${price(0.5)} * 0.99 ** (t // 250), 6) AS "Adj Close", (hash(t + n) % 1000000)::BIGINT AS Volume
    FROM range(${DAYS}) a(t), range(${NAMES}) b(n) ORDER BY n, t`);
  for (let n = 0; n < NAMES; n++)
    await writer.run(
      `COPY (SELECT * EXCLUDE Ticker FROM bars WHERE Ticker = 'N${n}') TO '${folder}/csv/N${n}_data.csv' (FORMAT csv)`,
    );
  await writer.run(`COPY bars TO '${folder}/parquet/bars.parquet' (FORMAT parquet, CODEC 'zstd')`);
}

async function measure(what: string, below: string, mapping: Partial<Mapping>, scan: string): Promise<void> {
  const terms = { mapping: Mapping.parse(mapping), adjustment: 'splits' } as const;
  const place = join(folder, below);
  const ours: number[] = [];
  const alone: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const problems = createProblems();
    const read = await timed(async () => {
      const files = await folderFiles(
        place,
        { tables: {}, mapping: terms.mapping },
        createLocations([place]),
        problems,
      );
      return readSource(files, problems, () => {}, { terms });
    });
    if (read.result?.rows.market !== NAMES * DAYS) throw new Error(JSON.stringify(problems.findings()));
    const filled = await timed(() => fill(scan));
    if (round === 0) continue; // what both need is loaded
    ours.push(read.ms);
    alone.push(filled.ms);
  }
  const [a, b] = [median(ours), median(alone)];
  const ratio = a / b;
  console.log(
    `${what}: ${a.toFixed(0)} ms of the processor, ${((NAMES * DAYS) / a / 1000).toFixed(1)} M rows/s; DuckDB alone ${b.toFixed(0)} ms, ${ratio.toFixed(2)}x${ratio <= RATIO_MAX ? '' : `  (more than ${RATIO_MAX})`}`,
  );
}

/** DuckDB alone: panels filled by the columns of its interface. */
async function fill(scan: string): Promise<Float64Array[]> {
  const db = await (await DuckDBInstance.create(':memory:')).connect();
  try {
    await db.run(`CREATE TEMP TABLE source AS ${scan}`);
    await db.run(
      'CREATE TEMP TABLE axis AS SELECT name, (row_number() OVER (ORDER BY name) - 1)::INTEGER AS n FROM (SELECT DISTINCT name FROM source)',
    );
    const first = await db.runAndReadAll("SELECT min(Date - DATE '1970-01-01')::INTEGER FROM source");
    const start = Number(first.getRows()[0]![0]);
    const panels = FIELDS.map(() => new Float64Array(DAYS * NAMES).fill(Number.NaN));
    const rows = await db.stream(
      `SELECT (Date - DATE '1970-01-01')::INTEGER, axis.n, ${FIELDS.map((name) => `coalesce("${name}"::DOUBLE, 'NaN'::DOUBLE)`).join(', ')} FROM source JOIN axis USING (name)`,
    );
    for (;;) {
      const chunk = await rows.fetchChunk();
      if (chunk === null || chunk.rowCount === 0) return panels;
      const items = (column: number) =>
        (chunk.getColumnVector(column) as unknown as { readonly items: Int32Array | Float64Array }).items; // public at run time, private in its types
      const [days, names] = [items(0), items(1)];
      panels.forEach((panel, f) => {
        const values = items(2 + f);
        for (let i = 0; i < chunk.rowCount; i++) panel[(days[i]! - start) * NAMES + names[i]!] = values[i]!;
      });
    }
  } finally {
    db.closeSync();
  }
}

async function timed<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly ms: number }> {
  const before = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(before);
  return { result, ms: (user + system) / 1000 };
}
