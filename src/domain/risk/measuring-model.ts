import type { ModelSource } from './risk-model-document.js';
import { ESTIMATOR_SETTINGS } from './estimator-settings.js';

/** Stored risk model as an optimisation result describes it. */
export interface RiskMeasureModel {
  readonly modelId: string;
  readonly estimator: ModelSource;
  readonly settings: EstimateSettings;
  /** Dates of the model's first and last return, YYYY-MM-DD, and number of returns. */
  readonly start: string;
  readonly end: string;
  readonly sessions: number;
}

/** Settings of an estimate by API name. */
export type EstimateSettings = Readonly<Record<string, string | number | null>>;

/**
 * Returns the settings that apply to the estimator of a request, with requested or default values. Omits settings
 * without a value.
 */
export function listSettingsRead(
  request: { readonly estimator: string } & Readonly<Record<string, unknown>>,
): EstimateSettings {
  const read = Object.entries(ESTIMATOR_SETTINGS).flatMap(([name, { readers }]) => {
    const value = request[name] as string | number | null | undefined; // the request schema guarantees the type
    const isRead = (readers as readonly string[]).includes(request.estimator);
    return isRead && value !== undefined ? [[name, value] as const] : [];
  });
  return Object.fromEntries(read);
}
