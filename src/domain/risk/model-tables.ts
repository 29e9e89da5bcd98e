import type { Finding } from '../base/findings.js';
import { LIMITS } from '../base/limits.js';
import { checkShape } from '../base/schema.js';
import {
  FACTOR_TABLES,
  type ImportedModelDate,
  type ImportTerms,
  MODEL_TABLES,
  type ModelProblems,
  type ModelTableName,
  RiskModelImport,
} from './model-terms.js';

export interface ModelDate {
  readonly date: string;
  /** Securities of other dates without a covariance on this date, ascending. */
  readonly lacks: readonly string[];
}

/** Model of one date, with its position in the files of an imported model. */
export interface DatedPart {
  readonly date: string;
  /** Securities in the order of the matrix. */
  readonly names: readonly string[];
  /** Index of the first number of its packed matrix. */
  readonly at: number;
  /** Index of the first number of its packed factors. */
  readonly factorsAt: number;
}

/**
 * Returns the dates of a model, ascending, with their file positions: packed matrices, and packed factor models, are
 * concatenated.
 */
export function groupPartsByDate(
  names: readonly string[],
  dates: readonly ModelDate[],
  factorCount: number,
): DatedPart[] {
  let [position, factorsAt] = [0, 0];
  return dates.map(({ date, lacks }) => {
    const absentNames = new Set(lacks);
    const presentNames = absentNames.size === 0 ? names : names.filter((name) => !absentNames.has(name));
    const part = { date, names: presentNames, at: position, factorsAt };
    position += (presentNames.length * (presentNames.length + 1)) / 2;
    factorsAt += presentNames.length * factorCount + factorCount * factorCount + presentNames.length;
    return part;
  });
}

/** Returns the part in force on a date: the latest part dated on or before it. Returns undefined if there is none. */
export function findPart<P extends Pick<DatedPart, 'date'>>(parts: readonly P[], date: string): P | undefined {
  return parts.findLast((part) => part.date <= date);
}

/** Cell of a table: row, column and value, with the position in the source. */
export interface ModelCell {
  readonly row: number;
  readonly column: number;
  readonly value: number;
  readonly place: number;
}

export interface ModelTable {
  readonly path: string;
  /** Positions of row and column names, in the order of occurrence. */
  readonly rows: ReadonlyMap<string, number>;
  readonly columns: ReadonlyMap<string, number>;
  add(cell: { readonly row: string; readonly column: string; readonly value: number; readonly place: number }): void;
  each(visit: (cell: ModelCell) => void): void;
  /** Returns the path of a source position for messages. */
  pathOf(place: number): string;
}

export interface DatedTables {
  readonly date: string;
  readonly path: string;
  readonly tables: Readonly<Partial<Record<ModelTableName, ModelTable>>>;
}

interface TablePlacement {
  readonly date: string;
  readonly path: string;
  readonly table: string;
  readonly pathOf: (place: number) => string;
}

/** Collection of model tables by date. */
export interface ModelTables {
  /** Returns a table of the last date or of a new, later date. Returns undefined if the date is a problem. */
  tableOf(name: ModelTableName, placement: TablePlacement): ModelTable | undefined;
  readonly dates: readonly DatedTables[];
}

export function createModelTables(problems: ModelProblems): ModelTables {
  const dates: (DatedTables & { readonly tables: Partial<Record<ModelTableName, ModelTable>> })[] = [];
  const refusals = new Set<string>();

  /** Reports a problem, at most once for each date. */
  function refuseDate(code: 'BAD_DATE' | 'OUT_OF_RANGE', { date, path }: TablePlacement, message: string): undefined {
    if (!refusals.has(date)) problems.error({ code, path, message, value: date });
    refusals.add(date);
  }

  return {
    dates,
    tableOf(name, tablePlacement) {
      const { date, path, table, pathOf } = tablePlacement;
      const last = dates.at(-1);
      if (last !== undefined && date < last.date)
        return refuseDate(
          'BAD_DATE',
          tablePlacement,
          `The date ${date} comes after ${last.date}; dates must be ascending.`,
        );
      if (last?.date !== date) {
        if (dates.length === LIMITS.MAX_MODEL_DATES)
          return refuseDate(
            'OUT_OF_RANGE',
            tablePlacement,
            `The maximum is ${LIMITS.MAX_MODEL_DATES} dates; ${date} exceeds it.`,
          );
        dates.push({ date, path, tables: {} });
      }
      return (dates.at(-1)!.tables[name] ??= createTable(table, pathOf));
    },
  };
}

const INITIAL_CELLS = 1024;

/** Number of integers per cell: row, column and position. */
const CELL_INTEGERS = 3;

