import type { ModelSource } from './risk-model-document.js';
import { ESTIMATOR_SETTINGS } from './estimator-settings.js';

/** Stored risk model in the result of an optimisation. */
export interface MeasuringModel {
  readonly modelId: string;
  readonly estimator: ModelSource;
  readonly settings: SettingsRead;
  /** Dates of its first and last return, YYYY-MM-DD, and their number. */
  readonly start: string;
  readonly end: string;
  readonly sessions: number;
}

/** Settings of an estimate by their names in the API. */
export type SettingsRead = Readonly<Record<string, string | number | null>>;

/**
 * Returns the settings that the estimator of a request reads, with requested or default values. Unset ones are absent.
 */
export function listSettingsRead(
  request: { readonly estimator: string } & Readonly<Record<string, unknown>>,
): SettingsRead {
  const read = Object.entries(ESTIMATOR_SETTINGS).flatMap(([name, { readers }]) => {
    const value = request[name] as string | number | null | undefined; // The schema of a request guarantees the type.
    const isRead = (readers as readonly string[]).includes(request.estimator);
    return isRead && value !== undefined ? [[name, value] as const] : [];
  });
  return Object.fromEntries(read);
}
