import { z } from 'zod';

/** Ids of the stored runs of an index or a strategy, under its id. */
export const RunListDocument = z.strictObject({
  /** Runs before the newest, newest first. */
  earlier: z.array(z.string()),
  /** Runs with published closes, which are never removed. */
  published: z.array(z.string()),
});
export type RunListDocument = z.infer<typeof RunListDocument>;
