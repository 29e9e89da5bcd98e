import { openStoredModel } from '#domain/risk/open-stored-model.js';
import type { StoredModel, StoredModels } from '#domain/risk/stored-model.js';
import type { ModelFile, ModelFiles } from '#jobs/tasks/indices.js';
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

const openedModel = (modelId: string, { path, names, observedEnd, dates, factors }: ModelFile): StoredModel =>
  openStoredModel(modelId, {
    names,
    observedEnd,
    dates,
    matrix: () => storedMatrix({ path, order: names.length }),
    numbers: () => storedDoubles(path),
    factors: factors && { names: factors.names, numbers: () => storedDoubles(factors.path) },
  });
