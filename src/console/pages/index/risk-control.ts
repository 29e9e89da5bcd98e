import type { IndexDocument, OverviewView } from '#clients/typescript/divisor.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { useDefinitionRun } from './definition-run.js';
import type { RiskControl } from './figures.js';

interface RiskControlQuery {
  readonly id: string;
  readonly stale: OverviewView['stale'];
  readonly overlay: IndexDocument['overlay'];
  /** Date of the exposure; null until it is known. */
  readonly date: string | null;
}

/**
 * Returns the state of the risk control of an index on a date. Returns null if the index has no risk control overlay.
 */
export function useRiskControl({ id, stale, overlay, date }: RiskControlQuery): RiskControl | null {
  const isControlled = overlay?.type === 'risk_control';
  const run = useDefinitionRun(id, isControlled ? stale : null);
  const preview = useResource(
    !isControlled || run === null || date === null ? null : `exposure ${id} ${date} ${run.run_id ?? ''}`,
    (signal) => service.value.call('previewIndex', { params: { index_id: id }, body: { as_of: date, ...run }, signal }),
    { keeps: true, isLater: true },
  );
  if (!isControlled) return null;
  const { exposure = null, volatility = null } = preview.data?.overlay?.exposure ?? {};
  const isStored = run !== null && run.run_id === undefined;
  return {
    target: isStored ? overlay.target : null,
    maxExposure: isStored ? overlay.max_leverage : null,
    exposure,
    volatility,
  };
}
