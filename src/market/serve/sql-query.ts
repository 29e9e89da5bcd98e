import type { DuckDBConnection, DuckDBDataChunk, DuckDBResult, DuckDBType, DuckDBValue } from '@duckdb/node-api';
import { closeSync, openSync, writeSync } from 'node:fs';
import { Refusal, refuseWithFindings } from '#domain/base/refusals.js';
import {
  type ColumnType,
  LIST_VIEWS,
  MARKET_VIEWS,
  RUN_SQL_VIEWS,
  type RunSqlView,
  SQL_VIEWS,
  type SqlViewName,
} from '#domain/outputs/exports.js';
import { openDuckDb, quoteName, quoteText } from '../formats/duckdb.js';
import type {
  CreateResultWriter,
  ResultColumn,
  SqlColumnType,
  SqlInputs,
  SqlNeeds,
  SqlOrder,
  SqlOutcome,
} from './market-tasks.js';
import { createMemoryRefusal, PROCESS_MEGABYTES } from './process-pool.js';

/** Properties of a parsed query. */
interface CheckedQuery {
  readonly texts: ReadonlySet<string>;
  /** Names of tables in the query, in lower case. */
  readonly tables: ReadonlySet<string>;
  /** Names of columns in the query, in lower case; null for all columns. */
  readonly columns: ReadonlySet<string> | null;
  /** True for SHOW and DESCRIBE statements. */
  readonly isDescription: boolean;
}

/** Maximum depth of a syntax tree. DuckDB also rejects deeper expressions. */
const DEPTH_MAX = 1000;

const TABLE_FUNCTIONS = new Set(['unnest', 'generate_series', 'range', 'json_each', 'json_tree']);

/** Matches functions that read settings, files, the catalogue or other queries. */
const FORBIDDEN_FUNCTION =
  /^(?:read_|parquet_|duckdb_|pragma_|sniff_|glob$|getenv$|getvariable$|current_setting$|set_config$|query$|query_table$|json_execute|json_serialize|json_deserialize|write_log|parse_duckdb_log|nextval$|currval$|enable_|disable_|which_secret$|load_|add_parquet_key|from_substrait|pg_)/;

/** Tables of `information_schema` that describe the views only. */
const DESCRIBING_TABLES = new Set(['tables', 'columns']);

/** Returns the names of the tables of DuckDB about itself, which contain settings, paths and definitions of views. */
async function listCatalogueTables(connection: DuckDBConnection): Promise<ReadonlySet<string>> {
  const result = await connection.runAndReadAll(
    `SELECT view_name FROM duckdb_views() WHERE internal AND schema_name <> 'information_schema'`,
  );
  return new Set(result.getRows().map(([name]) => String(name).toLowerCase()));
}

interface SerializedQuery {
  readonly error: boolean;
  readonly error_message?: string;
  readonly position?: string;
  readonly statements?: readonly unknown[];
}

/**
 * Parses a query with DuckDB, without running it.
 * @throws Refusal VALIDATION_FAILED unless it is one SELECT statement that calls only functions of values
 */
