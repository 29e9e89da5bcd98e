import { openStoredModel } from '#domain/risk/open-stored-model.js';
import type { StoredModel, StoredModels } from '#domain/risk/stored-model.js';
import type { ModelFile, ModelFiles } from '#jobs/tasks/indices.js';
import { readStoredDoubles, readStoredMatrix } from './stored-matrix.js';

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
