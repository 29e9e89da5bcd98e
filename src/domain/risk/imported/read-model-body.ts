import {
  FACTOR_TABLES,
  MODEL_TABLES,
  RiskModelImport,
  type ImportedModelDate,
  type ImportTerms,
  type ModelProblems,
  type ModelTableName,
} from './import-terms.js';
import { createModelTables, type DatedTables } from './model-tables.js';
import type { Finding } from '../../refusals/findings.js';
import { checkShape } from '../../schema/shape.js';

/** Parsed model with the units of its numbers. */
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
