import type { Finding } from '../refusals/findings.js';

export interface HeldAsOne {
  readonly indexId: string;
  readonly transactionCostBps: number;
  readonly hasConstraints: boolean;
}

/**
 * Reports settings that a portfolio of an overlay cannot have: the overlay is a single holding, without costs and
 * optimisation.
 */
export function checkHeldAsOne({ indexId, transactionCostBps: cost, hasConstraints }: HeldAsOne): Finding[] {
  return [
    ...(cost === 0
      ? []
      : [
          refusal(
            'transaction_cost_bps',
            `The overlay ${indexId} is one holding; transaction_cost_bps is ${cost}, but must be 0. Its internal trades are charged by cost_bps of the overlay.`,
          ),
        ]),
    ...(hasConstraints
      ? [
          refusal(
            'constraint_set_id',
            `The overlay ${indexId} is one holding; a constraint set needs the securities of the underlying index.`,
          ),
        ]
      : []),
  ];
}

function refusal(path: string, message: string): Finding {
  return { severity: 'error', code: 'NOT_IN_CHOICES', path, message };
}
