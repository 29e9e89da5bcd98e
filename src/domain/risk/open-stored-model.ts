import { callOnce } from '#base/once.js';
import { parseValidDay } from '../time/days.js';
import { groupPartsByDate, type ModelDate } from './imported/model-dates.js';
import { openPackedFactors } from './packed-factors.js';
import { openPackedMatrix, type PackedMatrix } from './packed-matrix.js';
import type { StoredModel } from './stored-model.js';

/** Stored model whose numbers are read when they are first needed. Models with factors may not need the matrix. */
export interface ModelContent {
  readonly names: readonly string[];
  readonly observedEnd: string;
  /** Dates of an imported model, ascending. */
  readonly dates?: readonly ModelDate[] | undefined;
  /** The matrix of a model without dates. @throws Refusal DOCUMENT_UNREADABLE */
  readonly matrix: () => PackedMatrix;
  /** Numbers of all dates. @throws Refusal DOCUMENT_UNREADABLE */
  readonly numbers: () => Float64Array;
  /** @throws Refusal DOCUMENT_UNREADABLE */
  readonly factors?: { readonly names: readonly string[]; readonly numbers: () => Float64Array } | undefined;
}

export function openStoredModel(modelId: string, content: ModelContent): StoredModel {
  const { names, observedEnd, factors, dates, matrix } = content;
  if (dates !== undefined) return createImportedModel(modelId, { ...content, dates });
  return {
    modelId,
    names,
    observedEnd: parseValidDay(observedEnd),
    covariance: matrix,
    ...(factors && { factors: () => openPackedFactors(factors.numbers(), factors.names, names.length) }),
  };
}

type DatedContent = ModelContent & { readonly dates: readonly ModelDate[] };

/** Latest model of an imported one, with the models of earlier dates. */
function createImportedModel(modelId: string, { names, factors, dates, ...content }: DatedContent): StoredModel {
  const K = factors?.names.length ?? 0;
  const numbers = callOnce(content.numbers);
  const ofFactors = callOnce(() => factors!.numbers()); // Called only for a model with factors.
  const models = groupPartsByDate(names, dates, K).map(({ date, names: own, at, factorsAt }): StoredModel => {
    const n = own.length;
    const factorsEnd = factorsAt + n * K + K * K + n;
    return {
      modelId,
      names: own,
      observedEnd: parseValidDay(date),
      isImported: true,
      covariance: callOnce(() => openPackedMatrix(numbers().subarray(at, at + (n * (n + 1)) / 2), n)),
      ...(factors && {
        factors: callOnce(() => openPackedFactors(ofFactors().subarray(factorsAt, factorsEnd), factors.names, n)),
      }),
    };
  });
  const [newest, ...earlier] = models.toReversed();
  return { ...newest!, earlier }; // An imported model has a date.
}
