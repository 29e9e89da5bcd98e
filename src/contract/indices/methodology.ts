import { z } from 'zod';

export const Methodology = z
  .strictObject({
    index_id: z.string(),
    name: z.string(),
    sentences: z
      .array(z.strictObject({ number: z.int().min(1), text: z.string() }))
      .meta({ description: 'In the order of application.' }),
  })
  .meta({ id: 'Methodology' });
export type Methodology = z.infer<typeof Methodology>;
