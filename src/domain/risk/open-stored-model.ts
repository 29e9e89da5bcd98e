import { callOnce } from '#base/once.js';
import { parseValidDay } from '../time/days.js';
import { groupPartsByDate, type ModelDate } from './imported/model-dates.js';
import { openPackedFactors } from './packed-factors.js';
import { openPackedMatrix, type PackedMatrix } from './packed-matrix.js';
import type { StoredModel } from './stored-model.js';

/** Contents of a stored model, each read on first use. A model with factors may never need its matrix. */
export interface ModelContent {
  readonly names: readonly string[];
  readonly observedEnd: string;
  /** Dates of an imported model, ascending. */
  readonly dates?: readonly ModelDate[] | undefined;
  /**
   * Returns the matrix of a model without dates.
   * @throws Refusal DOCUMENT_UNREADABLE
   */
  readonly matrix: () => PackedMatrix;
  /**
   * Returns the matrix numbers of all dates.
   * @throws Refusal DOCUMENT_UNREADABLE
   */
  readonly numbers: () => Float64Array;
  /**
   * Factor names, and a function that reads the packed factors; absent without factors.
   * @throws Refusal DOCUMENT_UNREADABLE
   */
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

/** Opens an imported model: the model of the latest date, with those of earlier dates. */
function createImportedModel(modelId: string, { names, factors, dates, ...content }: DatedContent): StoredModel {
  const K = factors?.names.length ?? 0;
  const readNumbers = callOnce(content.numbers);
  const readFactorNumbers = callOnce(() => factors!.numbers()); // called only for a model with factors
  const models = groupPartsByDate(names, dates, K).map(({ date, names: partNames, at, factorsAt }): StoredModel => {
    const n = partNames.length;
    const factorsEnd = factorsAt + n * K + K * K + n;
    return {
      modelId,
      names: partNames,
      observedEnd: parseValidDay(date),
      isImported: true,
      covariance: callOnce(() => openPackedMatrix(readNumbers().subarray(at, at + (n * (n + 1)) / 2), n)),
      ...(factors && {
        factors: callOnce(() =>
          openPackedFactors(readFactorNumbers().subarray(factorsAt, factorsEnd), factors.names, n),
        ),
      }),
    };
  });
  const [newest, ...earlier] = models.toReversed();
  return { ...newest!, earlier }; // an imported model has at least one date
}
