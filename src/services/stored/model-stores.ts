import type { Finding } from '#domain/refusals/findings.js';
import { assertNoErrors } from '#domain/refusals/refusal.js';
import type { RiskModelDocument } from '#domain/risk/risk-model-document.js';

/** Use of a stored model on the data of a store. */
export interface ModelUseOnStore {
  /** Store of the data; undefined if it is unknown. The model is then not checked. */
  readonly storeId: string | undefined;
  readonly path: string;
}

/** Checks that a model is used on the data store of its estimate. @throws Refusal VALIDATION_FAILED */
export function assertModelStore(model: RiskModelDocument, use: ModelUseOnStore, subject = 'request'): void {
  assertNoErrors(subject, checkModelStore(model, use));
}

/** Returns a finding if a model was estimated on another data store than the one on which it is used. */
export function checkModelStore(
  { model_id: modelId, store_id: modelStore }: Pick<RiskModelDocument, 'model_id' | 'store_id'>,
  { storeId, path }: ModelUseOnStore,
  severity: Finding['severity'] = 'error',
): Finding[] {
  if (modelStore === undefined || storeId === undefined || modelStore === storeId) return [];
  const message = `The risk model ${modelId} was estimated on the data store ${modelStore} and cannot be used on the data store ${storeId}.`;
  return [{ severity, code: 'DIFFERENT_DATA', path, message, value: modelId }];
}
