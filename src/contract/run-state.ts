import { z } from 'zod';
import { Id } from '#domain/schema/shape.js';

/** How a stored run differs from what a run of the same request would give now. */
export const StaleState = z
  .strictObject({
    definition: z.boolean().meta({ description: 'The index, or a document that it reaches, is not that of the run.' }),
    data: z.boolean().meta({ description: 'The served content is not that of the run.' }),
    engine: z.boolean().meta({ description: 'The engine is another version, whose bits differ.' }),
    reasons: z.array(z.string()).meta({ description: 'A sentence each.' }),
    store_id: z
      .string()
      .nullable()
      .meta({ description: 'The store of the run, where another one is served; null otherwise.' }),
  })
  .meta({ id: 'StaleState' });

/** Id of one run. */
export const RunKey = z
  .string()
  .regex(/^[0-9a-f]{16}$/, 'must be 16 hexadecimal digits, as the runs of an index list them');

/** The state of its run, part of every run view. */
export const runState = {
  index_version: z.int().min(1).nullable().meta({
    description: 'Version of the index or strategy that was run; null of runs from before there were versions.',
  }),
  stale: StaleState.nullable().meta({
    description: 'Null while the stored run equals a run of the same request made now.',
  }),
};

/** A view as it is computed and cached: the state of its run is added when it is answered. */
export type Stateless<V extends { readonly stale: unknown }> = Omit<V, keyof typeof runState>;

/** An index or strategy, or one run of it. */
export const RunOf = z
  .union([Id, z.string().regex(/^[A-Za-z0-9_-]{1,64}@[0-9a-f]{16}$/, 'must be ID@RUN, as CORE-100@0123456789abcdef')])
  .meta({
    id: 'RunOf',
    description: 'An index or strategy, whose newest run is meant, or one run of it by ID@RUN.',
  });

/** Which run a view is of. */
export const whichRun = {
  run_id: RunKey.optional().meta({
    description: 'Id of a run, as `GET /analytics/{index_id}/runs` lists them. Default: the newest.',
  }),
};

/** The run whose definition is decided. */
export const definitionRun = RunKey.optional().meta({
  description:
    'Id of a run: its definition is taken, with every document and risk model as the run had them, on the data that is served. Default: the definition as it is stored.',
});
