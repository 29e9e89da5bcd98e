import type { Engine } from '#kernels/engines/engine.js';
import {
  type CovarianceDiagnostics,
  diagnoseCovariance,
  estimateWithDiagnostics,
} from '#kernels/moments/estimate-covariance.js';
import { compareText } from '../base/findings.js';
import { LIMITS } from '../base/limits.js';
import { computeFactorCovariance, createLoadings } from './factors.js';
import type { DatedTables, ModelTable, ParsedModel } from './model-tables.js';
import { FACTOR_TABLES, type FactorModel, type ImportTerms, MODEL_TABLES, type ModelProblems } from './model-terms.js';
import { type ImportedModelPayload } from './risk-models.js';
import { packFactors, packUpper } from './stored-models.js';

/** Relative difference of the two covariances of a pair that counts as rounding. */
const SYMMETRY_TOLERANCE = 1e-9;

/** Table as a dense matrix; NaN for a missing cell. */
export interface DenseTable {
  readonly rows: readonly string[];
  readonly columns: readonly string[];
  /** Values, [rows x columns] row-major. */
  readonly values: Float64Array;
}

interface TableShape {
  readonly rows: readonly string[];
  readonly columns: readonly string[];
}

/**
 * Reads the cells of a table into a matrix in the given order. Duplicate cells are problems. Cells of unknown
 * securities are skipped, because the callers report such securities.
 */
export function createDenseTable(
  table: ModelTable,
  { rows, columns }: TableShape,
  problems: ModelProblems,
): DenseTable {
  const rowPositions = findPositions(table.rows, rows);
  const columnPositions = findPositions(table.columns, columns);
  const values = new Float64Array(rows.length * columns.length).fill(Number.NaN);
  table.each(({ row, column, value, place }) => {
    const [i, j] = [rowPositions[row]!, columnPositions[column]!];
    if (i < 0 || j < 0) return; // callers report unknown securities
    const position = i * columns.length + j;
    if (values[position] === values[position]) {
      const [name, other] = [rows[i]!, columns[j]!];
      const message = `The value of ${name}${other === '' ? '' : ` and ${other}`} occurs twice: ${values[position]} and ${value}.`;
      problems.error({ code: 'DUPLICATE_KEY', path: table.pathOf(place), message, value: name });
    } else values[position] = value;
  });
  return { rows, columns, values };
}

function findPositions(names: ReadonlyMap<string, number>, order: readonly string[]): Int32Array {
  const positionByName = new Map(order.map((name, place) => [name, place]));
  return Int32Array.from(names.keys(), (name) => positionByName.get(name) ?? -1);
}

/** Reads a table and requires a value in every cell. */
function createFullTable(table: ModelTable, shape: TableShape, problems: ModelProblems): DenseTable {
  const denseTable = createDenseTable(table, shape, problems);
  const { rows, columns, values } = denseTable;
  rows.forEach((row, i) =>
    columns.forEach((column, j) => {
      if (values[i * columns.length + j] === values[i * columns.length + j]) return;
      problems.error({ code: 'REQUIRED', path: table.path, message: formatMissing(row, column), value: row });
    }),
  );
  return denseTable;
}

const formatMissing = (row: string, column: string): string =>
  `There is no value for ${row}${column === '' ? '' : ` and ${column}`}.`;

/** Returns the row and column names of a covariance table, ascending. */
function listTableNames({ rows, columns }: ModelTable): string[] {
  return [...new Set([...rows.keys(), ...columns.keys()])].toSorted(compareText);
}

interface SymmetricTerms {
  readonly names: readonly string[];
  /** True to replace two differing covariances of a pair by their mean. */
  readonly repair: boolean;
}

export interface SymmetricTable {
  /** Covariances, [names x names], exactly symmetric. */
  readonly values: Float64Array;
  /** Number of pairs whose covariances differed by more than rounding. */
  readonly repaired: number;
}

