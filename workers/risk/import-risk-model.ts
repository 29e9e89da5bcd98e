import { DataType, tableFromIPC } from 'apache-arrow';
import { parseJson } from '#domain/base/json.js';
import { formatDay, parseDay } from '#domain/base/time.js';
import { type PackedImport, packModel } from '#domain/risk/imported-models.js';
import {
  createModelTables,
  type DatedTables,
  type ModelTable,
  type ModelTables,
  type ParsedModel,
  readModelBody,
  reportNotANumber,
} from '#domain/risk/model-tables.js';
import {
  MODEL_TABLES,
  type ModelFileFormat,
  type ModelProblems,
  type ModelTableName,
} from '#domain/risk/model-terms.js';
import type { Task } from '#jobs/tasks/catalogue.js';
import type { ImportedModelOutput, ImportRiskModelInput } from '#jobs/tasks/indices.js';
import { CsvFault, readCsv, readTextCells } from '#market/read/csv.js';
import { createProblems, formatCellPath, formatReason, type Problems } from '#market/tables/problems.js';
import { toImportedFactors } from '#views/factor-model.js';
import { runOnEngine } from '../input/numerics.js';
import { answerBytes } from '../output/hand-over.js';

/** Prefix of the paths in findings about a file. */
const LABEL = 'model';

const MS_PER_DAY = 86_400_000;

type ModelCellValue = string | number | null;
/** Function that receives the cells of a row. The row number starts at 1. */
type RowSink = (cells: readonly ModelCellValue[], row: number) => void;

interface FileTerms {
  readonly format: ModelFileFormat;
  /** Date of a file without a date column. */
  readonly date: string | null;
}

/**
 * Reads the tables of a model from a file. The file has rows of `date`, `table`, `row`, `column` and `value`, or
 * covariances with one row and one column per security.
 */
async function readModelFile(
  bytes: Uint8Array,
  { format, date }: FileTerms,
  problems: ModelProblems,
): Promise<readonly DatedTables[]> {
  const tables = createModelTables(problems);
  const createSink = (columns: readonly string[], fileDate: string | null) =>
    createRowSink(columns, { tables, date: date ?? fileDate, problems });
  try {
    if (format === 'arrow') readArrow(bytes, createSink);
    else await readRecords(bytes, (columns) => createSink(columns, null));
  } catch (fault) {
    const row = fault instanceof CsvFault ? fault.record : 0;
    const path = row > 0 ? formatCellPath(LABEL, row, '') : LABEL;
    problems.error({ code: 'UNREADABLE_FILE', path, message: `The file cannot be read: ${formatReason(fault)}` });
  }
  return tables.dates;
}

async function readRecords(bytes: Uint8Array, sinkOf: (columns: readonly string[]) => RowSink | undefined) {
  let row = 0;
  await readCsv([bytes], (columns) => {
    const sink = sinkOf(columns);
    return sink && ((record) => sink(readTextCells(record) as readonly ModelCellValue[], ++row)); // Passes the cells of text files as texts.
  });
}

function readArrow(
  bytes: Uint8Array,
  sinkOf: (columns: readonly string[], date: string | null) => RowSink | undefined,
): void {
  const table = tableFromIPC(bytes);
  const { fields, metadata } = table.schema;
  const sink = sinkOf(
    fields.map(({ name }) => name),
    findServedDate(metadata.get('body')),
  );
  if (sink === undefined) return;
  const vectors = fields.map(({ type }, k) => ({ vector: table.getChildAt(k)!, isDay: isDay(type) }));
  for (let i = 0; i < table.numRows; i++)
    sink(
      vectors.map(({ vector, isDay: day }) => {
        const value: unknown = vector.get(i);
        return day && value !== null ? formatDay(Math.floor(Number(value) / MS_PER_DAY)) : toCell(value);
      }),
      i + 1,
    );
}

const isDay = (type: DataType): boolean => DataType.isDate(type) || DataType.isTimestamp(type);

function toCell(value: unknown): ModelCellValue {
  if (value === null || value === undefined) return null;
  return typeof value === 'number' ? value : String(value);
}

/** Returns the date of a model that the service itself wrote as Arrow. */
function findServedDate(body: string | undefined): string | null {
  if (body === undefined) return null;
  try {
    const { date, observed_end: end } = JSON.parse(body) as {
      readonly date?: unknown;
      readonly observed_end?: unknown;
    };
    const servedDate = date ?? end;
    return typeof servedDate === 'string' ? servedDate : null;
  } catch {
    return null; // another program wrote the metadata
  }
}

