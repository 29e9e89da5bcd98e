import { closeSync, openSync, writeSync } from 'node:fs';
import type { DuckDBConnection } from '@duckdb/node-api';
import { LIST_VIEWS, MARKET_VIEWS, RUN_VIEWS } from '#domain/sql/views.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { openDuckDb } from '../formats/duckdb.js';
import { checkQuery, createQueryRefusal, type CheckedQuery } from './check-query.js';
import { createReader } from './chunk-values.js';
import { listResultColumns } from './result-columns.js';
import type { CreateResultWriter, SqlInputs, SqlNeeds, SqlOrder, SqlOutcome } from './sql-order.js';
import {
  type PlannedRuns,
  formatPlanningTables,
  formatReadingTables,
  formatRestTable,
  formatRunTable,
} from './view-definitions.js';

/** Number of threads per query. Several queries run concurrently with the work of the service. */
const THREADS = 2;

/** SQL settings for planning. The tables are empty then, and their statistics must not remove tables from a plan. */
const PLANNING_SETTINGS = `SET disabled_optimizers = 'statistics_propagation'; SET threads = 1;`;

/**
 * Runs a query: parses it, plans it on empty tables, requests the tables in the plan, and writes the result.
 * @param ask returns the requested tables
 * @throws Refusal VALIDATION_FAILED with the position of an error, QUERY_LIMIT
 */
export async function runQuery(order: SqlOrder, ask: (needs: SqlNeeds) => Promise<SqlInputs>): Promise<SqlOutcome> {
  const { query } = order;
  const planningDatabase = await openDuckDb({ settings: PLANNING_SETTINGS });
  let needs: SqlNeeds;
  try {
    const checkedQuery = await checkQuery(planningDatabase.connection, query);
    const runs = createPlannedRuns(order.runs, checkedQuery.texts);
    await planningDatabase.connection.run(formatPlanningTables(order, runs, checkedQuery.tables));
    if (checkedQuery.isDescription) return await answer(planningDatabase.connection, order);
    needs = findNeeds(order, checkedQuery, runs.named, await findTables(planningDatabase.connection, query));
  } finally {
    planningDatabase.close();
  }
  const inputs = await ask(needs);
  const files = [...inputs.runs, ...inputs.market.map(({ file }) => file)];
  const resultDatabase = await openDuckDb({ files, settings: `SET threads = ${THREADS};` });
  try {
    await resultDatabase.connection.run(formatReadingTables(order, needs, inputs));
    return await answer(resultDatabase.connection, order);
  } finally {
    resultDatabase.close();
  }
}

/**
 * Maximum number of tables of runs in a plan, which take about 0.1 ms each. If the client may read more runs, only runs
 * that the query names have a table.
 */
const PLANNED_RUNS = 1000;

/** Maximum number of texts in a query that are known not to be ids of further runs. */
const EXCLUDED_TEXTS = 100;

function createPlannedRuns(ids: readonly string[], texts: ReadonlySet<string>): PlannedRuns {
  if (ids.length <= PLANNED_RUNS) return { named: ids, hasRest: false, others: [] };
  const namedRuns = ids.filter((id) => texts.has(id)).slice(0, PLANNED_RUNS);
  const isRun = new Set(ids);
  return {
    named: namedRuns,
    hasRest: true,
    others: [...texts].filter((text) => !isRun.has(text)).slice(0, EXCLUDED_TEXTS),
  };
}

const EXPLAIN_PREFIX = 'EXPLAIN (FORMAT json) ';

/** Returns the names of the tables that the plan of a query reads. */
async function findTables(connection: DuckDBConnection, query: string): Promise<ReadonlySet<string>> {
  try {
    const plan = await connection.runAndReadAll(`${EXPLAIN_PREFIX}${query}`);
    return listScannedTables(JSON.parse(String(plan.getRows()[0]![1])));
  } catch (error) {
    throw createQueryRefusal(query, error, EXPLAIN_PREFIX.length);
  }
}

/** Returns the names of the tables that a plan scans. */
function listScannedTables(plan: unknown): ReadonlySet<string> {
  const results = new Set<string>();
  const openNodes = [plan];
  for (let node = openNodes.pop(); node !== undefined; node = openNodes.pop()) {
    if (typeof node !== 'object' || node === null) continue;
    for (const [name, value] of Object.entries(node)) {
      if (name === 'Table' && typeof value === 'string') results.add(value.replaceAll('"', '').split('.').at(-1)!);
      else openNodes.push(value);
    }
  }
  return results;
}

function findNeeds(
  { runs: ids, columns, limits }: SqlOrder,
  checked: CheckedQuery,
  named: readonly string[],
  tables: ReadonlySet<string>,
): SqlNeeds {
  const runs = RUN_VIEWS.flatMap((view) => {
    const requestedIds = tables.has(formatRestTable(view))
      ? ids
      : named.filter((_, i) => tables.has(formatRunTable(view, i)));
    if (requestedIds.length > limits.runs)
      throw new Refusal(
        'QUERY_LIMIT',
        `The query reads ${view} of ${requestedIds.length} indices (limit ${limits.runs}): select some by index_id = '...' or index_id IN (...).`,
        { view, indices: requestedIds.length, limit: limits.runs },
      );
    return requestedIds.map((indexId) => ({ view, indexId }));
  });
  const market = MARKET_VIEWS.filter((view) => tables.has(view)).map((view) => ({
    view,
    columns: checked.columns && Object.keys(columns[view]).filter((name) => checked.columns!.has(name.toLowerCase())),
  }));
  return { runs, market, lists: LIST_VIEWS.filter((view) => tables.has(view)) };
}

async function answer(connection: DuckDBConnection, order: SqlOrder): Promise<SqlOutcome> {
  const { query, format, limits, resultFile } = order;
  const { createResultWriter } = (await import(order.encoder)) as { readonly createResultWriter: CreateResultWriter };
  const file = openSync(resultFile, 'wx', 0o600);
  let bytes = 0;
  try {
    const statement = await connection.prepare(query);
    const result = await statement.stream();
    const columns = listResultColumns(result);
    const readers = columns.map(createReader);
    const writer = createResultWriter(
      format,
      Object.fromEntries(columns.map(({ name, type }) => [name, type])),
      (part) => {
        bytes += part.length;
        if (bytes > limits.bytes)
          throw new Refusal(
            'QUERY_LIMIT',
            `The result is larger than ${limits.bytes} bytes: select fewer rows or columns.`,
          );
        for (let from = 0; from < part.length;) from += writeSync(file, part, from);
      },
    );
    let rows = 0;
    let isTruncated = false;
    for (;;) {
      const chunk = await result.fetchChunk();
      if (chunk === null || chunk.rowCount === 0) break;
      const count = Math.min(chunk.rowCount, limits.rows - rows);
      isTruncated = count < chunk.rowCount;
      if (count > 0)
        writer.rows(
          readers.map((columnReader, position) => columnReader(chunk.getColumnVector(position), count)),
          count,
        );
      rows += count;
      if (isTruncated) break;
    }
    writer.end(isTruncated);
    return { rows, isTruncated };
  } catch (error) {
    throw createQueryRefusal(query, error);
  } finally {
    closeSync(file);
  }
}
