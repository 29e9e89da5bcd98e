import { smallValue, type Finding } from '../findings.js';
import { ESTIMATOR_SETTINGS, type EstimatorSettingName } from '../risk/estimator-settings.js';
import { RiskModelRequest, type Estimator } from './risk-model-document.js';

const SETTINGS: Readonly<Record<EstimatorSettingName, { readonly readers: readonly Estimator[] }>> = ESTIMATOR_SETTINGS;

type Settings = { readonly estimator: Estimator } & { readonly [S in EstimatorSettingName]?: unknown };

/** Settings of an estimate that its estimator does not read, other than by default. @param path of them, with its dot */
export function idleSettings(settings: Settings, path: string): Finding[] {
  const { estimator } = settings;
  return Object.entries(SETTINGS).flatMap(([name, { readers }]): Finding[] => {
    const setting = name as EstimatorSettingName; // Its keys.
    const value = settings[setting];
    const usual: unknown = RiskModelRequest.shape[setting].safeParse(undefined).data;
    if (value === usual || value === undefined || readers.includes(estimator)) return [];
    const message = `${path}${name} does nothing: ${estimator} does not read it, as ${readers.join(', ')} ${readers.length === 1 ? 'does' : 'do'}.`;
    return [{ severity: 'warning', code: 'NO_EFFECT', path: `${path}${name}`, message, ...smallValue(value) }];
  });
}
