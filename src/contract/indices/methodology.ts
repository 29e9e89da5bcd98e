import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { METHODOLOGY_SECTIONS } from '#domain/rules/methodology.js';

export const Methodology = defineObject(() => ({
  index_id: z.string(),
  name: z.string(),
  sentences: z
    .array(
      z.strictObject({
        number: z.int().min(1),
        section: z
          .enum(METHODOLOGY_SECTIONS)
          .meta({ description: 'Part of the methodology to which the sentence belongs.' }),
        text: z.string(),
      }),
    )
    .meta({ description: 'Sentences in the order of application.' }),
})).meta({ id: 'Methodology' });
export type Methodology = z.infer<typeof Methodology>;
