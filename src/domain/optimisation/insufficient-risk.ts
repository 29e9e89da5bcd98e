import { LIMITS } from '../limits.js';
import { Refusal } from '../refusal.js';
import type { Coverage } from '../risk/return-panel.js';

/** What asks for returns. */
type Asking = 'risk_model' | 'scenarios';

/** The refusal of an objective that chooses by a covariance, or by scenarios, that its history does not have. */
export function insufficientRisk(coverage: Coverage, asked: number, asking: Asking = 'risk_model'): Refusal {
  return new Refusal('RISK_INSUFFICIENT_DATA', riskSentence(coverage, asked, asking), {
    assets: coverage.columns.length,
    observations: coverage.sessions.length,
    needed: LIMITS.MIN_MODEL_OBSERVATIONS,
  });
}

export function riskSentence(
  { columns, sessions }: Pick<Coverage, 'columns' | 'sessions'>,
  asked: number,
  asking: Asking = 'risk_model',
): string {
  return `${columns.length} of ${asked} names are covered, with ${sessions.length} complete sessions of returns for ${asking}; ${LIMITS.MIN_MODEL_OBSERVATIONS} are needed.`;
}