/** Reads a covariance table. One triangle of the matrix is enough. A negative variance is always a problem. */
function createSymmetricTable(
  table: ModelTable,
  { names, repair }: SymmetricTerms,
  problems: ModelProblems,
): SymmetricTable {
  const { values } = createDenseTable(table, { rows: names, columns: names }, problems);
  const n = names.length;
  const reportCell = (code: 'REQUIRED' | 'OUT_OF_RANGE', message: string, value: unknown): void =>
    problems.error({ code, path: table.path, message, value });
  let repairCount = 0;
  for (let i = 0; i < n; i++) {
    const variance = values[i * n + i]!;
    if (variance < 0)
      reportCell('OUT_OF_RANGE', `The variance of ${names[i]} is ${variance}; it must be at least 0.`, names[i]);
    for (let j = i; j < n; j++) {
      const [above, below] = [values[i * n + j]!, values[j * n + i]!];
      const presentValue = above === above ? above : below;
      if (presentValue !== presentValue) reportCell('REQUIRED', formatMissing(names[i]!, names[j]!), names[i]);
      const isApart = Math.abs(above - below) > SYMMETRY_TOLERANCE * Math.sqrt(Math.abs(variance * values[j * n + j]!));
      if (isApart) repairCount++;
      if (isApart && !repair)
        reportCell(
          'OUT_OF_RANGE',
          `The covariance of ${names[i]} and ${names[j]} is ${above}, and that of ${names[j]} and ${names[i]} ${below}; repair uses their mean.`,
          names[i],
        );
      // Uses the mean of both values. If only one of them is present, uses that one.
      const mean = above !== below && below === below && above === above ? (above + below) / 2 : presentValue;
      values[i * n + j] = mean;
      values[j * n + i] = mean;
    }
  }
  return { values, repaired: repairCount };
}

interface AssembledModel {
  readonly date: string;
  /** Securities, ascending, [n]. */
  readonly identifiers: readonly string[];
  /** Annual covariance, [n x n], exactly symmetric. */
  readonly covariance: Float64Array;
  /** Factor model; null for a covariance without factors. */
  readonly factors: FactorModel | null;
  readonly diagnostics: Omit<CovarianceDiagnostics, 'intensity'>;
}

type Diagnostics = AssembledModel['diagnostics'];

/** Maximum number of securities listed in findings. */
const NAMED_MAX = 5;

/**
 * Checks the tables of a date and computes the annual covariance. Must run inside an engine scope.
 * @returns undefined if there is a problem
 * @cost of the eigenvalues: 4/3 n^3 for covariances, n K^2 for factors
 */
function assembleModel(
  engine: Engine,
  tables: DatedTables,
  terms: ImportTerms,
  problems: ModelProblems,
): AssembledModel | undefined {
  const before = problems.errors;
  assertTables(tables, problems);
  if (problems.errors > before) return undefined;
  const { covariance } = tables.tables;
  const model =
    covariance === undefined
      ? assembleFromFactors(engine, tables, terms, problems)
      : assembleFromCovariance(engine, { date: tables.date, table: covariance }, terms, problems);
  if (model === undefined || problems.errors > before) return undefined;
  warnOfUnits(model, tables.path, terms, problems);
  return model;
}

/** Requires either a covariance table and no other, or the three factor tables. */
function assertTables({ date, path, tables }: DatedTables, problems: ModelProblems): void {
  const presentTables = MODEL_TABLES.filter((name) => tables[name] !== undefined);
  const isWhole =
    tables.covariance === undefined ? presentTables.length === FACTOR_TABLES.length : presentTables.length === 1;
  if (isWhole) return;
  const message = `The model of ${date} has ${presentTables.length === 0 ? 'no table' : presentTables.join(' and ')}; either covariance or ${FACTOR_TABLES.join(', ')} is required.`;
  problems.error({ code: 'REQUIRED', path, message, value: presentTables });
}

function assembleFromCovariance(
  engine: Engine,
  { date, table }: { readonly date: string; readonly table: ModelTable },
  { repair, ...terms }: ImportTerms,
  problems: ModelProblems,
): AssembledModel | undefined {
  const identifiers = listTableNames(table);
  if (!isWithinSize(identifiers.length, table, problems)) return undefined;
  const before = problems.errors;
  const { values, repaired } = createSymmetricTable(table, { names: identifiers, repair }, problems);
  if (problems.errors > before) return undefined;
  const covariance = scaleToAnnual(values, terms);
  const diagnostics = requireSemidefinite(engine, { matrix: covariance, repair, table, what: 'covariance' }, problems);
  return { date, identifiers, covariance, factors: null, diagnostics: addRepairs(diagnostics, repaired) };
}

