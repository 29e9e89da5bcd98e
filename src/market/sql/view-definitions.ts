import {
  LIST_VIEWS,
  MARKET_VIEWS,
  RUN_VIEWS,
  SQL_VIEWS,
  type RunViewName,
  type SqlViewName,
} from '#domain/sql/views.js';
import { quoteName, quoteText } from '../formats/duckdb.js';
import type { SqlColumnType, SqlInputs, SqlNeeds, SqlOrder } from './sql-order.js';

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
export const formatRunTable = (view: RunViewName, index: number) => `${view}#${index}`;
export const formatRestTable = (view: RunViewName) => `${view}#rest`;

type Columns = Readonly<Record<string, SqlColumnType>>;

const formatColumnTypes = (columns: Columns) =>
  Object.entries(columns)
    .map(([name, type]) => `${quoteName(name)} ${SQL_TYPES[type]}`)
    .join(', ');

const createDefinedColumns = (columns: Columns): Columns =>
  Object.fromEntries(Object.entries(columns).filter(([name]) => name !== 'index_id'));

/** Runs in a plan. */
export interface PlannedRuns {
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
export function formatPlanningTables(
  { columns }: SqlOrder,
  { named, hasRest, others }: PlannedRuns,
  views: ReadonlySet<string>,
): string {
  const excludedConditions = [...named, ...others].map(
    (id, i) => `${i === 0 ? 'WHERE' : 'AND'} index_id <> ${quoteText(id)}`,
  );
  const runStatements = RUN_VIEWS.flatMap((view) => {
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
export function formatReadingTables({ query, columns }: SqlOrder, needs: SqlNeeds, inputs: SqlInputs): string {
  const runStatements = RUN_VIEWS.map((view) => {
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

/** Returns true for a query that may read the descriptions of columns. */
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
