import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';

/** Ids of the stored runs of an index or a strategy, under its id. */
export const RunListDocument = defineObject(() => ({
  /** Runs before the newest, newest first. */
  earlier: z.array(z.string()),
  /** Runs with published closes, which are never removed. */
  published: z.array(z.string()),
}));
export type RunListDocument = z.infer<typeof RunListDocument>;
