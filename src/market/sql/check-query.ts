import { refuseWithFindings, Refusal } from '#domain/refusals/refusal.js';
import type { DuckDBConnection } from '@duckdb/node-api';

/** Properties of a parsed query. */
export interface CheckedQuery {
  /** Text constants in the query. */
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

/** Table functions that read only their arguments. */
const TABLE_FUNCTIONS = new Set(['unnest', 'generate_series', 'range', 'json_each', 'json_tree']);

/** Matches functions that read settings, files, the catalogue or other queries. */
const FORBIDDEN_FUNCTION =
  /^(?:read_|parquet_|duckdb_|pragma_|sniff_|glob$|getenv$|getvariable$|current_setting$|set_config$|query$|query_table$|json_execute|json_serialize|json_deserialize|write_log|parse_duckdb_log|nextval$|currval$|enable_|disable_|which_secret$|load_|add_parquet_key|from_substrait|pg_)/;

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
export async function checkQuery(connection: DuckDBConnection, query: string): Promise<CheckedQuery> {
  const result = await connection.runAndReadAll('SELECT json_serialize_sql($1::VARCHAR)', [query]);
  const tree = JSON.parse(String(result.getRows()[0]![0])) as SerializedQuery;
  if (tree.error) {
    if (tree.position === undefined) throw refuseQuery('Only one SELECT statement is accepted.');
    throw refuseQuery(`${tree.error_message}.`, findPosition(query, Number(tree.position)));
  }
  if (tree.statements?.length !== 1) throw refuseQuery('Exactly one SELECT statement is accepted.');
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
      table_name: tableName,
      value,
    } = node as SyntaxNode;
    if (type === 'STAR') queryNodes.hasStar = true;
    if (type === 'SHOW_REF') queryNodes.isDescription = true;
    if (type === 'COLUMN_REF') for (const columnName of named ?? []) columns.add(columnName.toLowerCase());
    if (type === 'FUNCTION' && name !== undefined)
      assertAllowed(name.toLowerCase(), isTable, findPosition(query, queryLocation));
    if (type === 'VALUE_CONSTANT' && typeof value?.value === 'string') texts.add(value.value);
    if (typeof tableName === 'string') tables.add(tableName.replaceAll('"', '').toLowerCase());
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
  readonly table_name?: string;
  readonly value?: { readonly value?: unknown };
}

function assertAllowed(name: string, isTable: boolean, place: QueryPosition | undefined): void {
  const isAllowed = isTable ? TABLE_FUNCTIONS.has(name) : !FORBIDDEN_FUNCTION.test(name);
  if (!isAllowed)
    throw refuseQuery(`The function ${name.slice(0, 80)} is not available: queries read the views only.`, place);
}

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

/**
 * Converts an error of DuckDB to a refusal with the position in the query.
 * @param prefix number of characters before the query on its first line
 */
export function createQueryRefusal(query: string, error: unknown, prefix = 0): Refusal {
  if (error instanceof Refusal) return error;
  const reportText = error instanceof Error ? error.message : String(error);
  if (/out of memory|failed to allocate|memory limit/i.test(reportText))
    return new Refusal('QUERY_LIMIT', 'The query needs more memory than it may use: select fewer rows or columns.');
  const match = ERROR_POSITION.exec(reportText);
  const text = reportText.replace(ERROR_POSITION, '').replace(/\n+/g, ' ').slice(0, 500).trim();
  if (match === null) return refuseQuery(text);
  const line = Number(match[1]);
  const column = match[3]!.length - `LINE ${line}: `.length + 1 - (line === 1 ? prefix : 0);
  // DuckDB shortens long lines with "...". The position of the mark is then not the column.
  return refuseQuery(text, match[2]!.includes('...') ? undefined : countPosition(query, line, Math.max(1, column)));
}

export function refuseQuery(message: string, place?: QueryPosition): Refusal {
  const location = place === undefined ? '' : `Line ${place.line}, column ${place.column}: `;
  const position = place && { position: { start: place.start, end: place.start + 1 } };
  return refuseWithFindings('query', [
    { severity: 'error', code: 'BAD_QUERY', path: 'query', message: `${location}${message}`, ...position },
  ]);
}
