import { z } from 'zod';
import { defineObject } from '#domain/schema/define-object.js';
import { ACTION_CHOICES, type ActionChoice } from '#domain/corporate-actions/choices.js';
import { ACTION_KINDS, ELECTION_DEFAULTS, type ActionType } from '#domain/market/market-data.js';
import { VALUE_MEANING } from '../corporate-action.js';
import { runState, type WithoutRunState } from '../run-state.js';

const ACTION_TYPES = Object.keys(ACTION_KINDS) as [ActionType, ...ActionType[]]; // Object.keys returns plain strings.
const CHOICE_NAMES = Object.keys(ACTION_CHOICES) as [ActionChoice, ...ActionChoice[]]; // Object.keys returns plain strings.
const choiceMeanings = Object.entries(ACTION_CHOICES)
  .map(([choice, meaning]) => `\`${choice}\`: ${meaning}`)
  .join('; ');
const defineFigure = (description: string) => z.number().nullable().meta({ description });

const ReceivedShares = defineObject(() => ({
  identifier: z.string(),
  ratio: z.number().meta({ description: 'Number of shares received for each share held before.' }),
  weight: z
    .number()
    .meta({ description: 'Weight of the received shares, in addition to the previous holding of that security.' }),
})).meta({ id: 'ReceivedShares' });

export const ActionsView = defineObject(() => ({
  ...runState,
  index_id: z.string(),
  as_of: z.string().meta({ description: 'Last date of the run.' }),
  actions: z
    .array(
      z
        .strictObject({
          ex_date: z.string(),
          identifier: z.string(),
          type: z.enum([...ACTION_TYPES, 'SILENT_DELISTING', 'SPIN_OFF_EXIT']).meta({
            description:
              'Type in the store. SILENT_DELISTING: the security left because it had no price during the waiting period of the treatment; the value is its last price. SPIN_OFF_EXIT: a security spun off from `related` left at its first close (`spin_offs: "drop_after_first_session"`), with the shares held until then.',
          }),
          value: z
            .number()
            .nullable()
            .meta({
              description: `${VALUE_MEANING} Null if a security ends and the payment per share is unknown.`,
            }),
          related: z
            .string()
            .nullable()
            .meta({ description: 'Other identifier of a spin-off, merger or ticker change.' }),
          cash: defineFigure(
            'Cash per share that a merger pays in addition to the shares of `related`; null if it pays none.',
          ),
          announced: z.string().nullable().meta({ description: 'Day of the announcement; null if unknown.' }),
          state: z.enum(['effective', 'coming']).meta({
            description:
              '`coming`: the ex-date is after as_of, and the action was known on as_of. The figures after the action are then pro forma.',
          }),
          awaits_decision: z.boolean().meta({
            description:
              'True if the holder must still decide. This applies to a rights issue, to a dividend with a scrip_ratio, and to two offers for a security on one ex-date: an ACQUISITION (cash) and a MERGER (shares). The decision is open until the election_date or, if it is unknown, until the ex-date.',
          }),
          election_date: z.string().nullable().meta({ description: 'Last day of the election; null if unknown.' }),
          election_default: z
            .enum(ELECTION_DEFAULTS)
            .nullable()
            .meta({ description: 'Default of the election; null if unknown.' }),
          choices: z
            .array(
              z
                .strictObject({
                  choice: z.enum(CHOICE_NAMES).meta({ description: choiceMeanings }),
                  weight_after: z
                    .number()
                    .meta({ description: 'Weight at prices that change only because of the action.' }),
                  shares_after: z.number().meta({ description: 'Index shares.' }),
                  cash: z.number().meta({
                    description:
                      'Cash per share held before, in the currency of the security; negative if the holder pays.',
                  }),
                  received: ReceivedShares.nullable().meta({
                    description: 'Shares of another security; null if there are none.',
                  }),
                })
                .meta({ id: 'ActionChoice' }),
            )
            .meta({
              description:
                'Result of each choice at the theoretical price ex rights or ex dividend; empty if there is no choice or the subscription price is unknown.',
            }),
          price_before: defineFigure(
            'Previous close of the security in its currency; for a coming action, the close on as_of.',
          ),
          weight_before: z
            .number()
            .meta({ description: 'Weight at the previous close; for a coming action, on as_of.' }),
          weight_after: defineFigure(
            'Weight at the close of the ex-date; pro forma at prices that change only because of the action.',
          ),
          shares_before: z.number().meta({ description: 'Index shares: weight times level, divided by price.' }),
          shares_after: defineFigure('Index shares after the action; null if they depend on a decision.'),
          divisor_before: defineFigure(
            'Divisor of the index at the previous close; for a coming action, on as_of. Null for a strategy.',
          ),
          divisor_after: defineFigure(
            'Divisor after the action and all other events of its session, at the close of the ex-date. For a coming action, pro forma at the close of as_of; later price changes affect the actual divisor. Null if it is not yet known.',
          ),
          dividend_return: defineFigure(
            'Ordinary dividend before tax as a fraction of the level before it. The total return variant reinvests it; the price return variant has no effect. Null for other actions, and if prices include dividends.',
          ),
          net_dividend_return: defineFigure('Part of `dividend_return` that the net return variant reinvests.'),
          dividend_points: defineFigure(
            'Ordinary dividend before tax in index points: `dividend_return` times the level before it. If the return variants share index shares and divisor, this is the amount per share times the index shares over the divisor. Null where `dividend_return` is null.',
          ),
          net_dividend_points: defineFigure('Part of `dividend_points` after withholding tax.'),
          proceeds: defineFigure(
            'Cash per share held before, in the currency of the security, if the action removes the security. The index uses this cash to buy the other constituents. For a merger into shares and cash, the cash part. For a past action, the value that the run applied. Otherwise null.',
          ),
          received: ReceivedShares.nullable().meta({
            description:
              'Shares of the security that replaces this security. For a spin-off, shares of the new security, with weight 0 before its first close, and also after it if the security then leaves. For a past action, the shares that the run applied. Otherwise null.',
          }),
        })
        .meta({ id: 'IndexAction' }),
    )
    .meta({ description: 'The last 10,000 actions, sorted by ex-date and security.' }),
  actions_total: z.int().meta({ description: 'Number of actions in the window.' }),
})).meta({ id: 'ActionsView' });
export type ActionsView = WithoutRunState<z.infer<typeof ActionsView>>;
