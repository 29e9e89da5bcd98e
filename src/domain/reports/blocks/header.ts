import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { blockFields, defineBlockKind } from '../block.js';

export const header = defineBlockKind({
  help: 'Header of a report: a large title (default: the name of the index) and a subtitle. It also shows the last date, currency, return variant, price basis, transaction cost and state of the run.',
  schema: defineObject(() => ({
    kind: z.literal('header'),
    ...blockFields,
    subtitle: z
      .string()
      .max(400)
      .nullable()
      .default(null)
      .meta({ description: 'Subtitle that is printed below the title.' }),
    stamp: z.boolean().default(true).meta({ description: 'True prints the last date and the settings of the run.' }),
    new_page: z.boolean().optional().meta({ description: 'True begins a new page. Default: false.' }),
  })).meta({ id: 'HeaderBlock' }),
  example: { kind: 'header', title: 'Large hundred', subtitle: 'Index factsheet', index_id: 'LARGE-100', stamp: true },
  runUse: () => 'if-bound',
});
