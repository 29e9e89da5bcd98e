import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { Finding } from '../common.js';
import { runState, type WithoutRunState } from '../run-state.js';

const defineNumber = (description: string) => z.number().meta({ description });

const NameResult = defineObject(() => ({
  identifier: z.string(),
  weight: z.number(),
  return: z.number(),
  contribution: defineNumber('weight * return.'),
  standard_error: z
    .number()
    .nullable()
    .meta({ description: 'Uncertainty of the estimated slopes, for a response by regression.' }),
})).meta({ id: 'ScenarioName' });

const GroupResult = defineObject(() => ({ group: z.string(), weight: z.number(), contribution: z.number() })).meta({
  id: 'ScenarioGroup',
});

const SessionReturn = defineObject(() => ({ date: z.string(), return: z.number() }));

const ScenarioResult = defineObject(() => ({
  name: z.string(),
  return: z.number().nullable().meta({
    description:
      'Sum of the contributions. Cash earns nothing. Null for a window outside the data of the store; the finding `NO_DATA_IN_RANGE` states the dates.',
  }),
  by_name: z.array(NameResult).meta({ description: 'Entries by contribution, the lowest first.' }),
  by_group: z.array(GroupResult).meta({ description: 'Entries by contribution, the lowest first.' }),
  covered_weight: defineNumber(
    'Gross weight of the securities with returns in the window, divided by the gross weight of all securities.',
  ),
  proxied: z.array(z.strictObject({ identifier: z.string(), proxy: z.string() })).meta({
    description: 'Securities for which the equally weighted return of their group, or of all securities, is used.',
  }),
  window: z
    .strictObject({ start: z.string(), end: z.string() })
    .nullable()
    .meta({ description: 'First and last close of the return. Null for shocks, and if there is no return.' }),
  worst_session: SessionReturn.nullable(),
  worst_sessions: z.array(SessionReturn),
  r_squared: z
    .number()
    .nullable()
    .meta({ description: 'R-squared of the regression of the composition on the factors; null without factors.' }),
  observations: z.int().nullable().meta({ description: 'Number of returns in the regression.' }),
  standard_error: z.number().nullable().meta({
    description: 'Standard error of the return from the estimated slopes; null without factors.',
  }),
})).meta({ id: 'ScenarioResult' });

export const ScenariosView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  as_of: z.string(),
  by: z.string(),
  scenarios: z.array(ScenarioResult),
  findings: z.array(Finding).meta({
    description:
      '`NO_DATA_IN_RANGE`: the store does not cover the window. `WINDOW_CUT`: the data ends within the window. `NO_EFFECT`: an unused setting.',
  }),
})).meta({ id: 'ScenariosView' });
export type ScenariosView = WithoutRunState<z.infer<typeof ScenariosView>>;
