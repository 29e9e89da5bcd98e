import { smallValue, type Finding } from '../findings.js';
import { RiskModelRequest, type Estimator } from './risk-model-document.js';

/** Settings that only some estimators read. */
const READERS = {
  factors: ['statistical'],
  eigenvalue_simulations: ['newey_west', 'industries', 'styles'],
  threshold: ['gerber'],
  lags: ['newey_west'],
  target: ['shrinkage'],
  intensity: ['shrinkage'],
  intensity_method: ['shrinkage'],
  half_life: ['shrinkage', 'newey_west', 'industries', 'styles'],
} as const satisfies Partial<Record<keyof RiskModelRequest, readonly Estimator[]>>;

type Settings = { readonly estimator: Estimator } & { readonly [S in keyof typeof READERS]?: unknown };

/** Settings of an estimate that its estimator does not read, other than by default. @param path of them, with its dot */
export function idleSettings(settings: Settings, path: string): Finding[] {
  const { estimator } = settings;
  return Object.entries(READERS).flatMap(([name, readers]): Finding[] => {
    const setting = name as keyof typeof READERS; // Its keys.
    const value = settings[setting];
    const usual: unknown = RiskModelRequest.shape[setting].safeParse(undefined).data;
    if (value === usual || value === undefined || (readers as readonly Estimator[]).includes(estimator)) return [];
    const message = `${path}${name} does nothing: ${estimator} does not read it, as ${readers.join(', ')} ${readers.length === 1 ? 'does' : 'do'}.`;
    return [{ severity: 'warning', code: 'NO_EFFECT', path: `${path}${name}`, message, ...smallValue(value) }];
  });
}
