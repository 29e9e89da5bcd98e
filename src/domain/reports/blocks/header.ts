import { z } from 'zod';
import { defineObject } from '../../schema/define-object.js';
import { blockFields, defineBlockKind } from '../block.js';

export const header = defineBlockKind({
  help: 'The head of a report: a large title (default: the name of the bound index), a subtitle, and of the run the last date, currency, return, price basis, transaction cost and state.',
  schema: defineObject(() => ({
    kind: z.literal('header'),
    ...blockFields,
    subtitle: z.string().max(400).nullable().default(null).meta({ description: 'Printed below the title.' }),
    stamp: z.boolean().default(true).meta({ description: 'True to print the last date of the run and its terms.' }),
    new_page: z.boolean().optional().meta({ description: 'True to begin a new page. Default: false.' }),
  })).meta({ id: 'HeaderBlock' }),
  example: { kind: 'header', title: 'Large hundred', subtitle: 'Index factsheet', index_id: 'LARGE-100', stamp: true },
  runUse: () => 'if-bound',
});
