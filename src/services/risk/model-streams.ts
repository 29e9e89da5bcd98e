import { toCanonicalJson } from '#domain/json/canonical-json.js';
import type { RiskModelDocument } from '#domain/risk/risk-model-document.js';
import type { RiskModelPart } from '#domain/risk/risk-model-part.js';
import type { Jobs } from '#jobs/job-kind.js';
import type { ArtifactStore } from '#store/port.js';
import { resolveMatrixPaths } from '../stored/matrix-paths.js';
import {
  createExportTerms,
  listServedModels,
  streamPieces,
  createStream,
  type ServedModel,
} from './risk-model-views.js';

/** Streams of stored models. Threads generate the parts of a stream while it is read. */
export interface ModelStreams {
  /** Returns the files with a model's covariance. They are an input of tasks. */
  readMatrix(
    document: RiskModelDocument,
    servedModel: ServedModel,
  ): Promise<{ readonly paths: readonly string[]; readonly order: number; readonly at?: number }>;
  /** Returns a RiskModelView as JSON. */
  streamModel(document: RiskModelDocument, servedModel: ServedModel, signal?: AbortSignal): ReadableStream<Uint8Array>;
  /** Returns a model in the import format, one date after another. */
  streamImport(document: RiskModelDocument, signal?: AbortSignal): ReadableStream<Uint8Array>;
}

export function createModelStreams({
  artifacts,
  jobs,
}: {
  readonly artifacts: ArtifactStore;
  readonly jobs: Jobs;
}): ModelStreams {
  const readMatrix = async ({ covariance }: RiskModelDocument, { assetIds, at }: ServedModel) => ({
    paths: await resolveMatrixPaths(artifacts, covariance),
    order: assetIds.length,
    ...(at === undefined ? {} : { at }),
  });

  function streamModel(
    document: RiskModelDocument,
    servedModel: ServedModel,
    signal?: AbortSignal,
  ): ReadableStream<Uint8Array> {
    const write = async (part: RiskModelPart) =>
      (await jobs.query('risk-model-part', { ...(await readMatrix(document, servedModel)), part }, signal)).bytes;
    return createStream(streamPieces(document, servedModel, write));
  }

  async function* importPieces(
    document: RiskModelDocument,
    signal?: AbortSignal,
  ): AsyncGenerator<Uint8Array, undefined> {
    const { factors, factor_model: factorModel } = document;
    const encoder = new TextEncoder();
    yield encoder.encode(`${toCanonicalJson(createExportTerms(document)).slice(0, -1)},"models":[`);
    for (const [k, served] of listServedModels(document).entries()) {
      const ownFiles =
        factors === undefined || factorModel === undefined
          ? null
          : {
              path: await artifacts.file(factors),
              at: served.factorsAt,
              names: factorModel.factors.map(({ factor }) => factor),
            };
      const input = {
        ...(await readMatrix(document, served)),
        date: served.date,
        names: served.assetIds,
        factors: ownFiles,
      };
      if (k > 0) yield encoder.encode(',');
      yield (await jobs.query('export-risk-model', input, signal)).bytes;
    }
    yield encoder.encode(']}');
    return undefined;
  }

  return {
    readMatrix,
    streamModel,
    streamImport: (document, signal) => createStream(importPieces(document, signal)),
  };
}
