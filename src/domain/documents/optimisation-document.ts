import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';

/** Document of a finished optimisation, stored under its run id; its result is stored separately as bytes. */
export const OptimisationDocument = defineObject(() => ({
  run_id: z.string(),
  index_id: z.string(),
  constraint_set_id: z.string(),
  store_content_hash: z.string(),
  artifact: z.strictObject({ name: z.string(), bytes: z.int().min(0), sha256: z.string() }),
}));
export type OptimisationDocument = z.infer<typeof OptimisationDocument>;