async function checkQuery(connection: DuckDBConnection, query: string): Promise<CheckedQuery> {
  const result = await connection.runAndReadAll('SELECT json_serialize_sql($1::VARCHAR)', [query]);
  const tree = JSON.parse(String(result.getRows()[0]![0])) as SerializedQuery;
  if (tree.error) {
    if (tree.position === undefined) throw refuseQuery('Only one SELECT statement is accepted.');
    throw refuseQuery(`${tree.error_message}.`, findPosition(query, Number(tree.position)));
  }
  if (tree.statements?.length !== 1) throw refuseQuery('Exactly one SELECT statement is accepted.');
  const catalogueTables = await listCatalogueTables(connection);
  const texts = new Set<string>();
  const columns = new Set<string>();
  const tables = new Set<string>();
  const queryNodes = { hasStar: false, isDescription: false };
  const openEntries: { readonly node: unknown; readonly depth: number; readonly isTable: boolean }[] = [
    { node: tree.statements[0], depth: 0, isTable: false },
  ];
  for (let next = openEntries.pop(); next !== undefined; next = openEntries.pop()) {
    const { node, depth, isTable } = next;
    if (typeof node !== 'object' || node === null) continue;
    if (depth > DEPTH_MAX) throw refuseQuery(`The query is nested more than ${DEPTH_MAX} levels deep.`);
    const {
      type,
      function_name: name,
      query_location: queryLocation,
      column_names: named,
      schema_name: schemaName,
      table_name: tableName,
      value,
    } = node as SyntaxNode;
    if (type === 'STAR') queryNodes.hasStar = true;
    if (type === 'SHOW_REF') queryNodes.isDescription = true;
    if (type === 'COLUMN_REF') for (const columnName of named ?? []) columns.add(columnName.toLowerCase());
    if (type === 'FUNCTION' && name !== undefined)
      assertAllowed(name.toLowerCase(), isTable, findPosition(query, queryLocation));
    if (type === 'VALUE_CONSTANT' && typeof value?.value === 'string') texts.add(value.value);
    if (typeof tableName === 'string') {
      const table = tableName.replaceAll('"', '').toLowerCase();
      const isForbidden =
        schemaName?.toLowerCase() === 'information_schema' ? !DESCRIBING_TABLES.has(table) : catalogueTables.has(table);
      if (isForbidden) throw refuseName('table', table, findPosition(query, queryLocation));
      tables.add(table);
    }
    for (const child of Object.values(node))
      openEntries.push({ node: child, depth: depth + 1, isTable: type === 'TABLE_FUNCTION' });
  }
  return { texts, tables, columns: queryNodes.hasStar ? null : columns, isDescription: queryNodes.isDescription };
}

interface SyntaxNode {
  readonly type?: string;
  readonly function_name?: string;
  readonly query_location?: number;
  readonly column_names?: readonly string[];
  readonly schema_name?: string;
  readonly table_name?: string;
  readonly value?: { readonly value?: unknown };
}

function assertAllowed(name: string, isTable: boolean, place: QueryPosition | undefined): void {
  const isAllowed = isTable ? TABLE_FUNCTIONS.has(name) : !FORBIDDEN_FUNCTION.test(name);
  if (!isAllowed) throw refuseName('function', name, place);
}

const refuseName = (kind: 'function' | 'table', name: string, place: QueryPosition | undefined): Refusal =>
  refuseQuery(`The ${kind} ${name.slice(0, 80)} is not available: queries read the views only.`, place);

/** Position in a query: line and column counted from 1, and the number of characters before it. */
interface QueryPosition {
  readonly line: number;
  readonly column: number;
  readonly start: number;
}

/** Converts an offset to a position. @param offset bytes of UTF-8 before the position; undefined if DuckDB reports none */
function findPosition(query: string, offset: number | undefined): QueryPosition | undefined {
  const bytes = Buffer.from(query);
  if (offset === undefined || offset > bytes.length) return undefined;
  const textBefore = bytes.subarray(0, offset).toString();
  const lines = textBefore.split('\n');
  return { line: lines.length, column: lines.at(-1)!.length + 1, start: textBefore.length };
}

/** Returns the position of a line and column. @param column counted from 1 */
function countPosition(query: string, line: number, column: number): QueryPosition {
  const textBefore = query
    .split('\n')
    .slice(0, line - 1)
    .join('\n').length;
  return { line, column, start: textBefore + (line > 1 ? 1 : 0) + column - 1 };
}

/** Matches an error message of DuckDB with a line of the query and a mark below it. */
const ERROR_POSITION = /\nLINE (\d+): ([^\n]*)\n( *)\^/;