interface SinkTerms {
  readonly tables: ModelTables;
  readonly date: string | null;
  readonly problems: ModelProblems;
}

const LONG_COLUMNS = ['table', 'row', 'column', 'value'] as const;

function createRowSink(columns: readonly string[], terms: SinkTerms): RowSink | undefined {
  const { problems, date } = terms;
  const repeatedColumn = columns.find((name, k) => columns.indexOf(name) !== k);
  if (repeatedColumn !== undefined) {
    problems.error({
      code: 'DUPLICATE_KEY',
      path: LABEL,
      message: `The column ${repeatedColumn} occurs twice.`,
      value: repeatedColumn,
    });
    return undefined;
  }
  if (!columns.includes('date') && date === null) {
    const message = 'The file has no column date: state its date (`date` in the query, --date of divisor import-risk).';
    problems.error({ code: 'REQUIRED', path: 'date', message });
    return undefined;
  }
  return columns.includes('table') ? createLongSink(columns, terms) : createWideSink(columns, terms);
}

/** Returns the date of a row. Returns undefined if the value is not a day. */
function readDate(value: ModelCellValue | undefined, path: string, { date, problems }: SinkTerms): string | undefined {
  if (value === undefined) return date!; // the caller has checked that rows or file have a date
  if (typeof value === 'string' && parseDay(value) !== undefined) return value;
  const message = `The date is ${value ?? 'empty'}; a day such as 2024-01-31 is required.`;
  problems.error({ code: 'BAD_DATE', path, message, value });
  return undefined;
}

const formatPath = (row: number): string => formatCellPath(LABEL, row, '');

/** Creates a function that receives rows with one number each. */
function createLongSink(columns: readonly string[], terms: SinkTerms): RowSink | undefined {
  const { problems, tables } = terms;
  const missingColumns = LONG_COLUMNS.filter((name) => !columns.includes(name));
  const unknownColumn = columns.find((name) => name !== 'date' && !(LONG_COLUMNS as readonly string[]).includes(name));
  if (missingColumns.length > 0 || unknownColumn !== undefined) {
    const message = `The file has the columns ${columns.slice(0, 8).join(', ')}; date, ${LONG_COLUMNS.join(', ')} are required, and no others.`;
    problems.error({ code: unknownColumn === undefined ? 'REQUIRED' : 'UNKNOWN_FIELD', path: LABEL, message });
    return undefined;
  }
  const [table, row, column, value] = LONG_COLUMNS.map((name) => columns.indexOf(name)) as [
    number,
    number,
    number,
    number,
  ];
  const dateColumn = columns.indexOf('date');
  return (cells, position) => {
    const formatRowPath = (name: string): string => formatCellPath(LABEL, position, name);
    const date = readDate(dateColumn < 0 ? undefined : (cells[dateColumn] ?? null), formatRowPath('date'), terms);
    const name = cells[table] as ModelTableName;
    if (!MODEL_TABLES.includes(name)) {
      const message = `The table is ${cells[table] ?? 'empty'}; the accepted set is ${MODEL_TABLES.join(', ')}.`;
      problems.error({ code: 'NOT_IN_CHOICES', path: formatRowPath('table'), message, value: cells[table] });
      return;
    }
    const neededColumns = name === 'specific_variances' ? ['row'] : ['row', 'column'];
    const cellNames = {
      row: formatCellText(cells[row]),
      column: name === 'specific_variances' ? '' : formatCellText(cells[column]),
    };
    for (const neededColumn of neededColumns)
      if (cellNames[neededColumn as 'row' | 'column'] === '')
        problems.error({
          code: 'REQUIRED',
          path: formatRowPath(neededColumn),
          message: `The ${neededColumn} is empty; a name is required.`,
        });
    const number = parseNumber(cells[value] ?? null);
    if (Number.isNaN(number)) problems.error(reportNotANumber(formatRowPath('value'), cells[value]));
    if (
      date === undefined ||
      Number.isNaN(number) ||
      neededColumns.some((each) => cellNames[each as 'row' | 'column'] === '')
    )
      return;
    const sinkTerms = { date, path: formatRowPath('date'), table: `${LABEL}.${name}`, pathOf: formatPath };
    tables.tableOf(name, sinkTerms)?.add({ ...cellNames, value: number, place: position });
  };
}

