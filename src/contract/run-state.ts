import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { Id } from '#domain/schema/shape.js';

/** Reasons why a stored run is stale: how it differs from a new run of the same request. */
export const StaleState = defineObject(() => ({
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

/** Id of a run. */
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
  stale: StaleState.nullable().meta({
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
export const runQuery = {
  run_id: RunKey.optional().meta({
    description: 'Id of a stored run. Default: the newest run.',
  }),
};

/** Query parameter that selects the run whose definition is used. */
export const definitionRun = RunKey.optional().meta({
  description:
    'Id of a run. The request then uses the definition of the run, with every document and risk model as of the run, on the served data. Default: the stored definition.',
});
