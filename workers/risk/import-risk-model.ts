import { parseJson } from '#domain/json/parse-json.js';
import { packModel, type PackedImport } from '#domain/risk/imported/pack-model.js';
import { readModelBody, type ParsedModel } from '#domain/risk/imported/read-model-body.js';
import type { Task } from '#jobs/tasks.js';
import type { ImportRiskModelInput, ImportedModelOutput } from '#jobs/tasks/risk-models.js';
import { createProblems, type Problems } from '#market/tables/problems.js';
import { toImportedFactors } from '#views/factor-model-view.js';
import { runOnEngine } from '../input/numerics.js';
import { answerBytes } from '../output/hand-over.js';
import { readModelFile } from './read-model-file.js';

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
