import type { PanelEstimate } from '#domain/risk/estimate-risk-model.js';
import type { PreparedEstimate } from '#views/risk-estimate.js';

/** Opened model without its matrix. */
export interface OpenedModel {
  readonly prepared: PreparedEstimate;
  readonly estimate: PanelEstimate;
  readonly cuts: Int32Array;
  /** Hash of the numbers from which parts are computed. It is the first figure of each part. */
  readonly fingerprint: number;
}

let lastModel: { readonly key: string; readonly model: OpenedModel } | undefined;

/**
 * Returns the model for which this thread computed parts last, if it has this key. Otherwise opens another model. Only
 * one model is kept, because its panel is as large as all its returns.
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