/** Computes the covariance B F B' + D from the factor tables, as for an estimated factor model. */
function assembleFromFactors(
  engine: Engine,
  { date, tables }: DatedTables,
  { repair, ...terms }: ImportTerms,
  problems: ModelProblems,
): AssembledModel | undefined {
  const [exposures, table, variances] = FACTOR_TABLES.map((name) => tables[name]!) as [
    ModelTable,
    ModelTable,
    ModelTable,
  ]; // present, because `assertTables` requires it
  const identifiers = [...exposures.rows.keys()].toSorted(compareText);
  const factors = [...exposures.columns.keys()];
  if (!isWithinSize(identifiers.length, exposures, problems) || !hasFactors(factors.length, exposures, problems))
    return undefined;
  const before = problems.errors;
  for (const names of [table.rows, table.columns])
    assertKnownSecurities(names, factors, { table, what: 'factor' }, problems);
  assertKnownSecurities(variances.rows, identifiers, { table: variances, what: 'security' }, problems);
  const { values: B } = createFullTable(exposures, { rows: identifiers, columns: factors }, problems);
  const { values: D } = createFullTable(variances, { rows: identifiers, columns: [''] }, problems);
  const F = createSymmetricTable(table, { names: factors, repair }, problems);
  D.forEach((variance, i) => {
    if (!(variance < 0)) return;
    const message = `The specific variance of ${identifiers[i]} is ${variance}; it must be at least 0.`;
    problems.error({ code: 'OUT_OF_RANGE', path: variances.path, message, value: identifiers[i] });
  });
  if (problems.errors > before) return undefined;
  const matrix = scaleToAnnual(F.values, terms);
  const factorCheck = requireSemidefinite(engine, { matrix, repair, table, what: 'factor covariance' }, problems);
  if (problems.errors > before) return undefined;
  const model = { factors, exposures: B, covariance: matrix, specific: scaleToAnnual(D, terms) };
  const n = identifiers.length;
  const covariance = new Float64Array(n * n);
  computeFactorCovariance(engine, model, covariance);
  const modelParts = { loadings: createLoadings(model), specific: model.specific };
  const diagnostics = estimateWithDiagnostics(engine, covariance, modelParts);
  const repairCount = F.repaired + (factorCheck.isRepaired ? 1 : 0);
  return { date, identifiers, covariance, factors: model, diagnostics: addRepairs(diagnostics, repairCount) };
}

const addRepairs = (diagnostics: Diagnostics, repaired: number): Diagnostics =>
  repaired === 0 ? diagnostics : { ...diagnostics, isRepaired: true };

/** Converts variances and covariances to annual numbers. */
function scaleToAnnual(values: Float64Array, { units, annualisation }: Omit<ImportTerms, 'repair'>): Float64Array {
  return units === 'annual' ? values : values.map((value) => annualisation * value);
}

interface MatrixCheck {
  readonly matrix: Float64Array;
  readonly repair: boolean;
  readonly table: ModelTable;
  readonly what: string;
}

/**
 * Returns the diagnostics of a matrix without negative eigenvalues. On request, repairs negative eigenvalues; otherwise
 * reports a problem.
 */
function requireSemidefinite(
  engine: Engine,
  { matrix, repair, table, what }: MatrixCheck,
  problems: ModelProblems,
): Diagnostics {
  const diagnostics = diagnoseCovariance(engine, matrix, { repair });
  if (!diagnostics.isPositiveSemiDefinite)
    problems.error({
      code: 'OUT_OF_RANGE',
      path: table.path,
      message: `The ${what} is not positive semi-definite: its smallest eigenvalue is ${diagnostics.smallestEigenvalue} per year, but must be at least 0; repair replaces negative eigenvalues by 0.`,
      value: diagnostics.smallestEigenvalue,
    });
  return diagnostics;
}

