import { dayFrom } from '#domain/time/days.js';
import { packedFactors } from '#domain/risk/packed-factors.js';
import type { StoredModel, StoredModels } from '#domain/risk/stored-model.js';
import type { ModelFile, ModelFiles } from '#jobs/tasks/indices.js';
import { once } from '#base/once.js';
import { partsByDate } from '#domain/risk/imported/model-dates.js';
import { packedMatrix } from '#domain/risk/packed-matrix.js';
import { storedDoubles, storedMatrix } from './stored-matrix.js';

/** Opens the stored risk models of a task, each read at its first use. */
export function openedModels(files: ModelFiles = {}): StoredModels {
  const opened = new Map<string, StoredModel>();
  return (modelId) => {
    const known = opened.get(modelId);
    if (known !== undefined) return known;
    const file = files[modelId];
    if (file === undefined) throw new Error(`the task was not given the risk model ${modelId}`);
    const model = openedModel(modelId, file);
    opened.set(modelId, model);
    return model;
  };
}

/** Opens a model whose numbers are read at their first use: measurement by factors does not read the matrix. */
function openedModel(modelId: string, file: ModelFile): StoredModel {
  const { path, names, observedEnd, factors, dates } = file;
  if (dates !== undefined) return importedModel(modelId, { ...file, dates });
  return {
    modelId,
    names,
    observedEnd: dayFrom(observedEnd),
    covariance: () => storedMatrix({ path, order: names.length }),
    ...(factors && { factors: () => packedFactors(storedDoubles(factors.path), factors.names, names.length) }),
  };
}

/** Opens the newest model of an imported one, with those of earlier dates. */
function importedModel(
  modelId: string,
  { path, names, factors, dates }: ModelFile & Required<Pick<ModelFile, 'dates'>>,
): StoredModel {
  const K = factors?.names.length ?? 0;
  const numbers = once(() => storedDoubles(path));
  const ofFactors = once(() => storedDoubles(factors!.path)); // only called for a model with factors
  const models = partsByDate(names, dates, K).map(({ date, names: own, at, factorsAt }): StoredModel => {
    const n = own.length;
    const factorsEnd = factorsAt + n * K + K * K + n;
    return {
      modelId,
      names: own,
      observedEnd: dayFrom(date),
      isImported: true,
      covariance: once(() => packedMatrix(numbers().subarray(at, at + (n * (n + 1)) / 2), n)),
      ...(factors && {
        factors: once(() => packedFactors(ofFactors().subarray(factorsAt, factorsEnd), factors.names, n)),
      }),
    };
  });
  const [newest, ...earlier] = models.toReversed();
  return { ...newest!, earlier }; // an imported model has a date
}
