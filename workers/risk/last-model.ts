import type { PanelEstimate } from '#domain/risk/estimate-risk-model.js';
import type { PreparedEstimate } from '#views/risk-estimate.js';

/** Opened model without its matrix. */
export interface OpenedModel {
  readonly prepared: PreparedEstimate;
  readonly estimate: PanelEstimate;
  readonly cuts: Int32Array;
  /** Hash of the numbers from which parts are computed; it is the first figure of each part. */
  readonly fingerprint: number;
}

let lastModel: { readonly key: string; readonly model: OpenedModel } | undefined;

/**
 * Returns the model of the parts that this thread computed last, or opens another model. The panel of a model is as
 * large as all its returns.
 */
export function rememberModel(key: string, open: () => OpenedModel): OpenedModel {
  if (lastModel?.key === key) return lastModel.model;
  clearLastModel();
  const model = open();
  lastModel = { key, model };
  return model;
}

/** Releases the model of this thread. */
export function clearLastModel(): void {
  lastModel = undefined;
}
