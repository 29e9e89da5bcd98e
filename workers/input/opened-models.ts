import { dayFrom } from '#domain/time/days.js';
import { packedFactors } from '#domain/risk/packed-factors.js';
import type { StoredModel, StoredModels } from '#domain/risk/stored-model.js';
import type { ModelFile, ModelFiles } from '#jobs/tasks/indices.js';
import { storedDoubles, storedMatrix } from './stored-matrix.js';

/** The stored risk models of a task, each read when it is first asked for. */
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

/** Its numbers are read when they are first asked for: who measures by factors leaves the matrix where it lies. */
function openedModel(modelId: string, { path, names, observedEnd, factors }: ModelFile): StoredModel {
  return {
    modelId,
    names,
    observedEnd: dayFrom(observedEnd),
    covariance: () => storedMatrix({ path, order: names.length }),
    ...(factors && { factors: () => packedFactors(storedDoubles(factors.path), factors.names, names.length) }),
  };
}
