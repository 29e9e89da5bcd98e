import { z } from 'zod';

/** Ids of the runs of an index or a strategy that are stored; kept under its id. */
export const RunListDocument = z.strictObject({
  /** Those before the newest, newest first. */
  earlier: z.array(z.string()),
  /** Those of which closes were published; they stay. */
  published: z.array(z.string()),
});
export type RunListDocument = z.infer<typeof RunListDocument>;
