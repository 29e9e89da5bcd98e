import { z } from 'zod';
import { AsKnownOn, defineObject, Id } from '#domain/base/schema.js';
import { BacktestFields, BenchmarkName, BenchmarkRef } from '#domain/definition/runs.js';

/** Returns an optional field with the description and the default of a term. A strategy may have another value. */
const describeOptionalTerm = (field: z.ZodDefault) => ({ ...field.meta(), default: field.def.defaultValue });
const terms = BacktestFields.shape;

/** Terms of a run. A term that is absent has the value of the strategy; for an index, it has its default. */
export const BacktestRequest = defineObject(() => ({
  benchmark: z
    .union([BenchmarkRef, BenchmarkName])
    .nullable()
    .optional()
    .meta({
      ...describeOptionalTerm(terms.benchmark),
      description: `${terms.benchmark.description} Identifier (for example \`identifier:SPX\`), or an object that names another column than CLOSE.`,
    }),
  start: terms.start.unwrap().optional().meta(describeOptionalTerm(terms.start)),
  end: terms.end.unwrap().optional().meta(describeOptionalTerm(terms.end)),
  initial_capital: terms.initial_capital.unwrap().optional().meta(describeOptionalTerm(terms.initial_capital)),
  transaction_cost_bps: terms.transaction_cost_bps
    .unwrap()
    .optional()
    .meta(describeOptionalTerm(terms.transaction_cost_bps)),
  as_known_on: AsKnownOn,
  as_known: terms.as_known,
  store_id: terms.store_id,
  if_stale: z.boolean().default(false).meta({
    description:
      'Run only if the stored run is stale for this request; otherwise return its result. Omitted fields have the values of the stored run.',
  }),
})).meta({
  id: 'BacktestRequest',
  description:
    'Default of an omitted field. With `if_stale`, the value of the stored run; otherwise the value of the strategy, if one is run; otherwise the default of the field.',
});
/** Request of a run. `if_stale` and `as_known_on` have already been processed and are not part of it. */
export type BacktestRequest = Omit<z.infer<typeof BacktestRequest>, 'if_stale' | 'as_known_on'>;

/** Reasons why a stored run is stale: how it differs from a new run of the same request. */
export const StaleStatePayload = defineObject(() => ({
  definition: z
    .boolean()
    .meta({ description: 'True if the index, or a document that it uses, has changed since the run.' }),
  data: z.boolean().meta({ description: 'True if the served data has changed since the run.' }),
  engine: z.boolean().meta({ description: 'True if the engine has a version with different results.' }),
  reasons: z.array(z.string()).meta({ description: 'Causes, one sentence each.' }),
  store_id: z
    .string()
    .nullable()
    .meta({ description: 'Store of the run, if another store is served; otherwise null.' }),
})).meta({ id: 'StaleState' });

export const RunKey = z
  .string()
  .regex(/^[0-9a-f]{16}$/, 'must be 16 hexadecimal digits, as in the list of runs of an index');

/** State of a run. Every view of a run contains these members. */
export const runState = {
  index_version: z.int().min(1).nullable().meta({
    description: 'Version of the index or strategy; null for runs that were stored before versions existed.',
  }),
  store_id: z.string().nullable().meta({
    description: 'Data store on which the run was computed; null for runs that were stored without it.',
  }),
  stale: StaleStatePayload.nullable().meta({
    description: 'Causes why the run is stale; null if the stored run equals a new run of the request.',
  }),
};

/** View without the state of its run. Views are computed and cached in this form; the response adds the state. */
export type WithoutRunState<V extends { readonly stale: unknown }> = Omit<V, keyof typeof runState>;

/** Id of an index or strategy, or of one of its runs (`ID@RUN`). */
export const RunOf = z
  .union([
    Id,
    z.string().regex(/^[A-Za-z0-9_-]{1,64}@[0-9a-f]{16}$/, 'must be ID@RUN, for example CORE-100@0123456789abcdef'),
  ])
  .meta({
    id: 'RunOf',
    description: 'Id of an index or strategy (its newest run), or one of its runs as ID@RUN.',
  });

/** Query parameter that selects the run of a view. */
export const runParameter = {
  run_id: RunKey.optional().meta({
    description: 'Id of a stored run. Default: the newest run.',
  }),
};

/** Query parameter that selects the run whose definition is used. */
export const definitionRun = RunKey.optional().meta({
  description:
    'Id of a run. The request then uses the definition of the run, with every document and risk model as of the run, on the served data. Default: the stored definition.',
});
