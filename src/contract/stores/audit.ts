import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { Id } from '#domain/schema/shape.js';
import { DATA_WARNING_KINDS } from '#domain/market/data-warning-kinds.js';
import { Finding } from '../common.js';
import { Name } from './store.js';

const ActionRow = defineObject(() => ({
  identifier: z.string(),
  type: z.string(),
  value: z.number(),
  ex_date: z.string(),
}));
const cells = { identifier: z.string(), from: z.string(), to: z.string(), columns: z.array(z.string()) };

export const DataRepair = z
  .discriminatedUnion('kind', [
    defineObject(() => ({
      kind: z.literal('scale'),
      ...cells,
      factor: z.number(),
      inverse_columns: z.array(z.string()).optional(),
    })),
    defineObject(() => ({ kind: z.literal('remove_values'), ...cells })),
    defineObject(() => ({ kind: z.literal('insert_action'), action: ActionRow })),
    defineObject(() => ({
      kind: z.literal('replace_action'),
      action: ActionRow,
      value: z.number(),
      ex_date: z.string().optional().meta({ description: 'New day; absent if the day does not change.' }),
    })),
    defineObject(() => ({ kind: z.literal('remove_action'), action: ActionRow })),
  ])
  .meta({ id: 'DataRepair', description: 'Change of the data that resolves a data warning. Days are inclusive.' });

export const DataDoubt = defineObject(() => ({
  id: z.string().meta({
    description: 'Id of the data warning in a request for repairs. It does not change while the data is unchanged.',
  }),
  kind: z.enum(DATA_WARNING_KINDS),
  identifier: z.string(),
  date: z.string(),
  confidence: z.number().min(0).max(1),
  message: z.string(),
  evidence: z
    .record(z.string(), z.union([z.number(), z.string()]))
    .meta({ description: 'Figures on which the data warning is based.' }),
  repair: DataRepair.nullable().meta({ description: 'Repair; null if the data does not show the correct value.' }),
})).meta({ id: 'DataDoubt' });

export const DataAudit = defineObject(() => ({
  store_id: z.string(),
  content_hash: z.string().meta({ description: 'Hash of the content that was checked.' }),
  doubts: z
    .array(DataDoubt)
    .meta({ description: 'Data warnings by date and identifier; at most the 1000 with the highest confidence.' }),
  total: z.int(),
  partial_dates: z.array(Finding).meta({
    description:
      'Dates on which only some securities have a bar, latest first, with their counts. Gaps of the whole market (GAP_LONG) follow, each at the date after the gap.',
  }),
})).meta({ id: 'DataAudit' });
export type DataAudit = z.infer<typeof DataAudit>;

export const RepairRequest = defineObject(() => ({
  doubts: z
    .array(z.string().min(1).max(200))
    .min(1)
    .max(1000)
    .meta({ description: 'Ids of the data warnings whose repairs are applied.' }),
  store_id: Id.optional().meta({ description: 'Id of the new store. Default: {store_id}-repaired-{n}.' }),
  name: Name.optional(),
  activate: z.boolean().default(false).meta({ description: 'True serves the new store immediately.' }),
})).meta({ id: 'RepairRequest' });
export type RepairRequest = z.infer<typeof RepairRequest>;
