import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { folderFiles } from '#market/folder.js';
import { createLocations } from '#market/locations.js';
import { runMarketTask } from '#market/market-process.js';
import { createProblems } from '#market/problems.js';

/**
 * From files to panels that can be served, with every check and the content hash, and beside it DuckDB alone filling the
 * same panels without any. Rows are those of real stores: 500 names x 5040 days and 3000 names x 2520 days, six columns.
 */
const REPEATS = 3;
const SIZES = [
  { name: '2.5 million rows', names: 500, days: 5040 },
  { name: '7.5 million rows', names: 3000, days: 2520 },
];

const folder = await mkdtemp(join(tmpdir(), 'divisor-bench-'));
try {
  for (const size of SIZES) {
    const files = await write(size);
    for (const file of files) await measure(size.name, file);
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}

/** Writes the files in a process of its own, so that the peak memory told here is that of reading alone. */
async function write({ names, days, name }: (typeof SIZES)[number]): Promise<string[]> {
  const targets = [['zstd', 'market.parquet', "FORMAT parquet, CODEC 'zstd'"], ['snappy', 'market.parquet', "FORMAT parquet, CODEC 'snappy'"], ['csv', 'market.csv', 'FORMAT csv']] as const;
  const written: string[] = [];
  const copies: string[] = [];
  for (const [kind, file, options] of targets) {
    const place = join(folder, `${name} ${kind}`);
    await mkdir(place);
    copies.push(`COPY bars TO '${join(place, file)}' (${options})`);
    written.push(join(place, file));
  }
  const walk = (offset: number) => `round(50 + ${offset} + 10 * sin(t / 100.0 + n) + (hash(t * 100003 + n + ${offset}) % 1000) / 1000.0, 4)`;
  const bars = `
    CREATE TABLE bars AS SELECT DATE '2000-01-03' + t::INT AS date, 'ID' || lpad(n::VARCHAR, 5, '0') AS identifier, ${walk(0)} AS OPEN, ${walk(1)} AS HIGH, ${walk(-1)} AS LOW,
      CASE WHEN hash(t * 7 + n) % 333 = 0 THEN NULL ELSE ${walk(0.5)} END AS CLOSE, ${walk(0.25)} AS VWAP, (hash(t + n) % 1000000)::BIGINT AS VOLUME
    FROM range(${days}) a(t), range(${names}) b(n) ORDER BY t, n`;
  const script = `
    const { DuckDBInstance } = require('@duckdb/node-api');
    (async () => {
      const connection = await (await DuckDBInstance.create(':memory:')).connect();
      for (const statement of ${JSON.stringify([bars, ...copies])}) await connection.run(statement);
    })();`;
  execFileSync(process.execPath, ['-e', script]);
  return written;
}

async function measure(size: string, file: string): Promise<void> {
  const times: number[] = [];
  let stall = 0;
  let rows = 0;
  for (let repeat = 0; repeat < REPEATS; repeat++) {
    const watch = watchLoop();
    const start = performance.now();
    const problems = createProblems();
    const place = join(file, '..');
    const files = await folderFiles(place, {}, createLocations([folder]), problems);
    const result = await runMarketTask('readFiles', { files, after: null }, { load: { storeId: 'bench', adjustment: 'none' } });
    if (result.kind !== 'accepted') throw new Error(JSON.stringify(result.findings[0]));
    times.push(performance.now() - start);
    stall = Math.max(stall, watch());
    rows = result.summary.rows.market;
  }
  const alone = file.endsWith('.parquet') ? duckDbAlone(file) : undefined;
  const megabytes = (await stat(file)).size / 1e6;
  const median = times.toSorted((a, b) => a - b)[REPEATS >> 1]!;
  const beside = alone === undefined ? '' : `  DuckDB alone ${alone.toFixed(0)} ms (${(median / alone).toFixed(2)}x)`;
  console.log(
    `${size.padEnd(17)} ${file.split(' ').at(-1)!.padEnd(22)} ${megabytes.toFixed(0).padStart(4)} MB  min ${Math.min(...times).toFixed(0)} ms  median ${median.toFixed(0)} ms  ` +
      `${(rows / median / 1000).toFixed(1)} M rows/s  longest stall ${stall.toFixed(0)} ms  peak RSS here ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MiB${beside}`,
  );
}

/** Longest time the event loop was away, ms. */
function watchLoop(): () => number {
  let longest = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    longest = Math.max(longest, now - last - 5);
    last = now;
  }, 5);
  return () => {
    clearInterval(timer);
    return longest;
  };
}

/** Wall time of a process that fills the same panels with DuckDB and does nothing else. */
function duckDbAlone(file: string): number {
  const script = `
    const { DuckDBInstance } = require('@duckdb/node-api');
    (async () => {
      const c = await (await DuckDBInstance.create(':memory:')).connect();
      const source = \`read_parquet('${file}')\`;
      await c.run(\`create temp table axis as select name, (row_number() over (order by name) - 1)::INTEGER as n from (select distinct identifier as name from \${source})\`);
      const days = (await (await c.run(\`select distinct date - DATE '1970-01-01' from \${source}\`)).getColumns())[0].map(Number).sort((a, b) => a - b);
      const names = Number((await (await c.run('select count(*) from axis')).getRows())[0][0]);
      const rowOf = new Map(days.map((day, t) => [day, t]));
      const fields = ['OPEN', 'HIGH', 'LOW', 'CLOSE', 'VWAP', 'VOLUME'];
      const panels = fields.map(() => new Float64Array(days.length * names).fill(NaN));
      const r = await c.stream(\`select (date - DATE '1970-01-01')::INTEGER, axis.n, \${fields.map((f) => \`coalesce(\${f}::DOUBLE, 'NaN'::DOUBLE)\`)} from \${source} s join axis on axis.name = s.identifier\`);
      for (;;) {
        const chunk = await r.fetchChunk();
        if (!chunk || chunk.rowCount === 0) break;
        const d = chunk.getColumnVector(0).items, n = chunk.getColumnVector(1).items;
        const cells = new Int32Array(chunk.rowCount);
        for (let i = 0; i < cells.length; i++) cells[i] = rowOf.get(d[i]) * names + n[i];
        fields.forEach((_, f) => { const v = chunk.getColumnVector(2 + f).items, p = panels[f]; for (let i = 0; i < cells.length; i++) p[cells[i]] = v[i]; });
      }
    })();`;
  const times = Array.from({ length: REPEATS }, () => {
    const start = performance.now();
    execFileSync(process.execPath, ['-e', script]);
    return performance.now() - start;
  });
  return times.toSorted((a, b) => a - b)[REPEATS >> 1]!;
}
