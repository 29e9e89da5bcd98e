import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { Refusal } from '#domain/base/refusals.js';
import type { PanelEstimate } from '#domain/risk/estimation.js';
import {
  openPackedMatrix,
  openStoredModel,
  type PackedMatrix,
  type StoredModel,
  type StoredModels,
} from '#domain/risk/stored-models.js';
import type { ModelFile, ModelFiles, StoredMatrix } from '#jobs/tasks/indices.js';
import type { PreparedEstimate } from '#views/risk-estimate.js';

/**
 * Matrix that was read last. It is cached, because a long response is requested in parts. Files are never changed, so
 * that a path identifies its content.
 */
let latestMatrix: { readonly paths: string; readonly at: number; readonly matrix: PackedMatrix } | undefined;

/** Reads a stored matrix, or returns the cached one. @throws Refusal DOCUMENT_UNREADABLE */
export function readStoredMatrix({ paths, order, at }: StoredMatrix): PackedMatrix {
  const from = at ?? 0;
  const key = paths.join();
  if (latestMatrix?.paths === key && latestMatrix.at === from && latestMatrix.matrix.order === order)
    return latestMatrix.matrix;
  const numbers = readStoredDoubles(paths);
  // A file with several matrices has more numbers than one matrix.
  const selectedNumbers = at === undefined ? numbers : numbers.slice(at, at + (order * (order + 1)) / 2);
  latestMatrix = { paths: key, at: from, matrix: openPackedMatrix(selectedNumbers, order) };
  return latestMatrix.matrix;
}

/** Reads the numbers of a stored model from its files, one after another. @throws Refusal DOCUMENT_UNREADABLE */
export function readStoredDoubles(paths: readonly string[]): Float64Array {
  const files: number[] = [];
  try {
    for (const path of paths) files.push(openSync(path, 'r'));
    const sizes = files.map((file) => fstatSync(file).size);
    const bytes = new Uint8Array(sizes.reduce((sum, size) => sum + size, 0));
    let position = 0;
    for (const [i, file] of files.entries()) {
      fill(file, bytes.subarray(position, position + sizes[i]!));
      position += sizes[i]!;
    }
    return new Float64Array(bytes.buffer);
  } catch (cause) {
    throw new Refusal('DOCUMENT_UNREADABLE', 'The stored risk model cannot be read: its numbers are missing.', null, {
      cause,
    });
  } finally {
    files.forEach(closeSync);
  }
}

/** Fills a buffer from a file. @throws Error if the file is shorter */
function fill(file: number, bytes: Uint8Array): void {
  for (let readBytes = 0; readBytes < bytes.length;) {
    const count = readSync(file, bytes, readBytes, bytes.length - readBytes, readBytes);
    if (count === 0) throw new Error(`the file ends after ${readBytes} of ${bytes.length} bytes`);
    readBytes += count;
  }
}

/** Opens the stored risk models of a task. Each is read at its first use. */
export function openModels(files: ModelFiles = {}): StoredModels {
  const openedModels = new Map<string, StoredModel>();
  return (modelId) => {
    const storedModel = openedModels.get(modelId);
    if (storedModel !== undefined) return storedModel;
    const file = files[modelId];
    if (file === undefined) throw new Error(`the task was not given the risk model ${modelId}`);
    const model = openModel(modelId, file);
    openedModels.set(modelId, model);
    return model;
  };
}

const openModel = (modelId: string, { paths, names, observedEnd, dates, factors }: ModelFile): StoredModel =>
  openStoredModel(modelId, {
    names,
    observedEnd,
    dates,
    matrix: () => readStoredMatrix({ paths, order: names.length }),
    numbers: () => readStoredDoubles(paths),
    factors: factors && { names: factors.names, numbers: () => readStoredDoubles([factors.path]) },
  });

/** Opened model without its matrix. */
export interface OpenedModel {
  readonly prepared: PreparedEstimate;
  readonly estimate: PanelEstimate;
  readonly cuts: Int32Array;
  /** Hash of the numbers from which parts are computed. It is the first figure of each part. */
  readonly fingerprint: number;
}

let lastModel: { readonly key: string; readonly model: OpenedModel } | undefined;

/**
 * Returns the model for which this thread computed parts last, if it has this key. Otherwise opens another model. Only
 * one model is kept, because its panel is as large as all its returns.
 */
export function rememberModel(key: string, open: () => OpenedModel): OpenedModel {
  if (lastModel?.key === key) return lastModel.model;
  clearLastModel();
  const model = open();
  lastModel = { key, model };
  return model;
}

/** Releases the model of this thread. */
export function clearLastModel(): void {
  lastModel = undefined;
}
