import { readFileSync } from 'node:fs';
import { Refusal } from '#domain/refusal.js';
import { packedMatrix, type PackedMatrix } from '#domain/risk/packed-matrix.js';
import type { Task } from '#jobs/tasks.js';
import type { StoredMatrix } from '#jobs/tasks/indices.js';
import { encodeRiskModel, writeRiskModelPart } from '#views/risk-model-view.js';
import { answerBytes } from './hand-over.js';

/**
 * The matrix read last: a long body is asked for part by part. Files are never written again, so a path names its
 * content.
 */
let latest: { readonly path: string; readonly matrix: PackedMatrix } | undefined;

/** Rows of a frame, or the volatilities, as JSON. */
export const riskModelPart: Task<'risk-model-part'> = ({ part, ...stored }) =>
  answerBytes(writeRiskModelPart(matrixOf(stored), part));

/** The covariance as an Arrow stream with all else in its metadata. */
export const riskModelArrow: Task<'risk-model-arrow'> = ({ assetIds, body, ...stored }) =>
  answerBytes(encodeRiskModel(matrixOf(stored), assetIds, body));

/** @throws Refusal DOCUMENT_UNREADABLE */
function matrixOf({ path, order }: StoredMatrix): PackedMatrix {
  if (latest?.path !== path) latest = { path, matrix: packedMatrix(readDoubles(path), order) };
  return latest.matrix;
}

function readDoubles(path: string): Float64Array {
  try {
    const bytes = readFileSync(path);
    return new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  } catch (cause) {
    throw new Refusal('DOCUMENT_UNREADABLE', 'The stored risk model cannot be read: its matrix is not there.', null, {
      cause,
    });
  }
}
