import type { Finding } from '../refusals/findings.js';

export interface SingleHoldingTerms {
  readonly indexId: string;
  readonly transactionCostBps: number;
  readonly hasConstraints: boolean;
}

/**
 * Reports settings that a portfolio of an overlay cannot have. The overlay is a single holding, without costs and
 * optimisation.
 */
export function checkSingleHolding({
  indexId,
  transactionCostBps: cost,
  hasConstraints,
}: SingleHoldingTerms): Finding[] {
  return [
    ...(cost === 0
      ? []
      : [
          createRefusal(
            'transaction_cost_bps',
            `The overlay ${indexId} is a single holding. transaction_cost_bps is ${cost}, but must be 0. cost_bps of the overlay charges its internal trades.`,
          ),
        ]),
    ...(hasConstraints
      ? [
          createRefusal(
            'constraint_set_id',
            `The overlay ${indexId} is a single holding. A constraint set needs the securities of the underlying index.`,
          ),
        ]
      : []),
  ];
}

function createRefusal(path: string, message: string): Finding {
  return { severity: 'error', code: 'NOT_IN_CHOICES', path, message };
}
