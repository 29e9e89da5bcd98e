import { z } from 'zod';
import { type ChangeEvent, CHANGE_EVENTS } from '#domain/books/constituent-changes.js';

const SolvedRow = z
  .strictObject({
    id: z.string().meta({ description: "The client's row id; empty if there is none." }),
    index: z.int().nullable().meta({ description: 'Position of the row; null for an implicit one.' }),
    type: z.string(),
    label: z.string(),
    side: z.enum(['lower', 'upper', 'eq']),
    kind: z.enum(['eq', 'ineq']),
    unit: z.enum(['fraction', 'count', 'value']),
    value: z.number().meta({ description: 'What the row measures at the solved weights.' }),
    limit: z.number().meta({ description: 'The bound of this side.' }),
    slack: z.number().min(0).meta({ description: 'Distance between the two.' }),
    binding: z.boolean().meta({ description: 'Whether the weights sit on the bound.' }),
    shadow_price: z
      .number()
      .meta({ description: 'The multiplier of the row: change of the objective per unit of the bound.' }),
    coefficient: z.number().nullable().meta({
      description:
        "Change of the row's value per unit of the weight; null if the row does not depend on the weight directly.",
    }),
    force: z.number().meta({ description: "What the row adds to the objective's derivative by the weight." }),
  })
  .meta({ id: 'SolvedRow', description: 'One side of a constraint row that includes the security.' });

export const NameSolve = z
  .strictObject({
    rows: z
      .array(SolvedRow)
      .meta({ description: 'Every constraint of the security, binding or not, in row order, lower before upper.' }),
    lower: z.number().nullable().meta({
      description:
        'Minimum feasible weight of the security, including selection constraints; null if there is no minimum.',
    }),
    upper: z.number().nullable().meta({
      description:
        'Maximum feasible weight of the security, including selection constraints; null if there is no maximum.',
    }),
    centre: z.number().meta({
      description: 'What the objective measures the weight from: source_weight for the tracking error, else 0.',
    }),
    stiffness: z.number().meta({
      description:
        'Second derivative of the objective by the weight: for the tracking error twice the variance of the name and the tie-breaking term.',
    }),
    pull: z.number().meta({
      description:
        'What all else of the objective does: for the tracking error twice the sum of its covariances with the active weights of the other names.',
    }),
    force: z.number().meta({ description: 'Sum of the forces of all rows and of a choice of names.' }),
    free_weight: z.number().nullable().meta({
      description:
        'centre - (pull + force) / stiffness: where the name would rest without bounds; null where nothing resists a move.',
    }),
    held_by: z.enum(['free', 'lower', 'upper', 'fixed', 'kink']).meta({
      description:
        '`free` rests at free_weight, `lower`, `upper` and `fixed` at a bound, `kink` at the weight that trades are measured from or a soft bound.',
    }),
    held_at: z.number().nullable().meta({ description: 'The bound or kink that holds it; null when free.' }),
    solved_weight: z.number().meta({ description: 'free_weight or held_at.' }),
    scale: z.number().meta({
      description: 'What weights taken out as zero but for rounding left to the others; 1 where there were none.',
    }),
  })
  .meta({
    id: 'NameSolve',
    description: 'Where the solver left the name: at rest between the forces on it, or held by a bound.',
  });

export const ConstituentChange = z
  .strictObject({
    date: z.string().meta({ description: 'Session at whose close it happened.' }),
    event: z.enum(Object.keys(CHANGE_EVENTS) as [ChangeEvent, ...ChangeEvent[]]).meta({
      description: `${Object.entries(CHANGE_EVENTS)
        .map(([event, words]) => `\`${event}\` ${words}`)
        .join('; ')}.`,
    }),
    ex_date: z.string().nullable().meta({ description: 'Of the corporate action; null if there is none.' }),
    related: z.string().nullable().meta({ description: 'Name into which it turned, or from which it came.' }),
    ratio: z.number().nullable().meta({
      description:
        'Shares received for one: of `related` by a name that left, of the name itself by `related` where it came from that.',
    }),
    weight: z.number().meta({
      description:
        'Fraction of the index: with which the name left, at the price paid for it and before the trades of the close; with which it came, after them. Negative when short.',
    }),
    price: z.number().meta({ description: 'Money a share that was paid for it, in `currency`.' }),
    currency: z.string().meta({ description: 'Currency in which the name is quoted.' }),
    last_bar: z.string().nullable().meta({ description: 'Day of its latest bar by then.' }),
    ordered_on: z.string().nullable().meta({
      description: 'Rebalance that asked for it, where its order had waited for a bar; else null.',
    }),
  })
  .meta({ id: 'ConstituentChange', description: 'How a name came into the index, or left it.' });

export const WaitingOrder = z
  .strictObject({
    date: z.string().meta({ description: 'Rebalance that asked for it.' }),
    side: z.enum(['buy', 'sell']),
    target_weight: z.number().meta({ description: 'Weight that was asked for.' }),
    reason: z.enum(['no_price', 'stale_price', 'delisted']),
  })
  .meta({ id: 'WaitingOrder', description: 'An order that waits for a bar, with `stale_targets: "defer"`.' });
