import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';

/** Document of a rendered report; its PDF is stored separately as bytes. */
export const RenderDocument = defineObject(() => ({
  render_id: z.string(),
  template_id: z.string(),
  name: z.string(),
  /** Index of a built-in report; null for a stored template. */
  index_id: z.string().nullable(),
  /** Indices and strategies that the report shows; absent in reports of earlier versions. */
  index_ids: z.array(z.string()).optional(),
  /** Last date of the runs that the report shows; absent without a run, and in reports of earlier versions. */
  as_of: z.string().optional(),
  blocks: z.int().min(0),
  pages: z.int().min(1),
  bytes: z.int().min(0),
  /** Wall-clock time of the rendering, ISO-8601 UTC with offset. */
  rendered_at: z.string(),
  artifact: z.strictObject({ name: z.string(), bytes: z.int().min(0), sha256: z.string() }),
}));
export type RenderDocument = z.infer<typeof RenderDocument>;
