import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { AsKnownOn } from '#domain/schema/as-known-on.js';
import { Id, IsoDate } from '#domain/schema/shape.js';
import { REBALANCE_CAUSES } from '#domain/schedule/rebalance-causes.js';
import { Finding } from '../common.js';
import { IndexDocumentBody } from './definition.js';
import { PreviewLimits } from './preview.js';

export const WhatIfRequest = defineObject(() => ({
  index_id: Id.nullable().default(null).meta({ description: 'Id of a stored index that is the base.' }),
  document: IndexDocumentBody.nullable()
    .default(null)
    .meta({ description: 'Document that is the base, instead of index_id.' }),
  patch: z
    .record(z.string(), z.unknown())
    .nullable()
    .default(null)
    .meta({ description: 'Changes to the base: a JSON merge patch (RFC 7396), which replaces whole arrays.' }),
  changed: IndexDocumentBody.nullable()
    .default(null)
    .meta({ description: 'Complete changed document, instead of patch.' }),
  as_of: IsoDate.nullable()
    .default(null)
    .meta({ description: 'Decision date of both definitions. Default: the latest date of the store.' }),
  as_known_on: AsKnownOn,
})).meta({
  id: 'WhatIfRequest',
  description: 'Exactly one of index_id and document, and exactly one of patch and changed, are required.',
});

const WeightChange = defineObject(() => ({
  identifier: z.string(),
  before: z.number(),
  after: z.number(),
  change: z.number(),
})).meta({ id: 'WeightChange' });
const WhatIfSide = defineObject(() => ({
  index_id: z.string(),
  constituents: z.int().min(0),
  largest: z.number(),
  effective_assets: z.number(),
  gross_constituents: z.int().min(0).meta({ description: 'Securities with a position, long or short.' }),
  cap: z.number().nullable(),
  cap_redistributed: z.number(),
  cause: z.enum(REBALANCE_CAUSES).nullable().meta({
    description:
      'Trigger of a rebalance that was decided on that date: the schedule, a breach with `treatment.on_breach`, or a change of constituents by `events`. Null if there was no rebalance.',
  }),
  limits: PreviewLimits.optional().meta({
    description: 'Rule that triggers rebalances of the index on a breach.',
  }),
})).meta({ id: 'WhatIfSide' });

export const WhatIfResponse = defineObject(() => ({
  as_of: z.string(),
  resolved_date: z.string().nullable(),
  before: WhatIfSide,
  after: WhatIfSide,
  added: z.array(WeightChange),
  removed: z.array(WeightChange),
  changed: z.array(WeightChange),
  turnover: z.number().meta({ description: 'One-way turnover: half the sum of the absolute changes.' }),
  findings: z.array(Finding).meta({ description: 'Warnings about the changed document.' }),
})).meta({ id: 'WhatIfResponse' });
export type WhatIfResponse = z.infer<typeof WhatIfResponse>;
