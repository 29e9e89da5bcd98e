import type { ActiveRisk, HeldRisk } from '../weights-view.js';
import { createCheck, type Check } from './check.js';

/** Tolerance for sums of risk contributions. They are more exact than other sums. */
const RISK_TOLERANCE = 1e-12;

export interface MeasuredRisk {
  /** Identifiers of the held securities. */
  readonly names: readonly string[];
  readonly risk: HeldRisk;
  readonly active: ActiveRisk | null;
}

/** Checks the risk figures in the weights view of the last date. */
export function checkRisk({ names, risk, active }: MeasuredRisk): Check[] {
  const sum = (contributionOf: (name: string) => number | null): number =>
    names.reduce((total, name) => total + (contributionOf(name) ?? 0), 0);
  const notHeld = active
    ? Object.values(active.payload.contributions_not_held).reduce((total, contribution) => total + contribution, 0)
    : 0;
  return [
    createCheck({
      name: 'risk contributions',
      meaning: 'The risk contributions of the held securities sum to the volatility.',
      left: sum(risk.findContribution),
      right: risk.payload.volatility,
      tolerance: RISK_TOLERANCE,
    }),
    ...(active
      ? [
          createCheck({
            name: 'active risk contributions',
            meaning:
              'The active risk contributions, including those of securities that are not held, sum to the tracking error.',
            left: sum(active.findContribution) + notHeld,
            right: active.payload.tracking_error,
            tolerance: RISK_TOLERANCE,
          }),
        ]
      : []),
  ];
}
