import { assembleModel, type AssembledModel } from '#domain/risk/imported/assemble-model.js';
import type { ModelProblems } from '#domain/risk/imported/import-terms.js';
import type { DatedTables } from '#domain/risk/imported/model-tables.js';
import { packFactors } from '#domain/risk/packed-factors.js';
import { packUpper } from '#domain/risk/packed-matrix.js';
import { compareText } from '#domain/refusals/findings.js';
import { LIMITS } from '#domain/refusals/limits.js';
import type { Engine } from '#kernels/engines/engine.js';
import type { Task } from '#jobs/tasks.js';
import type { ImportRiskModelInput, ImportedModelDateOutput, ImportedModelOutput } from '#jobs/tasks/risk-models.js';
import type { TaskControl } from '#jobs/thread-messages.js';
import { createProblems, type Problems } from '#market/tables/problems.js';
import { importedFactors } from '#views/factor-model-view.js';
import { onEngine } from '../input/numerics.js';
import { answerBytes } from '../output/hand-over.js';
import { readModelFile } from './read-model-file.js';
import { readModelJson, type ReadModel } from './read-model-json.js';

/** Converts an external model to the stored form, or returns findings. */
export const importModel: Task<'import-risk-model'> = async ({ source }, control) => {
  const problems = createProblems();
  const read = await readModel(source, problems);
  const packed =
    read === undefined || problems.errors > 0
      ? undefined
      : await onEngine((engine) => packModel(engine, read, problems, control));
  return { findings: problems.findings(), model: problems.errors > 0 ? null : (packed ?? null) };
};

async function readModel(source: ImportRiskModelInput['source'], problems: Problems): Promise<ReadModel | undefined> {
  if (source.kind === 'json') return readModelJson(source.bytes, problems);
  const { terms, bytes, ...file } = source;
  const dates = await readModelFile(bytes, file, problems);
  if (dates.length === 0 && problems.errors === 0)
    problems.error({ code: 'EMPTY_DATASET', path: 'model', message: 'The file has no rows; one date is needed.' });
  return { terms, dates };
}

/** Packs every date of a model, one matrix after another. */
function packModel(
  engine: Engine,
  { dates, terms }: ReadModel,
  problems: Problems,
  { report }: TaskControl,
): ImportedModelOutput | undefined {
  const models = assembleDates(engine, { dates, terms }, problems, report);
  if (problems.errors > 0) return undefined;
  const newest = models.at(-1)!; // a model without dates is a problem, which was reported
  const assetIds = [...new Set(models.flatMap(({ identifiers }) => identifiers))].toSorted(compareText);
  const { averageCorrelation, conditionNumber, smallestEigenvalue } = newest;
  return {
    assetIds,
    terms,
    dates: models.map((model) => dateOutput(model, assetIds)),
    covariance: answerBytes(concatenate(models.map(({ upper }) => upper))),
    factors: newest.factors && answerBytes(concatenate(models.map(({ packedFactors }) => packedFactors!))), // every date has factors, or none has
    factorModel: newest.factors && importedFactors(newest.factors),
    newest: { averageCorrelation, conditionNumber, smallestEigenvalue },
  };
}

/** A packed model of one date. */
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
  { dates, terms }: ReadModel,
  problems: Problems,
  report: TaskControl['report'],
): PackedModel[] {
  const models: PackedModel[] = [];
  let numbers = 0;
  for (const [k, tables] of dates.entries()) {
    report(k / dates.length, 'checking');
    const model = engine.scope(() => assembleModel(engine, tables, terms, problems));
    if (model === undefined) continue; // problems of other dates are reported too
    const upper = packUpper(model.covariance, model.identifiers.length);
    numbers += upper.length;
    if (!isWithinNumbers(numbers, tables, problems)) return [];
    assertAlike(models[0], model, tables, problems);
    const { date, identifiers, factors, diagnostics } = model;
    models.push({ date, identifiers, factors, upper, packedFactors: factors && packFactors(factors), ...diagnostics });
  }
  warnOfRepairs(models, problems);
  return models;
}

function isWithinNumbers(numbers: number, { date, path }: DatedTables, problems: ModelProblems): boolean {
  if (numbers <= LIMITS.MAX_MODEL_NUMBERS) return true;
  const message = `The dates up to ${date} have ${numbers} covariances; at most ${LIMITS.MAX_MODEL_NUMBERS} are accepted.`;
  problems.error({ code: 'OUT_OF_RANGE', path, message, value: numbers });
  return false;
}

/** Checks that every date has the factors of the first, or none has any. */
function assertAlike(
  first: Pick<AssembledModel, 'date' | 'factors'> | undefined,
  { factors }: AssembledModel,
  { date, path }: DatedTables,
  problems: ModelProblems,
): void {
  if (first === undefined) return;
  const [wanted, own] = [first.factors, factors].map((of) => (of === null ? 'none' : of.factors.join(', ')));
  if (wanted === own) return;
  const message = `The factors of ${date} are ${own}, those of ${first.date} ${wanted}; every date must have the same factors in the same order.`;
  problems.error({ code: 'NOT_IN_CHOICES', path, message });
}

function warnOfRepairs(models: readonly PackedModel[], problems: ModelProblems): void {
  const repaired = models.filter(({ isRepaired }) => isRepaired).map(({ date }) => date);
  if (repaired.length === 0) return;
  const message = `The model was repaired on ${repaired.length === 1 ? repaired[0] : `${repaired.length} dates, first on ${repaired[0]}`}: covariances differ from the imported ones.`;
  problems.warning({ code: 'OUT_OF_RANGE', path: 'repair', message, value: repaired.length });
}

function dateOutput(
  { date, identifiers, isRepaired, smallestEigenvalue }: PackedModel,
  all: readonly string[],
): ImportedModelDateOutput {
  const own = new Set(identifiers);
  return {
    date,
    assets: identifiers.length,
    repaired: isRepaired,
    smallest_eigenvalue: smallestEigenvalue,
    lacks: all.filter((name) => !own.has(name)),
  };
}

/** Concatenates numbers as bytes. */
function concatenate(parts: readonly Float64Array[]): Uint8Array {
  const numbers = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    numbers.set(part, at);
    at += part.length;
  }
  return new Uint8Array(numbers.buffer);
}
