import type { Engine } from '#kernels/engines/engine.js';
import { compareText } from '../../refusals/findings.js';
import { LIMITS } from '../../refusals/limits.js';
import type { FactorModel } from '../factor-model.js';
import { packFactors } from '../packed-factors.js';
import { packUpper } from '../packed-matrix.js';
import type { ImportedModelPayload } from '../risk-model-document.js';
import { assembleModel, type AssembledModel } from './assemble-model.js';
import type { ImportTerms, ModelProblems } from './import-terms.js';
import type { DatedTables } from './model-tables.js';
import type { ParsedModel } from './read-model-body.js';

type PackedDate = ImportedModelPayload['dates'][number];
type Report = (fraction: number, message: string) => void;

/** Imported model in its stored form. */
export interface PackedImport {
  /** Securities of all dates, ascending. */
  readonly assetIds: readonly string[];
  readonly terms: ImportTerms;
  readonly dates: readonly PackedDate[];
  /** Packed matrices of all dates, concatenated. */
  readonly covariance: Float64Array<ArrayBuffer>;
  /** Packed factor models of all dates, concatenated; null for covariances without factors. */
  readonly factors: Float64Array<ArrayBuffer> | null;
  /** Factor model of the newest date. */
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

/** Packed model of one date. */
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

/** Concatenates arrays. */
function joinParts(parts: readonly Float64Array[]): Float64Array<ArrayBuffer> {
  const numbers = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let position = 0;
  for (const part of parts) {
    numbers.set(part, position);
    position += part.length;
  }
  return numbers;
}
