import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { ACTION_KINDS, ELECTION_DEFAULTS } from '#domain/market/market-data.js';

/** Meaning of the value of a corporate action. It depends on the type of the action. */
export const VALUE_MEANING =
  'As in the store. Dividends and returns of capital: cash per share. Splits, stock dividends and bonus issues: share-count multiplier. Rights issue: new shares per share held. Spin-off or merger: shares of `related` per share held. Acquisition or delisting: price paid per share.';

export const CorporateAction = defineObject(() => ({
  type: z.enum(Object.keys(ACTION_KINDS) as [string, ...string[]]), // the table is not empty
  kind: z.enum(['cash', 'ratio', 'structural']).meta({
    description:
      'Meaning of value: an amount per share, which can be summed; a share-count multiplier, which compounds; or a value that cannot be summed.',
  }),
  value: z.number().nullable().meta({ description: VALUE_MEANING }),
  ex_date: z.string(),
  pay_date: z.string().nullable().meta({ description: 'Null: unknown.' }),
  status: z.enum(['announced', 'paid', 'cancelled']).nullable().meta({ description: 'Null: unknown.' }),
  announced: z.string().nullable().meta({ description: 'Day of the announcement.' }),
  related: z.string().nullable().meta({ description: 'Other identifier of a spin-off, merger or change of ticker.' }),
  subscription_price: z.number().nullable().meta({ description: 'Price of a new share in a rights issue.' }),
  cash: z.number().nullable().meta({
    description: 'Cash per share that a merger pays in addition to the shares of `related`; null if it pays none.',
  }),
  scrip_ratio: z.number().nullable().meta({
    description: 'New shares per share held that can be chosen instead of a dividend; null if there is no choice.',
  }),
  election_date: z.string().nullable().meta({ description: 'Last day of the election; null if unknown.' }),
  election_default: z
    .enum(ELECTION_DEFAULTS)
    .nullable()
    .meta({ description: 'Default of the election; null if unknown.' }),
})).meta({ id: 'CorporateAction' });
