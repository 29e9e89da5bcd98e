import { dayFrom } from '#domain/days.js';
import type { StoredModel, StoredModels } from '#domain/risk/stored-model.js';
import type { ModelFiles } from '#jobs/tasks/indices.js';
import { storedMatrix } from './stored-matrix.js';

/** The stored risk models of a task, each read when it is first asked for. */
export function openedModels(files: ModelFiles = {}): StoredModels {
  const opened = new Map<string, StoredModel>();
  return (modelId) => {
    const known = opened.get(modelId);
    if (known !== undefined) return known;
    const file = files[modelId];
    if (file === undefined) throw new Error(`the task was not given the risk model ${modelId}`);
    const { path, names, observedEnd } = file;
    const covariance = storedMatrix({ path, order: names.length });
    const model = { modelId, names, observedEnd: dayFrom(observedEnd), covariance };
    opened.set(modelId, model);
    return model;
  };
}
