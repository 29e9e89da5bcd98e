import { z } from 'zod';
import { Finding } from '../common.js';
import { runState, type Stateless } from '../run-state.js';

const number = (description: string) => z.number().meta({ description });

const NameResult = z
  .strictObject({
    identifier: z.string(),
    weight: z.number(),
    return: z.number(),
    contribution: number('weight * return.'),
    standard_error: z
      .number()
      .nullable()
      .meta({ description: 'Of a response by regression: what the estimate of its slopes leaves open.' }),
  })
  .meta({ id: 'ScenarioName' });

const GroupResult = z
  .strictObject({ group: z.string(), weight: z.number(), contribution: z.number() })
  .meta({ id: 'ScenarioGroup' });

const SessionReturn = z.strictObject({ date: z.string(), return: z.number() });

const ScenarioResult = z
  .strictObject({
    name: z.string(),
    return: z.number().nullable().meta({
      description:
        'Sum of the contributions; cash earns nothing. Null for a window that the store does not cover; the finding `NO_DATA_IN_RANGE` reports its dates.',
    }),
    by_name: z.array(NameResult).meta({ description: 'By contribution, the worst first.' }),
    by_group: z.array(GroupResult).meta({ description: 'By contribution, the worst first.' }),
    covered_weight: number('Gross weight of securities with their own returns, divided by the gross weight of all.'),
    proxied: z
      .array(z.strictObject({ identifier: z.string(), proxy: z.string() }))
      .meta({ description: 'Names that take the equally weighted return of their group, or of all names.' }),
    window: z
      .strictObject({ start: z.string(), end: z.string() })
      .nullable()
      .meta({ description: 'Closes between which the return was earned; null of shocks and without a return.' }),
    worst_session: SessionReturn.nullable(),
    worst_sessions: z.array(SessionReturn),
    r_squared: z
      .number()
      .nullable()
      .meta({ description: "Of the composition's own regression on the factors; null without factors." }),
    observations: z.int().nullable().meta({ description: 'Returns in it.' }),
    standard_error: z.number().nullable().meta({
      description: 'Of the return: what the estimate of the slopes leaves open; null without factors.',
    }),
  })
  .meta({ id: 'ScenarioResult' });

export const ScenariosView = z
  .strictObject({
    ...runState,
    index_id: z.string(),
    as_of: z.string(),
    by: z.string(),
    scenarios: z.array(ScenarioResult),
    findings: z.array(Finding).meta({
      description:
        '`NO_DATA_IN_RANGE`: a window that the store does not cover; `WINDOW_CUT`: one whose end it does not reach; `NO_EFFECT`: a setting that nothing reads.',
    }),
  })
  .meta({ id: 'ScenariosView' });
export type ScenariosView = Stateless<z.infer<typeof ScenariosView>>;
