import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { type ChangeEvent, CHANGE_EVENTS } from '#domain/books/constituent-changes.js';

const SolvedRow = defineObject(() => ({
  id: z.string().meta({ description: 'Id of the constraint in the request; empty if there is none.' }),
  index: z.int().nullable().meta({ description: 'Position of the constraint; null for an implicit constraint.' }),
  type: z.string(),
  label: z.string(),
  side: z.enum(['lower', 'upper', 'eq']),
  kind: z.enum(['eq', 'ineq']),
  unit: z.enum(['fraction', 'count', 'value']),
  value: z.number().meta({ description: 'Value of the constraint at the solved weights.' }),
  limit: z.number().meta({ description: 'Bound of this side.' }),
  slack: z.number().min(0).meta({ description: 'Distance between value and bound.' }),
  binding: z.boolean().meta({ description: 'True if the bound is binding.' }),
  shadow_price: z
    .number()
    .meta({ description: 'Multiplier of the constraint: change of the objective per unit of the bound.' }),
  coefficient: z.number().nullable().meta({
    description:
      'Change of the value of the constraint per unit of the weight. Null if the constraint does not depend on the weight directly.',
  }),
  force: z.number().meta({
    description: 'Contribution of the constraint to the derivative of the objective with respect to the weight.',
  }),
})).meta({ id: 'SolvedRow', description: 'One side of a constraint that includes the security.' });

export const NameSolve = defineObject(() => ({
  rows: z.array(SolvedRow).meta({
    description:
      'Every constraint of the security, binding or not, in the order of the request, with lower bounds first.',
  }),
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
      'Second derivative of the objective with respect to the weight. For the tracking error, twice the sum of the variance of the security and the tie-breaking term.',
  }),
  pull: z.number().meta({
    description:
      'Derivative of the other terms of the objective. For the tracking error, twice the sum of the covariances of the security with the active weights of the other securities.',
  }),
  force: z.number().meta({ description: 'Sum of the forces of all constraints and of the selection of securities.' }),
  free_weight: z.number().nullable().meta({
    description: 'centre - (pull + force) / stiffness, which is the weight without bounds. Null if stiffness is 0.',
  }),
  held_by: z.enum(['free', 'lower', 'upper', 'fixed', 'kink']).meta({
    description:
      '`free`: the weight equals free_weight. `lower`, `upper`, `fixed`: the weight is at a bound. `kink`: the weight is at the weight before trading, or at a soft bound.',
  }),
  held_at: z.number().nullable().meta({ description: 'Bound or kink of the weight; null if the weight is free.' }),
  solved_weight: z.number().meta({ description: 'free_weight or held_at, whichever applies.' }),
  scale: z.number().meta({
    description: 'Scaling factor after weights that are zero up to rounding were removed; 1 if there were none.',
  }),
})).meta({
  id: 'NameSolve',
  description: 'Balance of forces that determines the solved weight of the security, or the bound that determines it.',
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
      'Shares received per share. If the security left, shares of `related`. If the security originates from `related`, shares of the security per share of `related`.',
  }),
  weight: z.number().meta({
    description:
      'Weight in the index; negative for a short position. For an exit, the weight at the price paid, before the trades of the close. For an entry, the weight after the trades.',
  }),
  price: z.number().meta({ description: 'Price paid per share, in `currency`.' }),
  currency: z.string().meta({ description: 'Currency of the security.' }),
  last_bar: z.string().nullable().meta({ description: 'Day of the latest bar of the security up to the change.' }),
  ordered_on: z.string().nullable().meta({
    description: 'Rebalance of the order if the order waited for a bar; otherwise null.',
  }),
})).meta({ id: 'ConstituentChange', description: 'Entry of a security into the index, or exit from it.' });

export const WaitingOrder = defineObject(() => ({
  date: z.string().meta({ description: 'Rebalance that placed the order.' }),
  side: z.enum(['buy', 'sell']),
  target_weight: z.number().meta({ description: 'Weight of the order.' }),
  reason: z.enum(['no_price', 'stale_price', 'delisted']),
})).meta({ id: 'WaitingOrder', description: 'Order that waits for a bar, with `stale_targets: "defer"`.' });
