import type { Engine } from '#kernels/engines/engine.js';
import {
  diagnoseCovariance,
  estimateWithDiagnostics,
  type CovarianceDiagnostics,
} from '#kernels/moments/estimate-covariance.js';
import { compareText } from '../../refusals/findings.js';
import { LIMITS } from '../../refusals/limits.js';
import type { FactorModel } from '../factor-model.js';
import { computeFactorCovariance, createLoadings } from '../factors/estimate-factors.js';
import { createFullTable, listTableNames, createSymmetricTable } from './dense-table.js';
import { FACTOR_TABLES, MODEL_TABLES, type ImportTerms, type ModelProblems } from './import-terms.js';
import type { DatedTables, ModelTable } from './model-tables.js';

/** Imported model of one date. */
export interface AssembledModel {
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
export function assembleModel(
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

interface CovarianceTable {
  readonly date: string;
  readonly table: ModelTable;
}

function assembleFromCovariance(
  engine: Engine,
  { date, table }: CovarianceTable,
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

/** Reports securities or factors of a table that have no exposures. */
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