/** Matches the path of a file with a table of the service. */
const INPUT_PATH = /"?(?<![^\s"'])\/[^\s"']*divisor-\d+-[^\s"']*"?/g;

/**
 * Converts an error of DuckDB to a refusal with the position in the query.
 * @param prefix number of characters before the query on its first line
 */
function createQueryRefusal({ query, memory }: SqlOrder, error: unknown, prefix = 0): Refusal {
  if (error instanceof Refusal) return error;
  const reportText = error instanceof Error ? error.message : String(error);
  if (/bad allocation|bad_alloc|array buffer allocation/i.test(reportText))
    return createMemoryRefusal(memory, 'process');
  if (/out of memory|failed to allocate|memory limit/i.test(reportText)) return createMemoryRefusal(memory, 'query');
  const match = ERROR_POSITION.exec(reportText);
  const text = reportText
    .replace(ERROR_POSITION, '')
    .replace(/\n+/g, ' ')
    .replace(INPUT_PATH, 'a table')
    .slice(0, 500)
    .trim();
  if (match === null) return refuseQuery(text);
  const line = Number(match[1]);
  const column = match[3]!.length - `LINE ${line}: `.length + 1 - (line === 1 ? prefix : 0);
  // DuckDB shortens long lines with "...". The position of the mark is then not the column.
  return refuseQuery(text, match[2]!.includes('...') ? undefined : countPosition(query, line, Math.max(1, column)));
}

function refuseQuery(message: string, place?: QueryPosition): Refusal {
  const location = place === undefined ? '' : `Line ${place.line}, column ${place.column}: `;
  const position = place && { position: { start: place.start, end: place.start + 1 } };
  return refuseWithFindings('query', [
    { severity: 'error', code: 'BAD_QUERY', path: 'query', message: `${location}${message}`, ...position },
  ]);
}

/** Represents a missing day or count; NaN represents a missing number. */
const DUCKDB_NULL = -0x8000_0000;

type Vector = ReturnType<DuckDBDataChunk['getColumnVector']>;

/**
 * Members of vectors that the package does not publish: values in memory, and the validity bits. Without them, values
 * are read one by one.
 */
interface VectorMemory {
  readonly items?: Float64Array | Int32Array | object;
  /** Texts of 16 bytes each. A text begins with its length, followed by up to 12 bytes of text. */
  readonly dataView?: DataView;
  readonly validity?: { readonly data: BigUint64Array | null; readonly offset: number };
}

/** Function that reads the values of a column, chunk by chunk. */
type ColumnReader = (vector: Vector, count: number) => ResultColumn;

/** Name of a result column, and its type in exported files. */
interface TypedColumn {
  readonly name: string;
  readonly type: ColumnType;
}

/** Returns the reader of a column. Infinities become missing values, because JSON cannot represent them. */
function createReader({ name, type }: TypedColumn): ColumnReader {
  switch (type) {
    case 'date':
    case 'count':
      return (vector, count) => ({ name, type, values: readIntegers(vector, count) });
    case 'number':
      return (vector, count) => ({ name, type, values: readNumbers(vector, count) });
    case 'text': {
      const readTexts = createTextReader();
      return (vector, count) => ({ name, type, values: readTexts(vector, count) });
    }
  }
}

function readIntegers(vector: Vector, count: number): Int32Array {
  const { items } = vector as unknown as VectorMemory;
  const values = new Int32Array(count);
  if (!(items instanceof Int32Array))
    for (let row = 0; row < count; row++) values[row] = toInteger(vector.getItem(row));
  else {
    values.set(items.subarray(0, count));
    forEachNull(vector, count, (row) => (values[row] = DUCKDB_NULL));
  }
  return values;
}

function readNumbers(vector: Vector, count: number): Float64Array {
  const { items } = vector as unknown as VectorMemory;
  const values = new Float64Array(count);
  if (!(items instanceof Float64Array))
    for (let row = 0; row < count; row++) values[row] = toNumber(vector.getItem(row));
  else {
    for (let row = 0; row < count; row++) {
      const value = items[row]!;
      values[row] = Number.isFinite(value) ? value : NaN;
    }
    forEachNull(vector, count, (row) => (values[row] = NaN));
  }
  return values;
}

function forEachNull(vector: Vector, count: number, onNull: (row: number) => void): void {
  const { validity } = vector as unknown as VectorMemory;
  if (validity?.data === null) return;
  for (let row = 0; row < count; row++) if (vector.getItem(row) === null) onNull(row);
}

function toInteger(value: DuckDBValue): number {
  if (value === null) return DUCKDB_NULL;
  if (typeof value === 'boolean') return value ? 1 : 0;
  return typeof value === 'number' ? value : (value as { readonly days: number }).days; // a date
}

function toNumber(value: DuckDBValue): number {
  if (value === null) return NaN;
  const number = typeof value === 'object' ? (value as { toDouble(): number }).toDouble() : Number(value); // a decimal, or a plain number
  return Number.isFinite(number) ? number : NaN;
}

/** Number of cached texts, a power of two. */
const CACHED_TEXTS = 1 << 14;
/**
 * Number of 32-bit words per text in a vector. The second value is the maximum length of a text that the vector itself
 * contains.
 */
const STRING_WORDS = 4;
const INLINE_BYTES_MAX = 12;

/** Creates a reader of texts. Decoding takes most of the time, so that short texts are cached by their bytes. */
function createTextReader() {
  const keys = new Uint32Array(CACHED_TEXTS * STRING_WORDS);
  const texts: (string | undefined)[] = Array.from({ length: CACHED_TEXTS });

  function readTextAt(vector: Vector, words: Uint32Array | undefined, row: number): string | null {
    const position = row * STRING_WORDS;
    if (words === undefined || words[position]! > INLINE_BYTES_MAX) return toText(vector.getItem(row));
    let hash = words[position]!;
    for (let i = 1; i < STRING_WORDS; i++) hash = Math.imul(hash ^ words[position + i]!, 0x9e37_79b1) ^ (hash >>> 15);
    const slot = (hash >>> 7) & (CACHED_TEXTS - 1);
    const key = slot * STRING_WORDS;
    const cachedText = texts[slot];
    if (
      cachedText !== undefined &&
      keys[key] === words[position] &&
      keys[key + 1] === words[position + 1] &&
      keys[key + 2] === words[position + 2] &&
      keys[key + 3] === words[position + 3]
    )
      return cachedText;
    const text = toText(vector.getItem(row));
    if (text === null) return null;
    keys.set(words.subarray(position, position + STRING_WORDS), key);
    texts[slot] = text;
    return text;
  }

  return (vector: Vector, count: number) => {
    const { validity } = vector as unknown as VectorMemory;
    // the bytes of a null are arbitrary
    const textWords = validity?.data === null ? findWords(vector, count) : undefined;
    const positions = new Map<string, number>();
    const codes = new Int32Array(count);
    for (let row = 0; row < count; row++) {
      const text = readTextAt(vector, textWords, row);
      if (text === null) {
        codes[row] = -1;
        continue;
      }
      const code = positions.get(text) ?? positions.size;
      if (code === positions.size) positions.set(text, code);
      codes[row] = code;
    }
    return { codes, texts: [...positions.keys()] };
  };
}

const toText = (value: DuckDBValue): string | null => (value === null ? null : String(value));

/** Returns the memory of a vector of texts. Returns undefined for other types. */
function findWords(vector: Vector, count: number): Uint32Array | undefined {
  const { dataView } = vector as unknown as VectorMemory;
  const isAligned = dataView !== undefined && dataView.byteOffset % Uint32Array.BYTES_PER_ELEMENT === 0;
  return isAligned && String(vector.type) === 'VARCHAR'
    ? new Uint32Array(dataView.buffer, dataView.byteOffset, count * STRING_WORDS)
    : undefined;
}

const COUNT_TYPE = /^(?:U?TINYINT|U?SMALLINT|INTEGER|BOOLEAN)$/;
const NUMBER_TYPE = /^(?:U?BIGINT|U?HUGEINT|UINTEGER|FLOAT|DOUBLE|DECIMAL\(.*\)|BIGNUM)$/;

/** Returns the columns of a result. Repeated names get a number, and unsupported types become text. */
function listResultColumns(result: DuckDBResult): readonly TypedColumn[] {
  const usedNames = new Set<string>();
  return result.columnNames().map((columnName, position) => {
    let name = columnName;
    for (let number = 1; usedNames.has(name); number++) name = `${columnName}_${number}`;
    usedNames.add(name);
    return { name, type: getType(result.columnType(position)) };
  });
}

function getType(type: DuckDBType): ColumnType {
  const name = String(type);
  if (name === 'DATE') return 'date';
  if (COUNT_TYPE.test(name)) return 'count';
  return NUMBER_TYPE.test(name) ? 'number' : 'text';
}

const SQL_TYPES: Readonly<Record<SqlColumnType, string>> = {
  date: 'DATE',
  text: 'VARCHAR',
  number: 'DOUBLE',
  count: 'INTEGER',
  flag: 'BOOLEAN',
};

/** Schema of the tables behind the views. A listing of tables then shows only the views. */
const INPUT_SCHEMA = 'input';

const formatTable = (name: string) => `${INPUT_SCHEMA}.${quoteName(name)}`;
const formatRunTable = (view: RunSqlView, index: number) => `${view}#${index}`;
const formatRestTable = (view: RunSqlView) => `${view}#rest`;

type Columns = Readonly<Record<string, SqlColumnType>>;

const formatColumnTypes = (columns: Columns) =>
  Object.entries(columns)
    .map(([name, type]) => `${quoteName(name)} ${SQL_TYPES[type]}`)
    .join(', ');

const createDefinedColumns = (columns: Columns): Columns =>
  Object.fromEntries(Object.entries(columns).filter(([name]) => name !== 'index_id'));

interface PlannedRuns {
  /** Ids of runs with a separate table. */
  readonly named: readonly string[];
  /** True if one table represents all further runs. */
  readonly hasRest: boolean;
  /** Texts of the query that are not ids of further runs. */
  readonly others: readonly string[];
}

/**
 * Returns the SQL of empty tables with views over them, for planning. There is one table for each run up to a maximum
 * number, and one table for all further runs. `index_id` is constant in each table of a run, so that a plan contains
 * only tables that satisfy its conditions on `index_id`.
 * @param views names of the views in the query; other views are empty
 */
function formatPlanningTables(
  { columns }: SqlOrder,
  { named, hasRest, others }: PlannedRuns,
  views: ReadonlySet<string>,
): string {
  const excludedConditions = [...named, ...others].map(
    (id, i) => `${i === 0 ? 'WHERE' : 'AND'} index_id <> ${quoteText(id)}`,
  );
  const runStatements = RUN_SQL_VIEWS.flatMap((view) => {
    if (!views.has(view) || (named.length === 0 && !hasRest)) return [formatEmptyView(view, columns[view])];
    const columnTypes = formatColumnTypes(createDefinedColumns(columns[view]));
    const names = named.map((id, i) => [quoteText(id), formatRunTable(view, i)] as const);
    const restSelect = `SELECT * FROM ${formatTable(formatRestTable(view))} ${excludedConditions.join(' ')}`;
    return [
      ...names.map(([, name]) => `CREATE TABLE ${formatTable(name)} (${columnTypes})`),
      ...(hasRest ? [`CREATE TABLE ${formatTable(formatRestTable(view))} (${formatColumnTypes(columns[view])})`] : []),
      `CREATE VIEW ${view} AS ${[...names.map(formatBranch), ...(hasRest ? [restSelect] : [])].join(' UNION ALL ')}`,
    ];
  });
  const fixedStatements = [...MARKET_VIEWS, ...LIST_VIEWS].flatMap((view) => [
    `CREATE TABLE ${formatTable(view)} (${formatColumnTypes(columns[view])})`,
    `CREATE VIEW ${view} AS SELECT * FROM ${formatTable(view)}`,
  ]);
  return [`CREATE SCHEMA ${INPUT_SCHEMA}`, ...runStatements, ...fixedStatements].join(';\n');
}

const formatEmptyView = (view: SqlViewName, columns: Columns) =>
  `CREATE VIEW ${view} AS SELECT ${formatNulls(columns)} WHERE false`;

const formatBranch = ([id, name]: readonly [string, string]) => `SELECT ${id} AS index_id, * FROM ${formatTable(name)}`;

/** Returns the SQL of the views over the inputs of a query. All other views are empty. */
function formatReadingTables({ query, columns }: SqlOrder, needs: SqlNeeds, inputs: SqlInputs): string {
  const runStatements = RUN_SQL_VIEWS.map((view) => {
    const branches = needs.runs.flatMap((need, i) =>
      need.view === view
        ? [`SELECT ${quoteText(need.indexId)} AS index_id, * FROM read_parquet(${quoteText(inputs.runs[i]!)})`]
        : [],
    );
    if (branches.length === 0) return formatEmptyView(view, columns[view]);
    return `CREATE VIEW ${view} AS ${branches.join(' UNION ALL ')}`;
  });
  const marketStatements = MARKET_VIEWS.map((view) => {
    const position = needs.market.findIndex((need) => need.view === view);
    const input = inputs.market[position];
    if (input === undefined) return formatEmptyView(view, columns[view]);
    const givenColumns = new Set(input.columns);
    const selectedColumns = Object.entries(columns[view]).map(([name, type]) =>
      givenColumns.has(name) ? quoteName(name) : `NULL::${SQL_TYPES[type]} AS ${quoteName(name)}`,
    );
    return `CREATE VIEW ${view} AS SELECT ${selectedColumns.join(', ')} FROM read_parquet(${quoteText(input.file)})`;
  });
  const lists = LIST_VIEWS.flatMap((view) => [
    `CREATE TABLE ${formatTable(view)} (${formatColumnTypes(columns[view])})`,
    ...formatInsertions(formatTable(view), inputs.lists[needs.lists.indexOf(view)] ?? []),
    `CREATE VIEW ${view} AS SELECT * FROM ${formatTable(view)}`,
  ]);
  const comments = readsCatalogue(query) ? formatComments() : [];
  return [`CREATE SCHEMA ${INPUT_SCHEMA}`, ...runStatements, ...marketStatements, ...lists, ...comments].join(';\n');
}

const readsCatalogue = (query: string): boolean => /information_schema|duckdb_columns/i.test(query);

/** Returns the SQL of the descriptions of all columns with a fixed meaning. */
const formatComments = (): readonly string[] =>
  Object.entries(SQL_VIEWS).flatMap(([view, { columns }]) =>
    Object.entries(columns).map(
      ([name, { meaning }]) => `COMMENT ON COLUMN ${view}.${quoteName(name)} IS ${quoteText(meaning)}`,
    ),
  );

const formatNulls = (columns: Columns) =>
  Object.entries(columns)
    .map(([name, type]) => `NULL::${SQL_TYPES[type]} AS ${quoteName(name)}`)
    .join(', ');

/** Number of rows per INSERT statement. It limits the length of the text. */
const INSERTED_ROWS = 500;

function formatInsertions(into: string, rows: readonly (readonly (string | number | null)[])[]): string[] {
  const statements: string[] = [];
  for (let from = 0; from < rows.length; from += INSERTED_ROWS) {
    const rowTexts = rows.slice(from, from + INSERTED_ROWS).map((row) => `(${row.map(formatLiteral).join(', ')})`);
    statements.push(`INSERT INTO ${into} VALUES ${rowTexts.join(', ')}`);
  }
  return statements;
}

const formatLiteral = (cell: string | number | null): string =>
  cell === null ? 'NULL' : typeof cell === 'number' ? String(cell) : quoteText(cell);

const MIB = 2 ** 20;

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
  const megabytes = Math.floor(order.memory.query / MIB) - PROCESS_MEGABYTES;
  const planningDatabase = await openDuckDb({ settings: PLANNING_SETTINGS, megabytes });
  let needs: SqlNeeds;
  try {
    const checkedQuery = await checkQuery(planningDatabase.connection, query);
    const runs = createPlannedRuns(order.runs, checkedQuery.texts);
    await planningDatabase.connection.run(formatPlanningTables(order, runs, checkedQuery.tables));
    if (checkedQuery.isDescription) return await answer(planningDatabase.connection, order);
    needs = findNeeds(order, checkedQuery, runs.named, await findTables(planningDatabase.connection, order));
  } finally {
    planningDatabase.close();
  }
  const inputs = await ask(needs);
  const files = [...inputs.runs, ...inputs.market.map(({ file }) => file)];
  const resultDatabase = await openDuckDb({ files, settings: `SET threads = ${THREADS};`, megabytes });
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

async function findTables(connection: DuckDBConnection, order: SqlOrder): Promise<ReadonlySet<string>> {
  try {
    const plan = await connection.runAndReadAll(`${EXPLAIN_PREFIX}${order.query}`);
    return listScannedTables(JSON.parse(String(plan.getRows()[0]![1])));
  } catch (error) {
    throw createQueryRefusal(order, error, EXPLAIN_PREFIX.length);
  }
}

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
  const runs = RUN_SQL_VIEWS.flatMap((view) => {
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
    throw createQueryRefusal(order, error);
  } finally {
    closeSync(file);
  }
}
