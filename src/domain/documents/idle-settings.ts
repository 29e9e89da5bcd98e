import { keepSmallValue, type Finding } from '../refusals/findings.js';
import { ESTIMATOR_SETTINGS, type EstimatorSettingName } from '../risk/estimator-settings.js';
import { RiskModelRequest, type Estimator } from '../risk/risk-model-document.js';

const SETTINGS: Readonly<Record<EstimatorSettingName, { readonly readers: readonly Estimator[] }>> = ESTIMATOR_SETTINGS;

type Settings = { readonly estimator: Estimator } & { readonly [S in EstimatorSettingName]?: unknown };

/**
 * Reports settings that differ from their default but that the estimator does not read. @param path path of the
 * settings, ending with a dot
 */
export function reportIdleSettings(settings: Settings, path: string): Finding[] {
  const { estimator } = settings;
  return Object.entries(SETTINGS).flatMap(([name, { readers }]): Finding[] => {
    const setting = name as EstimatorSettingName; // the keys are names of settings
    const value = settings[setting];
    const defaultValue: unknown = RiskModelRequest.shape[setting].safeParse(undefined).data;
    if (value === defaultValue || value === undefined || readers.includes(estimator)) return [];
    const message = `${path}${name} has no effect: ${estimator} does not read it; ${readers.join(', ')} ${readers.length === 1 ? 'does' : 'do'}.`;
    return [{ severity: 'warning', code: 'NO_EFFECT', path: `${path}${name}`, message, ...keepSmallValue(value) }];
  });
}

/** Reports fields of a risk model request that have no effect. */
export function reportUnreadFields(request: RiskModelRequest): Finding[] {
  const idle = reportIdleSettings(request, '');
  if (request.index_id === null || request.identifiers.length === 0) return idle;
  const message = 'The request contains both identifiers and index_id. identifiers has priority.';
  return [
    { severity: 'warning', code: 'NO_EFFECT', path: 'index_id', message, ...keepSmallValue(request.index_id) },
    ...idle,
  ];
}
