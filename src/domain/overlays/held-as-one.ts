import type { Finding } from '../refusals/findings.js';

export interface HeldAsOne {
  readonly indexId: string;
  readonly transactionCostBps: number;
  readonly hasConstraints: boolean;
}

/** What a portfolio of an overlay cannot be asked for: it is one holding, and nothing is charged or optimised in it. */
export function heldAsOneFindings({ indexId, transactionCostBps: cost, hasConstraints }: HeldAsOne): Finding[] {
  return [
    ...(cost === 0
      ? []
      : [
          refused(
            'transaction_cost_bps',
            `The overlay ${indexId} is held as one; transaction_cost_bps is ${cost}, and 0 is needed. What it trades itself is charged for by its own cost_bps.`,
          ),
        ]),
    ...(hasConstraints
      ? [
          refused(
            'constraint_set_id',
            `The overlay ${indexId} is held as one; a constraint set needs the names of the index beneath.`,
          ),
        ]
      : []),
  ];
}

function refused(path: string, message: string): Finding {
  return { severity: 'error', code: 'NOT_IN_CHOICES', path, message };
}
