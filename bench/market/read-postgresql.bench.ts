import { runMarketTask } from '#market/process/market-process.js';
import { hasPostgresql, startPostgresql } from '../../test/postgresql/postgresql-server.js';

/** A PostgreSQL table of 500 names x 5000 days and six columns, from the connection to panels that can be served. */
const REPEATS = 3;
const NAMES = 500;
const DAYS = 5000;

if (hasPostgresql) {
  const server = await startPostgresql();
  try {
    const walk = (offset: number) => `50 + ${offset} + 10 * sin(t / 100.0 + n) + ((t * 31 + n * 17) % 1000) / 1000.0`;
    await server.query(
      `CREATE TABLE market AS SELECT 'ID' || lpad(n::text, 5, '0') AS identifier, DATE '2000-01-03' + t AS date, ${walk(0)} AS "OPEN", ${walk(1)} AS "HIGH", ${walk(-1)} AS "LOW",
        ${walk(0.5)} AS "CLOSE", ${walk(0.25)} AS "VWAP", ((t * 7 + n) % 1000000)::bigint AS "VOLUME" FROM generate_series(0, ${DAYS - 1}) t, generate_series(0, ${NAMES - 1}) n`,
    );
    await server.query(
      'ALTER TABLE market ALTER "OPEN" TYPE float8, ALTER "HIGH" TYPE float8, ALTER "LOW" TYPE float8, ALTER "CLOSE" TYPE float8, ALTER "VWAP" TYPE float8',
    );
    const place = {
      kind: 'postgresql',
      address: '127.0.0.1',
      host: '127.0.0.1',
      port: server.port,
      user: 'tester',
      password: '',
      database: 'postgres',
      isEncrypted: false,
    } as const;
    const times: number[] = [];
    let rows = 0;
    for (let repeat = 0; repeat < REPEATS; repeat++) {
      const start = performance.now();
      const result = await runMarketTask(
        'readDatabase',
        { place, tables: {} },
        { load: { datasetId: 'bench', adjustment: 'none' } },
      );
      times.push(performance.now() - start);
      if (result.kind !== 'accepted') throw new Error(JSON.stringify(result.findings[0]));
      rows = result.summary.rows.market;
    }
    const median = times.toSorted((a, b) => a - b)[REPEATS >> 1]!;
    console.log(
      `${rows} rows x 6 columns  min ${Math.min(...times).toFixed(0)} ms  median ${median.toFixed(0)} ms  ${(rows / median / 1000).toFixed(2)} M rows/s`,
    );
  } finally {
    await server.stop();
  }
}
