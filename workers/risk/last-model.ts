import type { PanelEstimate } from '#domain/risk/estimate-risk-model.js';
import type { PreparedEstimate } from '#views/risk-estimate.js';

/** A model without its matrix. */
export interface OpenedModel {
  readonly prepared: PreparedEstimate;
  readonly estimate: PanelEstimate;
  readonly cuts: Int32Array;
  /** Hash of the numbers from which parts are computed, as the first figure of each. */
  readonly fingerprint: number;
}

let last: { readonly key: string; readonly model: OpenedModel } | undefined;

/** Returns the model whose parts this thread computed last, or opens another. Its panel is as large as all returns. */
export function rememberModel(key: string, open: () => OpenedModel): OpenedModel {
  if (last?.key === key) return last.model;
  forgetModel();
  const model = open();
  last = { key, model };
  return model;
}

/** Releases the model of this thread. */
export function forgetModel(): void {
  last = undefined;
}
