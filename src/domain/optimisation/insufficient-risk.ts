import { LIMITS } from '../limits.js';
import { Refusal } from '../refusal.js';
import type { Coverage } from '../risk/return-panel.js';

/** The refusal of an objective that chooses by a covariance that cannot be estimated. */
export function insufficientRisk({ columns, sessions }: Coverage, asked: number): Refusal {
  return new Refusal('RISK_INSUFFICIENT_DATA', riskSentence({ columns, sessions }, asked), {
    assets: columns.length,
    observations: sessions.length,
  });
}

export function riskSentence({ columns, sessions }: Pick<Coverage, 'columns' | 'sessions'>, asked: number): string {
  return `${columns.length} of ${asked} names are covered, with ${sessions.length} complete observations; ${LIMITS.MIN_MODEL_OBSERVATIONS} are needed.`;
}
