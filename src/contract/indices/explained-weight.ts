import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { type ChangeEvent, CHANGE_EVENTS } from '#domain/books/constituent-changes.js';

const SolvedRow = defineObject(() => ({
  id: z.string().meta({ description: "The client's row id; empty if there is none." }),
  index: z.int().nullable().meta({ description: 'Position of the row; null for an implicit one.' }),
  type: z.string(),
  label: z.string(),
  side: z.enum(['lower', 'upper', 'eq']),
  kind: z.enum(['eq', 'ineq']),
  unit: z.enum(['fraction', 'count', 'value']),
  value: z.number().meta({ description: 'Value of the row at the solved weights.' }),
  limit: z.number().meta({ description: 'The bound of this side.' }),
  slack: z.number().min(0).meta({ description: 'Distance between value and bound.' }),
  binding: z.boolean().meta({ description: 'True if the bound is binding.' }),
  shadow_price: z
    .number()
    .meta({ description: 'The multiplier of the row: change of the objective per unit of the bound.' }),
  coefficient: z.number().nullable().meta({
    description:
      "Change of the row's value per unit of the weight; null if the row does not depend on the weight directly.",
  }),
  force: z.number().meta({ description: 'Contribution of the row to the derivative of the objective by the weight.' }),
})).meta({ id: 'SolvedRow', description: 'One side of a constraint row that includes the security.' });

export const NameSolve = defineObject(() => ({
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
    description: 'Reference weight of the objective: source_weight for the tracking error, otherwise 0.',
  }),
  stiffness: z.number().meta({
    description:
      'Second derivative of the objective by the weight: for the tracking error twice the sum of the variance of the security and the tie-breaking term.',
  }),
  pull: z.number().meta({
    description:
      'Derivative from the other terms of the objective: for the tracking error twice the sum of its covariances with the active weights of the other securities.',
  }),
  force: z.number().meta({ description: 'Sum of the forces of all rows and of a choice of securities.' }),
  free_weight: z.number().nullable().meta({
    description: 'centre - (pull + force) / stiffness: weight without bounds; null if stiffness is 0.',
  }),
  held_by: z.enum(['free', 'lower', 'upper', 'fixed', 'kink']).meta({
    description:
      '`free`: at free_weight. `lower`, `upper`, `fixed`: at a bound. `kink`: at the weight before trading, or at a soft bound.',
  }),
  held_at: z.number().nullable().meta({ description: 'The bound or kink; null if free.' }),
  solved_weight: z.number().meta({ description: 'free_weight or held_at.' }),
  scale: z.number().meta({
    description: 'Scaling after the removal of weights that are zero up to rounding; 1 if there were none.',
  }),
})).meta({
  id: 'NameSolve',
  description: 'Solved weight of the security as a balance of forces, or held by a bound.',
});

export const ConstituentChange = defineObject(() => ({
  date: z.string().meta({ description: 'Session of the change, at its close.' }),
  event: z.enum(Object.keys(CHANGE_EVENTS) as [ChangeEvent, ...ChangeEvent[]]).meta({
    description: `${Object.entries(CHANGE_EVENTS)
      .map(([event, words]) => `\`${event}\` ${words}`)
      .join('; ')}.`,
  }),
  ex_date: z.string().nullable().meta({ description: 'Ex-date of the corporate action; null if there is none.' }),
  related: z
    .string()
    .nullable()
    .meta({ description: 'Security that replaces this security, or from which it originates.' }),
  ratio: z.number().nullable().meta({
    description:
      'Shares received per share: shares of `related` if the security left, or shares of the security per share of `related` if it originates from `related`.',
  }),
  weight: z.number().meta({
    description:
      'Weight in the index; negative if short. For an exit: at the price paid, before the trades of the close. For an entry: after the trades.',
  }),
  price: z.number().meta({ description: 'Price paid per share, in `currency`.' }),
  currency: z.string().meta({ description: 'Currency of the security.' }),
  last_bar: z.string().nullable().meta({ description: 'Day of its latest bar up to the change.' }),
  ordered_on: z.string().nullable().meta({
    description: 'Rebalance of the order if the order waited for a bar; otherwise null.',
  }),
})).meta({ id: 'ConstituentChange', description: 'Entry of a security into the index, or exit from it.' });

export const WaitingOrder = defineObject(() => ({
  date: z.string().meta({ description: 'Rebalance that placed the order.' }),
  side: z.enum(['buy', 'sell']),
  target_weight: z.number().meta({ description: 'Weight that was ordered.' }),
  reason: z.enum(['no_price', 'stale_price', 'delisted']),
})).meta({ id: 'WaitingOrder', description: 'An order that waits for a bar, with `stale_targets: "defer"`.' });
