import { DuckDBInstance, type DuckDBDataChunk } from '@duckdb/node-api';
import { setPriority } from 'node:os';
import { processMs } from '../thread-time.js';
import { peakMegabytes } from './peak-memory.js';
import type { AloneReport } from './read-store.bench.js';

/**
 * DuckDB alone, in a process of its own and by the columns its interface gives: the panels of a file, filled as they are in a store, and nothing
 * checked, hashed or handed over.
 */
const FIELDS = ['OPEN', 'HIGH', 'LOW', 'CLOSE', 'VWAP', 'VOLUME'];

/** As the processes that read stores. */
const NICENESS = 5;

setPriority(NICENESS);
const [file] = process.argv.slice(2);
const connection = await (await DuckDBInstance.create(':memory:')).connect();
const start = performance.now();
const before = processMs();
const source = `${file!.endsWith('.csv') ? 'read_csv' : 'read_parquet'}('${file}')`;
await connection.run(
  `CREATE TEMP TABLE axis AS SELECT name, (row_number() OVER (ORDER BY name) - 1)::INTEGER AS n FROM (SELECT DISTINCT identifier AS name FROM ${source})`,
);
const found = await connection.runAndReadAll(`SELECT DISTINCT (date - DATE '1970-01-01')::INTEGER FROM ${source}`);
const days = found
  .getRows()
  .map(([day]) => Number(day))
  .toSorted((a, b) => a - b);
const names = Number((await connection.runAndReadAll('SELECT count(*) FROM axis')).getRows()[0]![0]);
const rowOf = new Map(days.map((day, t) => [day, t]));
const panels = FIELDS.map(() => new Float64Array(days.length * names).fill(Number.NaN));
const values = FIELDS.map((name) => `coalesce(${name}::DOUBLE, 'NaN'::DOUBLE)`);
const rows = await connection.stream(
  `SELECT (date - DATE '1970-01-01')::INTEGER, axis.n, ${values.join(', ')} FROM ${source} s JOIN axis ON axis.name = s.identifier`,
);
for (;;) {
  const chunk = await rows.fetchChunk();
  if (chunk === null || chunk.rowCount === 0) break;
  const [dates, columns] = [itemsOf(chunk, 0), itemsOf(chunk, 1)];
  const cells = new Int32Array(chunk.rowCount);
  for (let i = 0; i < cells.length; i++) cells[i] = rowOf.get(dates[i]!)! * names + columns[i]!;
  panels.forEach((panel, f) => {
    const items = itemsOf(chunk, 2 + f);
    for (let i = 0; i < cells.length; i++) panel[cells[i]!] = items[i]!;
  });
}
const report: AloneReport = {
  ms: performance.now() - start,
  processor: processMs() - before,
  peak: peakMegabytes(),
};
process.send!(report, () => process.disconnect()); // forked by the benchmark

/** The numbers of a column. */
function itemsOf(chunk: DuckDBDataChunk, column: number): Int32Array | Float64Array {
  return (chunk.getColumnVector(column) as unknown as { readonly items: Int32Array | Float64Array }).items; // public at run time, private in its types
}
