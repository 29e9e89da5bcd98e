import { createHash } from 'node:crypto';
import { closeSync, openSync, readSync } from 'node:fs';
import type { MadeBytes } from '#base/memory/made-bytes.js';
import { createMarketKey } from '#domain/market/market-identity.js';
import { partPlaces } from '#domain/numbers/even-parts.js';
import { Refusal } from '#domain/refusals/refusal.js';
import { assertFiniteNumbers } from '#domain/risk/estimate-risk-model.js';
import { divideModel, computePartLength } from '#domain/risk/model-parts.js';
import { packFactors } from '#domain/risk/packed-factors.js';
import { describeRange } from '#kernels/moments/estimate-covariance.js';
import {
  averageOfCorrelationSums,
  fillCorrelationSums,
  fillCovarianceRows,
  countTriangleEntries,
  type PanelCovariance,
} from '#kernels/moments/panel-covariance.js';
import type { Task } from '#jobs/tasks.js';
import type { ModelRowsFile, RiskModelSource } from '#jobs/tasks/indices.js';
import { exactNumerics, runOnEngine } from '../input/numerics.js';
import { outputContent, writeOutputs } from '../output/task-outputs.js';
import { hashFile } from '../run-files/run-file.js';
import { forgetModel, rememberedModel, type OpenedModel } from './last-model.js';
import { contentHashOf, openedEstimate } from './opened-estimate.js';

const BYTES = Float64Array.BYTES_PER_ELEMENT;

/** Bytes of a hash that a number holds exactly. */
const FINGERPRINT_BYTES = 6;

/** Share of the work of the sum before the eigenvalues. */
const JOINED = 0.5;

/** Estimates a model without its matrix, in float64 on every node, so that all compute the same bits. */
async function modelOf({ market, universe, request }: RiskModelSource): Promise<OpenedModel> {
  const key = createHash('sha256')
    .update(JSON.stringify([createMarketKey(market), universe, request]))
    .digest('hex');
  return runOnEngine((engine) =>
    rememberedModel(key, () => {
      const prepared = openedEstimate({ market, universe, request });
      const estimate = prepared.panel(engine);
      const cuts = divideModel(estimate.covariance.assets);
      return { prepared, estimate, cuts, fingerprint: fingerprintOf(estimate.covariance) };
    }),
  );
}

function fingerprintOf({ panel, scale, own }: PanelCovariance): number {
  const hash = createHash('sha256');
  for (const numbers of [panel, scale, own]) hash.update(numbers);
  return hash.digest().readUIntBE(0, FINGERPRINT_BYTES);
}

/** Counts the securities that can be estimated. */
export const modelSize: Task<'risk-model-size'> = async (source) => ({
  securities: openedEstimate(source).securities,
});

/** Writes rows of the covariance and their sums of correlations, part by part, while they are computed. */
export const modelRows: Task<'risk-model-rows'> = async ({ parts, outputs, ...source }, control) => {
  control.report(0, 'returns');
  const { estimate, cuts, fingerprint } = await modelOf(source);
  const { covariance, deviations } = estimate;
  const engine = await exactNumerics();
  const lengths = parts.map((part) => computePartLength(covariance.assets, cuts, part));
  const rows: MadeBytes = {
    length: BYTES * lengths.reduce((sum, length) => sum + length, 0),
    *parts() {
      for (const [k, part] of parts.entries()) {
        control.report(k / parts.length, 'product');
        const [from, to] = [cuts[part]!, cuts[part + 1]!];
        const output = new Float64Array(lengths[k]!);
        output[0] = fingerprint;
        const entries = output.subarray(1, output.length - (to - from));
        fillCovarianceRows(engine, covariance, from, to, entries);
        assertFiniteNumbers(entries);
        fillCorrelationSums(entries, from, deviations, output.subarray(1 + entries.length));
        yield new Uint8Array(output.buffer);
      }
    },
  };
  return writeOutputs(outputs, { rows });
};

/** Joins the rows of a model to its matrix, one part at a time in memory, and computes its diagnostics. */
export const sumModel: Task<'sum-risk-model'> = async ({ files, outputs, ...source }, control) => {
  const { prepared, estimate, cuts, fingerprint } = await modelOf(source);
  const { covariance, coverage, factors, intensity } = estimate;
  const { assets } = covariance;
  const sums = new Float64Array(assets);
  for (const file of files) assertWhole(file);
  const places = placesIn(files, assets, cuts);
  const matrix: MadeBytes = {
    length: BYTES * countTriangleEntries(assets, 0, assets),
    *parts() {
      for (const [part, { path, at }] of places.entries()) {
        control.report((JOINED * part) / places.length, 'product');
        const [from, to] = [cuts[part]!, cuts[part + 1]!];
        const numbers = readNumbers(path, at, computePartLength(assets, cuts, part));
        if (numbers[0] !== fingerprint) throw changed();
        const end = numbers.length - (to - from);
        sums.set(numbers.subarray(end), from);
        yield new Uint8Array(numbers.buffer, BYTES, BYTES * (end - 1));
      }
    },
  };
  const packed = factors && outputContent(new Uint8Array(packFactors(factors.model).buffer));
  const written = await writeOutputs(outputs, { covariance: matrix, factors: packed });
  control.report(JOINED, 'eigenvalues');
  const range = await runOnEngine(estimate.eigenvalues);
  forgetModel();
  const diagnostics = {
    intensity,
    averageCorrelation: averageOfCorrelationSums(sums),
    ...describeRange(range, assets),
    isRepaired: false,
  };
  const { factors: _, ...model } = prepared.describe({ coverage, diagnostics, factors });
  const contentHash = contentHashOf(model.assetIds, written.covariance);
  return { ...model, ...written, contentHash, precision: 'float64' };
};

/** Places of the parts in order: file, and first number. */
function placesIn(files: readonly ModelRowsFile[], assets: number, cuts: Int32Array) {
  const offsets = files.map(({ parts }) => {
    let next = 0;
    return parts.map((part) => {
      const at = next;
      next += computePartLength(assets, cuts, part);
      return at;
    });
  });
  return partPlaces(files).first.map(({ output, at }) => ({ path: files[output]!.path, at: offsets[output]![at]! }));
}

/** @throws Refusal DOCUMENT_UNREADABLE */
function assertWhole({ path, sha256 }: ModelRowsFile): void {
  if (hashFile(path) !== sha256) throw damaged();
}

/** @throws Refusal DOCUMENT_UNREADABLE */
function readNumbers(path: string, at: number, length: number): Float64Array<ArrayBuffer> {
  const numbers = new Float64Array(length);
  const bytes = new Uint8Array(numbers.buffer);
  const file = openSync(path, 'r');
  try {
    for (let done = 0; done < bytes.length;) {
      const count = readSync(file, bytes, done, bytes.length - done, BYTES * at + done);
      if (count === 0) throw damaged();
      done += count;
    }
  } finally {
    closeSync(file);
  }
  return numbers;
}

const changed = (): Refusal =>
  new Refusal('STORE_MISMATCH', 'The data or the run changed during the estimate: estimate the model again.');

const damaged = (): Refusal =>
  new Refusal('DOCUMENT_UNREADABLE', 'Rows of the risk model are damaged: estimate the model again.');
