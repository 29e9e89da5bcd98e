import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createMarketKey } from '#domain/market/market-identity.js';
import { locateParts } from '#domain/numbers/even-parts.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { assertFiniteNumbers } from '#domain/risk/estimate-risk-model.js';
import { EIGENVALUES_PART, countPartFigures, divideModel } from '#domain/risk/model-parts.js';
import { packFactors } from '#domain/risk/packed-factors.js';
import type { EigenvalueRange } from '#kernels/algebra/eigenvalue-range.js';
import { describeRange } from '#kernels/moments/estimate-covariance.js';
import {
  averageCorrelationSums,
  fillCorrelationSums,
  fillCovarianceRows,
  countTriangleEntries,
  type PanelCovariance,
} from '#kernels/moments/panel-covariance.js';
import type { Task } from '#jobs/tasks.js';
import type { ModelFiguresFile, RiskModelSource } from '#jobs/tasks/indices.js';
import type { ArtifactRef } from '#store/port.js';
import { openExactNumerics, runOnEngine } from '../input/numerics.js';
import { copyOutput, writeOutputs } from '../output/task-outputs.js';
import { clearLastModel, rememberModel, type OpenedModel } from './last-model.js';
import { computeContentHash, openEstimate } from './opened-estimate.js';

/** Number of bytes of a hash that a double can represent exactly. */
const FINGERPRINT_BYTES = 6;

/**
 * Estimates a model without its matrix. Uses float64 on every node, so that all nodes compute bit-identical results.
 */
async function estimateModel({ market, universe, request }: RiskModelSource): Promise<OpenedModel> {
  const key = createHash('sha256')
    .update(JSON.stringify([createMarketKey(market), universe, request]))
    .digest('hex');
  return runOnEngine((engine) =>
    rememberModel(key, () => {
      const preparedEstimate = openEstimate({ market, universe, request });
      const estimate = preparedEstimate.panel(engine);
      const cuts = divideModel(estimate.covariance.assets);
      return { prepared: preparedEstimate, estimate, cuts, fingerprint: computeFingerprint(estimate.covariance) };
    }),
  );
}

function computeFingerprint({ panel, scale, addedVariances }: PanelCovariance): number {
  const hash = createHash('sha256');
  for (const numbers of [panel, scale, addedVariances]) hash.update(numbers);
  return hash.digest().readUIntBE(0, FINGERPRINT_BYTES);
}

/** Counts the securities that can be estimated. */
export const readModelSize: Task<'risk-model-size'> = async (source) => ({
  securities: openEstimate(source).securities,
});

/**
 * Computes parts of a model. Writes the rows of each part's covariance as a file of the matrix, and the figures of all
 * parts as another file.
 */
export const writeModelParts: Task<'risk-model-parts'> = async ({ parts, outputs, ...source }, control) => {
  control.report(0, 'returns');
  const model = await estimateModel(source);
  const { destination, names } = outputs;
  const rows: ArtifactRef[] = [];
  const figures: Float64Array[] = [];
  for (const [k, part] of parts.entries()) {
    const partFigures = new Float64Array(countPartFigures(model.cuts, part));
    partFigures[0] = model.fingerprint;
    figures.push(partFigures);
    control.report(k / parts.length, part === EIGENVALUES_PART ? 'eigenvalues' : 'product');
    if (part === EIGENVALUES_PART) await fillEigenvalues(model, partFigures.subarray(1));
    else {
      const bytes = await computeRows(model, part, partFigures.subarray(1));
      const outputRefs = await writeOutputs({ destination, names: { rows: names[`rows ${part}`]! } }, { rows: bytes });
      rows.push(outputRefs.rows);
    }
  }
  return { ...(await writeOutputs(outputs, { figures: joinPieces(figures) })), rows };
};

/** Computes rows of the covariance. @param sums overwritten with the sums of correlations of these rows */
async function computeRows(
  { estimate: { covariance, deviations }, cuts }: OpenedModel,
  part: number,
  sums: Float64Array,
): Promise<Uint8Array<ArrayBuffer>> {
  const [from, to] = [cuts[part]!, cuts[part + 1]!];
  const entries = new Float64Array(countTriangleEntries(covariance.assets, from, to));
  fillCovarianceRows(await openExactNumerics(), covariance, from, to, entries);
  assertFiniteNumbers(entries);
  fillCorrelationSums(entries, from, deviations, sums);
  return new Uint8Array(entries.buffer);
}

/** Computes the extreme eigenvalues. @param ends overwritten with the smallest and the largest eigenvalue */
async function fillEigenvalues({ estimate }: OpenedModel, ends: Float64Array): Promise<void> {
  assertFiniteNumbers(estimate.deviations);
  const { smallest, largest } = await runOnEngine(estimate.eigenvalues);
  ends.set([smallest, largest]);
}

function joinPieces(pieces: readonly Float64Array[]): Uint8Array<ArrayBuffer> {
  const numbers = new Float64Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let position = 0;
  for (const piece of pieces) {
    numbers.set(piece, position);
    position += piece.length;
  }
  return new Uint8Array(numbers.buffer);
}

/** Computes the diagnostics of a model from the figures of its parts. Does not read the matrix. */
export const sumModel: Task<'sum-risk-model'> = async ({ files, covariance, outputs, ...source }) => {
  const { prepared, estimate, cuts, fingerprint } = await estimateModel(source);
  const { coverage, factors, intensity } = estimate;
  const { assets } = estimate.covariance;
  const sums = new Float64Array(assets);
  let range: EigenvalueRange | undefined;
  for (const { part, figures } of readFigures(files, cuts)) {
    if (figures[0] !== fingerprint) throw refuseChanged();
    if (part === EIGENVALUES_PART) range = { smallest: figures[1]!, largest: figures[2]! };
    else sums.set(figures.subarray(1), cuts[part]);
  }
  const packedFactors = factors && copyOutput(new Uint8Array(packFactors(factors.model).buffer));
  const outputRefs = await writeOutputs(outputs, { factors: packedFactors });
  clearLastModel();
  const diagnostics = {
    intensity,
    averageCorrelation: averageCorrelationSums(sums),
    ...describeRange(range!, assets), // a job computes all parts
    isRepaired: false,
  };
  const { factors: _, ...model } = prepared.describe({ coverage, diagnostics, factors });
  const contentHash = computeContentHash(model.assetIds, covariance);
  return { ...model, ...outputRefs, covariance, contentHash, precision: 'float64' };
};

/** Returns the figures of each part, in the order of the parts. @throws Refusal DOCUMENT_UNREADABLE */
function readFigures(files: readonly ModelFiguresFile[], cuts: Int32Array) {
  const outputs = files.map(({ path, sha256, parts }) => {
    const bytes = Uint8Array.from(readFileSync(path));
    if (createHash('sha256').update(bytes).digest('hex') !== sha256) throw refuseDamaged();
    const numbers = new Float64Array(bytes.buffer);
    let next = 0;
    return parts.map((part) => numbers.subarray(next, (next += countPartFigures(cuts, part))));
  });
  return locateParts(files).first.map(({ part, output, at }) => ({ part, figures: outputs[output]![at]! }));
}

const refuseChanged = (): Refusal =>
  new Refusal('STORE_MISMATCH', 'The data or the run changed during the estimate: estimate the model again.');

const refuseDamaged = (): Refusal =>
  new Refusal('DOCUMENT_UNREADABLE', 'Parts of the risk model are damaged: estimate the model again.');