function isWithinSize(count: number, { path }: ModelTable, problems: ModelProblems): boolean {
  if (count >= 1 && count <= LIMITS.MAX_MODEL_SECURITIES) return true;
  const message = `The model has ${count} securities; 1 to ${LIMITS.MAX_MODEL_SECURITIES} are accepted.`;
  problems.error({ code: 'OUT_OF_RANGE', path, message, value: count });
  return false;
}

function hasFactors(count: number, { path }: ModelTable, problems: ModelProblems): boolean {
  if (count <= LIMITS.MAX_MODEL_FACTORS) return true;
  const message = `The model has ${count} factors; at most ${LIMITS.MAX_MODEL_FACTORS} are accepted.`;
  problems.error({ code: 'OUT_OF_RANGE', path, message, value: count });
  return false;
}

function assertKnownSecurities(
  names: ReadonlyMap<string, number>,
  exposureNames: readonly string[],
  { table, what }: { readonly table: ModelTable; readonly what: string },
  problems: ModelProblems,
): void {
  const knownNames = new Set(exposureNames);
  const unknownNames = [...names.keys()].filter((name) => !knownNames.has(name));
  for (const name of unknownNames.slice(0, NAMED_MAX)) {
    const message = `The ${what} ${name} has no exposures; exposures exist for ${exposureNames.slice(0, NAMED_MAX).join(', ')}${exposureNames.length > NAMED_MAX ? ' and others' : ''}.`;
    problems.error({ code: 'UNKNOWN_FIELD', path: table.path, message, value: name });
  }
}

/** Range of plausible median annual volatilities, for a check of units. */
const VOLATILITY_MIN = 0.02;
const VOLATILITY_MAX = 3;

/** Warns about a median volatility that suggests wrong units. */
function warnOfUnits(
  { identifiers, covariance, date }: AssembledModel,
  path: string,
  { units }: ImportTerms,
  problems: ModelProblems,
): void {
  const n = identifiers.length;
  const volatilities = Float64Array.from(identifiers, (_, i) => Math.sqrt(covariance[i * (n + 1)]!)).toSorted();
  const median = volatilities[Math.floor(n / 2)]!;
  if (median === 0 || (median >= VOLATILITY_MIN && median <= VOLATILITY_MAX)) return;
  const message = `The median volatility of ${date} is ${Number((100 * median).toPrecision(4))}% per year with ${units} units; ${100 * VOLATILITY_MIN} to ${100 * VOLATILITY_MAX}% are usual.`;
  problems.warning({ code: 'OUT_OF_RANGE', path, message, value: median });
}

type PackedDate = ImportedModelPayload['dates'][number];
type Report = (fraction: number, message: string) => void;

export interface PackedImport {
  /** Securities of all dates, ascending. */
  readonly assetIds: readonly string[];
  readonly terms: ImportTerms;
  readonly dates: readonly PackedDate[];
  /** Packed matrices of all dates, concatenated. */
  readonly covariance: Float64Array<ArrayBuffer>;
  /** Packed factor models of all dates, concatenated; null for covariances without factors. */
  readonly factors: Float64Array<ArrayBuffer> | null;
  readonly factorModel: FactorModel | null;
  readonly newest: Pick<AssembledModel['diagnostics'], 'averageCorrelation' | 'conditionNumber' | 'smallestEigenvalue'>;
}

/** Packs all dates of a model, in ascending order. Returns undefined if there is a problem. */
export function packModel(
  engine: Engine,
  { dates, terms }: ParsedModel,
  problems: ModelProblems,
  report: Report = () => {},
): PackedImport | undefined {
  const models = assembleDates(engine, { dates, terms }, problems, report);
  if (problems.errors > 0) return undefined;
  const newest = models.at(-1)!; // a model without dates is a problem
  const assetIds = [...new Set(models.flatMap(({ identifiers }) => identifiers))].toSorted(compareText);
  const { averageCorrelation, conditionNumber, smallestEigenvalue } = newest;
  return {
    assetIds,
    terms,
    dates: models.map((model) => createDateOutput(model, assetIds)),
    covariance: joinParts(models.map(({ upper }) => upper)),
    factors: newest.factors && joinParts(models.map(({ packedFactors }) => packedFactors!)), // either every date has factors, or no date has
    factorModel: newest.factors,
    newest: { averageCorrelation, conditionNumber, smallestEigenvalue },
  };
}

