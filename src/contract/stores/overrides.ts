import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { OVERRIDE_REASON_MAX, PriceOverride } from '#domain/documents/price-override.js';
import { AssetIdentifier, Id, IsoDate } from '#domain/schema/shape.js';
import { defineRoutes } from '../route.js';

export const PriceOverrideRequest = defineObject(() => ({
  identifier: AssetIdentifier.meta({ description: 'Security of the store.' }),
  date: IsoDate.meta({ description: 'Session of the store.' }),
  price: z
    .number()
    .gt(0)
    .nullable()
    .meta({ description: 'CLOSE that replaces the CLOSE of the source; null withdraws the override.' }),
  reason: z
    .string()
    .min(1)
    .max(OVERRIDE_REASON_MAX)
    .meta({ description: 'Reason, including the source of the price.' }),
})).meta({ id: 'PriceOverrideRequest' });
export type PriceOverrideRequest = z.infer<typeof PriceOverrideRequest>;

export const PriceOverrides = defineObject(() => ({
  store_id: z.string(),
  overrides: z.array(PriceOverride).meta({ description: 'Overrides in force, by date and security.' }),
})).meta({ id: 'PriceOverrides' });
export type PriceOverrides = z.infer<typeof PriceOverrides>;

export const ChangedOverrides = defineObject(() => ({
  ...PriceOverrides.shape,
  job_id: z
    .string()
    .nullable()
    .meta({ description: 'Id of the refresh job that applies the change; null if the next refresh applies it.' }),
})).meta({ id: 'ChangedOverrides' });
export type ChangedOverrides = z.infer<typeof ChangedOverrides>;

const params = defineObject(() => ({ store_id: Id.meta({ description: 'Id of the data store.' }) }));

export const overrideRoutes = defineRoutes({
  listPriceOverrides: {
    method: 'GET',
    path: '/data/stores/{store_id}/overrides',
    scope: 'read',
    tag: 'stores',
    withoutMarket: true,
    summary: 'Lists the prices of a store that people have overridden.',
    params,
    success: { status: 200, description: 'The overrides.', schema: PriceOverrides },
    errors: ['STORE_NOT_FOUND', 'DOCUMENT_UNREADABLE'],
  },
  overridePrice: {
    method: 'POST',
    path: '/data/stores/{store_id}/overrides',
    scope: 'data',
    tag: 'stores',
    summary: 'Overrides a price of a store, or withdraws the override.',
    description:
      'The source is not changed. Every read of the store returns the price of the override until the override is withdrawn. A refresh applies the change at once, and accepts no other change of history. Each change is a version of the store. With `--approvals override=2`, a second person must approve the change. To correct an imported store, import the correct prices.',
    versioned: true,
    params,
    body: {
      schema: PriceOverrideRequest,
      example: { identifier: 'NECZ', date: '2024-12-31', price: 46.27, reason: 'Closing price of the exchange.' },
    },
    success: { status: 200, description: 'The overrides after the change.', schema: ChangedOverrides },
    errors: ['STORE_NOT_FOUND', 'DOCUMENT_UNREADABLE', 'VALIDATION_FAILED', 'APPROVAL_REQUIRED'],
  },
});