/** Creates a function that receives covariances with one row and one column per security. */
function createWideSink(columns: readonly string[], terms: SinkTerms): RowSink | undefined {
  const { problems, tables } = terms;
  const nameColumn = columns.findIndex((name) => name === 'identifier' || name === 'asset_id');
  if (nameColumn < 0) {
    const message = `The file has no column identifier in addition to the securities; a file with one number a row has the columns date, ${LONG_COLUMNS.join(', ')}.`;
    problems.error({ code: 'REQUIRED', path: LABEL, message });
    return undefined;
  }
  const dateColumn = columns.indexOf('date');
  return (cells, position) => {
    const formatRowPath = (name: string): string => formatCellPath(LABEL, position, name);
    if (cells.length !== columns.length) {
      const message = `The row has ${cells.length} cells; there are ${columns.length} columns.`;
      problems.error({ code: 'UNREADABLE_FILE', path: formatRowPath(''), message });
      return;
    }
    const date = readDate(dateColumn < 0 ? undefined : cells[dateColumn]!, formatRowPath('date'), terms);
    const row = formatCellText(cells[nameColumn]);
    if (row === '')
      problems.error({
        code: 'REQUIRED',
        path: formatRowPath(columns[nameColumn]!),
        message: 'The security is empty; an identifier is required.',
      });
    if (date === undefined || row === '') return;
    const table = tables.tableOf('covariance', {
      date,
      path: formatRowPath('date'),
      table: `${LABEL}.covariance`,
      pathOf: formatPath,
    });
    cells.forEach((cell, j) => {
      if (j !== nameColumn && j !== dateColumn)
        addCell(table, { row, column: columns[j]!, cell, at: position }, problems);
    });
  };
}

interface WideCell {
  readonly row: string;
  readonly column: string;
  readonly cell: ModelCellValue;
  readonly at: number;
}

/**
 * Adds a cell. An empty cell belongs to a security without values on the date, or to the triangle of a matrix that the
 * file omits.
 */
function addCell(table: ModelTable | undefined, { row, column, cell, at }: WideCell, problems: ModelProblems): void {
  if (cell === null) return;
  const value = parseNumber(cell);
  if (Number.isNaN(value)) problems.error(reportNotANumber(formatCellPath(LABEL, at, column), cell));
  else table?.add({ row, column, value, place: at });
}

const formatCellText = (cell: ModelCellValue | undefined): string => String(cell ?? '').trim();

/** Parses a number. Returns NaN if the text is not a finite number. */
function parseNumber(cell: ModelCellValue): number {
  const value = typeof cell === 'number' ? cell : cell === null || cell.trim() === '' ? Number.NaN : Number(cell);
  return Number.isFinite(value) ? value : Number.NaN;
}

/** Converts an external model to the stored form, or returns findings. */
export const importModel: Task<'import-risk-model'> = async ({ source }, control) => {
  const problems = createProblems();
  const parsedModel = await readModel(source, problems);
  const packedModel =
    parsedModel === undefined || problems.errors > 0
      ? undefined
      : await runOnEngine((engine) => createOutput(packModel(engine, parsedModel, problems, control.report)));
  return { findings: problems.findings(), model: problems.errors > 0 ? null : (packedModel ?? null) };
};

async function readModel(source: ImportRiskModelInput['source'], problems: Problems): Promise<ParsedModel | undefined> {
  if (source.kind === 'json') return readModelBody(parseJson(source.bytes).value, problems);
  const { terms, bytes, ...file } = source;
  const dates = await readModelFile(bytes, file, problems);
  if (dates.length === 0 && problems.errors === 0)
    problems.error({ code: 'EMPTY_DATASET', path: 'model', message: 'The file has no rows; one date is needed.' });
  return { terms, dates };
}

function createOutput(packed: PackedImport | undefined): ImportedModelOutput | undefined {
  if (packed === undefined) return undefined;
  const { covariance, factors, factorModel, ...model } = packed;
  return {
    ...model,
    covariance: answerBytes(new Uint8Array(covariance.buffer)),
    factors: factors && answerBytes(new Uint8Array(factors.buffer)),
    factorModel: factorModel && toImportedFactors(factorModel),
  };
}
