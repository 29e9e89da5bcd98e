import { z } from 'zod';
import { ACTION_KINDS, ELECTION_DEFAULTS } from '#domain/market/market-data.js';

/** Meaning of the value of an action, by its type. */
export const VALUE_MEANING =
  'As in the store: cash per share for dividends and returns of capital; the share-count multiplier for splits, stock dividends and bonus issues; new shares per share held for a rights issue; shares of `related` per share held for a spin-off or merger; the price paid per share for an acquisition or delisting.';

export const CorporateAction = z
  .strictObject({
    type: z.enum(Object.keys(ACTION_KINDS) as [string, ...string[]]), // the table has entries
    kind: z.enum(['cash', 'ratio', 'structural']).meta({
      description:
        'What value means: an amount per share that adds up, a share-count multiplier that compounds, or nothing that can be summed.',
    }),
    value: z.number().meta({ description: VALUE_MEANING }),
    ex_date: z.string(),
    pay_date: z.string().nullable().meta({ description: 'Null: unknown.' }),
    status: z.enum(['announced', 'paid', 'cancelled']).nullable().meta({ description: 'Null: unknown.' }),
    announced: z.string().nullable().meta({ description: 'Day of the announcement.' }),
    related: z.string().nullable().meta({ description: 'Other identifier of a spin-off, merger or change of ticker.' }),
    subscription_price: z.number().nullable().meta({ description: 'Price of a new share in a rights issue.' }),
    cash: z
      .number()
      .nullable()
      .meta({ description: 'Of a merger, money paid per share besides the shares of `related`; null where none is.' }),
    scrip_ratio: z.number().nullable().meta({
      description:
        'New shares for one held that may be taken instead of a dividend; null where there is no such choice.',
    }),
    election_date: z
      .string()
      .nullable()
      .meta({ description: 'Last day on which a holder elects; null where unknown.' }),
    election_default: z
      .enum(ELECTION_DEFAULTS)
      .nullable()
      .meta({ description: 'What a holder gets who elects nothing; null where unknown.' }),
  })
  .meta({ id: 'CorporateAction' });
