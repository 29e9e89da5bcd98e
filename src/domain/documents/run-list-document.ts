import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';

/** Ids of the stored runs of an index or a strategy, stored under the id of that document. */
export const RunListDocument = defineObject(() => ({
  /** Runs before the latest, latest first. */
  earlier: z.array(z.string()),
  /** Runs with published closes, which are never removed. */
  published: z.array(z.string()),
}));
export type RunListDocument = z.infer<typeof RunListDocument>;
