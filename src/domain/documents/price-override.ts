import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';

/** Maximum number of overrides per store: overrides are corrections, not a source of prices. */
export const OVERRIDES_MAX = 1000;
export const OVERRIDE_REASON_MAX = 500;

/** Close that a person set to override the close of the source. */
export const PriceOverride = defineObject(() => ({
  identifier: z.string().meta({ description: 'Security.' }),
  date: z.string().meta({ description: 'Session of the price.' }),
  price: z.number().meta({ description: 'CLOSE that replaces the CLOSE of the source.' }),
  source_price: z
    .number()
    .nullable()
    .meta({ description: 'CLOSE of the source at the time of the override; null if there was none.' }),
  reason: z.string().meta({ description: 'Reason, including the source of the price.' }),
  author: z.string().meta({ description: 'Name of the key; `local` without authentication.' }),
  key_id: z.string().nullable().meta({ description: 'Id of the key; null without authentication.' }),
  at: z.string().meta({ description: 'Time of the override, ISO-8601 UTC with offset.' }),
  approval_id: z
    .int()
    .nullable()
    .default(null)
    .meta({ description: 'Approval of the decision; null if it needed none.' }),
  approved_by: z.array(z.string()).default([]).meta({ description: 'Names of the people who approved the decision.' }),
})).meta({ id: 'PriceOverride' });
export type PriceOverride = z.infer<typeof PriceOverride>;

/** Price of a store whose override changed after the store was read. */
export const ChangedPrice = defineObject(() => ({ identifier: z.string(), date: z.string(), at: z.string() }));
export type ChangedPrice = z.infer<typeof ChangedPrice>;

interface ChangedPrices {
  readonly changed_prices?: readonly ChangedPrice[] | undefined;
}

/**
 * Returns the changed prices that the served content of a store lacks.
 * @param changedPrices document of the store when the content was read
 */
export function findPendingPrices(
  stored: ChangedPrices,
  changedPrices: ChangedPrices,
): { changed_prices?: ChangedPrice[] } {
  if (stored.changed_prices === undefined) return {};
  const appliedPrices = changedPrices.changed_prices ?? [];
  const isApplied = ({ identifier, date, at }: ChangedPrice): boolean =>
    appliedPrices.some((other) => other.identifier === identifier && other.date === date && other.at === at);
  return { changed_prices: stored.changed_prices.filter((change) => !isApplied(change)) };
}
