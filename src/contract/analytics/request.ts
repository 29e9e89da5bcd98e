import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { AsKnownOn } from '#domain/schema/as-known-on.js';
import { BacktestFields } from '#domain/documents/backtest-fields.js';
import { BenchmarkName, BenchmarkRef } from '#domain/documents/benchmark-ref.js';

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