function createTable(path: string, pathOf: (place: number) => string): ModelTable {
  const rows = new Map<string, number>();
  const columns = new Map<string, number>();
  let integers = new Int32Array(CELL_INTEGERS * INITIAL_CELLS);
  let values = new Float64Array(INITIAL_CELLS);
  let cells = 0;
  return {
    path,
    pathOf,
    rows,
    columns,
    add({ row, column, value, place }) {
      if (cells === values.length) {
        const [earlier, numbers] = [integers, values];
        integers = new Int32Array(2 * earlier.length);
        integers.set(earlier);
        values = new Float64Array(2 * numbers.length);
        values.set(numbers);
      }
      integers.set([addName(rows, row), addName(columns, column), place], CELL_INTEGERS * cells);
      values[cells++] = value;
    },
    each(visit) {
      for (let k = 0, position = 0; k < cells; k++, position += CELL_INTEGERS)
        visit({
          row: integers[position]!,
          column: integers[position + 1]!,
          place: integers[position + 2]!,
          value: values[k]!,
        });
    },
  };
}

function addName(names: Map<string, number>, name: string): number {
  const position = names.get(name) ?? names.size;
  if (position === names.size) names.set(name, position);
  return position;
}

export interface ParsedModel {
  readonly terms: ImportTerms;
  readonly dates: readonly DatedTables[];
}

type Problems = ModelProblems & { take(findings: readonly Finding[]): void };

/** Reads the tables of a model from a JSON body. Returns undefined if the body does not have the required shape. */
export function readModelBody(sentBody: unknown, problems: Problems): ParsedModel | undefined {
  const { value: body, findings } = checkShape(RiskModelImport, sentBody);
  problems.take(findings);
  if (body === undefined) return undefined;
  const { models, ...terms } = body;
  const tables = createModelTables(problems);
  const seenDates = new Set<string>();
  models.forEach((model, k) => {
    const path = `models[${k}]`;
    if (seenDates.has(model.date)) {
      const message = `The date ${model.date} occurs twice.`;
      problems.error({ code: 'DUPLICATE_KEY', path: `${path}.date`, message, value: model.date });
    }
    seenDates.add(model.date);
    const placeTable = (name: ModelTableName, pathOf: (position: number) => string) =>
      tables.tableOf(name, { date: model.date, path, table: `${path}.${name}`, pathOf });
    for (const name of ['covariance', 'exposures', 'factor_covariance'] as const)
      readFrame(model[name], { path: `${path}.${name}`, open: (pathOf) => placeTable(name, pathOf) }, problems);
    readVariances(
      model,
      { path: `${path}.${FACTOR_TABLES[2]}`, open: (pathOf) => placeTable(FACTOR_TABLES[2], pathOf) },
      problems,
    );
    if (MODEL_TABLES.every((name) => model[name] === undefined)) {
      const message = `The model of ${model.date} has no table; covariance is required, or ${FACTOR_TABLES.join(', ')}.`;
      problems.error({ code: 'REQUIRED', path, message, value: model.date });
    }
  });
  return { terms, dates: tables.dates };
}

type Table = DatedTables['tables'][ModelTableName];

interface TableOpener {
  readonly path: string;
  readonly open: (pathOf: (place: number) => string) => Table;
}

function readFrame(frame: ImportedModelDate['covariance'], { path, open }: TableOpener, problems: ModelProblems): void {
  if (frame === undefined) return;
  const { index, columns, data } = frame;
  const formatPath = (place: number): string =>
    `${path}.data[${Math.floor(place / columns.length)}][${place % columns.length}]`;
  const table = open(formatPath);
  if (table === undefined) return;
  if (data.length !== index.length) {
    const message = `${path} has ${data.length} rows of data and ${index.length} labels in index; each row has one label.`;
    problems.error({ code: 'OUT_OF_RANGE', path: `${path}.data`, message });
    return;
  }
  data.forEach((cells, i) => {
    if (cells.length !== columns.length) {
      const message = `The row has ${cells.length} numbers; there are ${columns.length} columns.`;
      problems.error({ code: 'OUT_OF_RANGE', path: `${path}.data[${i}]`, message });
      return;
    }
    cells.forEach((value, j) => {
      const position = i * columns.length + j;
      if (isNumber(value)) table.add({ row: index[i]!, column: columns[j]!, value, place: position });
      else problems.error(reportNotANumber(formatPath(position), value));
    });
  });
}

function readVariances(
  { specific_variances: variances }: ImportedModelDate,
  { path, open }: TableOpener,
  problems: ModelProblems,
): void {
  if (variances === undefined) return;
  const names = Object.keys(variances);
  const formatPath = (place: number): string => `${path}.${names[place]}`;
  const table = open(formatPath);
  names.forEach((row, place) => {
    const value = variances[row];
    if (isNumber(value)) table?.add({ row, column: '', value, place });
    else problems.error(reportNotANumber(formatPath(place), value));
  });
}

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);

/** Reports a cell without a finite number. */
export function reportNotANumber(path: string, value: unknown) {
  const valueText = value === undefined || value === null || value === '' ? 'empty' : String(value).slice(0, 80);
  return {
    code: 'NOT_A_NUMBER',
    path,
    message: `The cell is ${valueText}; a finite number is required.`,
    value,
  } as const;
}