interface PackedModel extends Pick<AssembledModel, 'date' | 'identifiers' | 'factors'> {
  readonly upper: Float64Array<ArrayBuffer>;
  readonly packedFactors: Float64Array<ArrayBuffer> | null;
  readonly averageCorrelation: number;
  readonly conditionNumber: number;
  readonly smallestEigenvalue: number;
  readonly isRepaired: boolean;
}

function assembleDates(
  engine: Engine,
  { dates, terms }: ParsedModel,
  problems: ModelProblems,
  report: Report,
): PackedModel[] {
  const models: PackedModel[] = [];
  let numbers = 0;
  for (const [k, tables] of dates.entries()) {
    report(k / dates.length, 'checking');
    const model = engine.scope(() => assembleModel(engine, tables, terms, problems));
    if (model === undefined) continue; // continue, so that problems of later dates are reported as well
    const upper = packUpper(model.covariance, model.identifiers.length);
    numbers += upper.length;
    if (!isWithinNumbers(numbers, tables, problems)) return [];
    assertSameFactors(models[0], model, tables, problems);
    const { date, identifiers, factors, diagnostics } = model;
    models.push({ date, identifiers, factors, upper, packedFactors: factors && packFactors(factors), ...diagnostics });
  }
  warnOfRepairs(models, problems);
  return models;
}

function isWithinNumbers(numberCount: number, { date, path }: DatedTables, problems: ModelProblems): boolean {
  if (numberCount <= LIMITS.MAX_MODEL_NUMBERS) return true;
  const message = `The dates up to ${date} have ${numberCount} covariances; at most ${LIMITS.MAX_MODEL_NUMBERS} are accepted.`;
  problems.error({ code: 'OUT_OF_RANGE', path, message, value: numberCount });
  return false;
}

/** Requires that every date has the factors of the first date. If the first date has none, no date may have factors. */
function assertSameFactors(
  first: Pick<AssembledModel, 'date' | 'factors'> | undefined,
  { factors }: AssembledModel,
  { date, path }: DatedTables,
  problems: ModelProblems,
): void {
  if (first === undefined) return;
  const [wanted, own] = [first.factors, factors].map((factorModel) =>
    factorModel === null ? 'none' : factorModel.factors.join(', '),
  );
  if (wanted === own) return;
  const message = `The factors on ${date} are ${own}, those on ${first.date} ${wanted}; all dates must have the same factors in the same order.`;
  problems.error({ code: 'NOT_IN_CHOICES', path, message });
}

function warnOfRepairs(models: readonly PackedModel[], problems: ModelProblems): void {
  const repairedDates = models.filter(({ isRepaired }) => isRepaired).map(({ date }) => date);
  if (repairedDates.length === 0) return;
  const message = `The model was repaired on ${repairedDates.length === 1 ? repairedDates[0] : `${repairedDates.length} dates, first on ${repairedDates[0]}`}: covariances differ from those that were sent.`;
  problems.warning({ code: 'OUT_OF_RANGE', path: 'repair', message, value: repairedDates.length });
}

function createDateOutput(
  { date, identifiers, isRepaired, smallestEigenvalue }: PackedModel,
  all: readonly string[],
): PackedDate {
  const identifierSet = new Set(identifiers);
  return {
    date,
    assets: identifiers.length,
    repaired: isRepaired,
    smallest_eigenvalue: smallestEigenvalue,
    lacks: all.filter((name) => !identifierSet.has(name)),
  };
}

function joinParts(parts: readonly Float64Array[]): Float64Array<ArrayBuffer> {
  const numbers = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let position = 0;
  for (const part of parts) {
    numbers.set(part, position);
    position += part.length;
  }
  return numbers;
}
