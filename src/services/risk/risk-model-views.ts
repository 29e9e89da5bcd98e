import type { RiskModelCollection, RiskModelView } from '#contract/risk-models.js';
import { reportUnreadFields } from '#domain/documents/idle-settings.js';
import { toCanonicalJson } from '#domain/json/canonical-json.js';
import { sortFindings, type Finding } from '#domain/refusals/findings.js';
import { LIMITS } from '#domain/refusals/limits.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';
import { findPart, groupPartsByDate } from '#domain/risk/imported/model-dates.js';
import { readModelSource, toServedDiagnostics, type RiskModelDocument } from '#domain/risk/risk-model-document.js';
import type { RiskModelPart } from '#domain/risk/risk-model-part.js';

/** Response with the risk model of one date. */
export interface ServedModel {
  readonly date: string;
  /** Securities in the order of the model's matrix. */
  readonly assetIds: readonly string[];
  /** Position of the matrix in its file, counted in numbers. Absent if the file contains only one matrix. */
  readonly at?: number;
  /** Position of the factors in their file, counted in numbers. */
  readonly factorsAt: number;
}

/** Returns the models of a document in ascending order of dates. An estimated model has one date. */
export function listServedModels({
  asset_ids: assetIds,
  observed_end: date,
  imported,
  factor_model: factorModel,
}: RiskModelDocument): ServedModel[] {
  if (imported === undefined) return [{ date, assetIds, factorsAt: 0 }];
  return groupPartsByDate(assetIds, imported.dates, factorModel?.factors.length ?? 0).map(({ names, ...part }) => ({
    ...part,
    assetIds: names,
  }));
}

/**
 * Returns the model that is valid on a date. If no date is given, returns the newest model. @throws Refusal
 * NO_DATA_AT_DATE, VALIDATION_FAILED
 */
export function findServedModel(document: RiskModelDocument, date?: string): ServedModel {
  const { model_id: modelId, imported } = document;
  const models = listServedModels(document);
  const newestModel = models.at(-1)!; // a document has at least one model
  if (date === undefined) return newestModel;
  if (imported === undefined) {
    const message = `The risk model ${modelId} is estimated, and has one matrix; date is read with an imported model.`;
    throw refuseWithFindings('query', [
      { severity: 'error', code: 'UNKNOWN_FIELD', path: 'date', message, value: date },
    ]);
  }
  const result = findPart(models, date);
  if (result !== undefined) return result;
  const message = `The risk model ${modelId} begins on ${models[0]!.date}; it has no model of ${date}.`;
  throw new Refusal('NO_DATA_AT_DATE', message, { model_id: modelId, first_date: models[0]!.date });
}

/** Returns the settings of an export. The numbers of an export are annual. */
export const createExportTerms = ({ imported }: RiskModelDocument) => ({
  units: 'annual',
  annualisation: imported?.annualisation ?? LIMITS.PERIODS_PER_YEAR,
  repair: false,
});

/** Creates a stream that asks for the next chunk only when it is read. */
export function createStream(chunks: AsyncGenerator<Uint8Array, undefined>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: () => void chunks.return(undefined),
  });
}

/** Number of matrix elements that are written at a time. They make a chunk of about 2 MB. */
const NUMBERS_PER_PART = 100_000;

export function createSummary(document: RiskModelDocument): RiskModelCollection['risk_models'][number] {
  const {
    model_id,
    diagnostics,
    request,
    factor_model: factorModel,
    observed_start,
    observed_end,
    store_id,
  } = document;
  const { assets, average_correlation, observations, positive_semi_definite } = diagnostics;
  return {
    model_id,
    estimator: readModelSource(document),
    index_id: request?.index_id ?? null,
    store_id: store_id ?? null,
    observed_start,
    observed_end,
    factors: factorModel?.factors.length ?? null,
    assets,
    average_correlation,
    observations,
    positive_semi_definite,
  };
}

/** Members of the view that are written piece by piece. */
type StreamedMember = 'asset_ids' | 'correlation' | 'covariance' | 'volatilities';

/** Findings of the domain. The API returns them unchanged. */
type ServedFindings<T> = Omit<T, 'findings'> & { readonly findings: readonly Finding[] };

/** Returns the members of the view that are not streamed. */
export function selectSmallFields(
  {
    model_id,
    diagnostics,
    factor_model: factorModel,
    imported,
    findings = [],
    request,
    excluded,
    store_id,
    observed_start,
    observed_end,
    content_hash,
    precision,
  }: RiskModelDocument,
  { date }: ServedModel,
): ServedFindings<Omit<RiskModelView, StreamedMember>> {
  const unreadFindings = request === undefined ? [] : reportUnreadFields(request);
  return {
    model_id,
    diagnostics: toServedDiagnostics(diagnostics),
    ...(factorModel === undefined ? {} : { factor_model: factorModel }),
    ...(imported === undefined ? {} : { imported, date }),
    start: request?.start ?? null,
    end: request?.end ?? null,
    excluded,
    findings: sortFindings([...unreadFindings, ...findings]),
    store_id: store_id ?? null,
    observed_start,
    observed_end,
    content_hash,
    precision,
  };
}

/** Yields the JSON text of a view in pieces: its start, the rows of both frames, and its end. */
export async function* streamPieces(
  document: RiskModelDocument,
  servedModel: ServedModel,
  write: (part: RiskModelPart) => Promise<Uint8Array>,
): AsyncGenerator<Uint8Array, undefined> {
  const encoder = new TextEncoder();
  const { assetIds } = servedModel;
  const ids = JSON.stringify(assetIds);
  const step = Math.max(1, Math.floor(NUMBERS_PER_PART / assetIds.length));
  yield encoder.encode(`{"model_id":${JSON.stringify(document.model_id)},"asset_ids":${ids}`);
  for (const part of ['correlation', 'covariance'] as const) {
    yield encoder.encode(`,"${part}":{"index":${ids},"columns":${ids},"data":[`);
    for (let from = 0; from < assetIds.length; from += step) {
      if (from > 0) yield encoder.encode(',');
      yield await write({ part, from, to: Math.min(from + step, assetIds.length) });
    }
    yield encoder.encode(']}');
  }
  yield encoder.encode(',"volatilities":');
  yield await write({ part: 'volatilities', assetIds });
  const { model_id: _, ...rest } = selectSmallFields(document, servedModel);
  yield encoder.encode(`,${toCanonicalJson(rest).slice(1)}`);
  return undefined;
}
