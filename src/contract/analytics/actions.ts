import { z } from 'zod';
import { ACTION_CHOICES, type ActionChoice } from '#domain/corporate-actions/choices.js';
import { ACTION_KINDS, ELECTION_DEFAULTS, type ActionType } from '#domain/market/market-data.js';
import { VALUE_MEANING } from '../corporate-action.js';
import { runState, type Stateless } from '../run-state.js';

const ACTION_TYPES = Object.keys(ACTION_KINDS) as [ActionType, ...ActionType[]]; // Object.keys returns plain strings.
const CHOICE_NAMES = Object.keys(ACTION_CHOICES) as [ActionChoice, ...ActionChoice[]]; // Object.keys returns plain strings.
const meanings = Object.entries(ACTION_CHOICES)
  .map(([choice, meaning]) => `\`${choice}\`: ${meaning}`)
  .join('; ');
const figure = (description: string) => z.number().nullable().meta({ description });

const ReceivedShares = z
  .strictObject({
    identifier: z.string(),
    ratio: z.number().meta({ description: 'Shares for one held before.' }),
    weight: z.number().meta({ description: 'In addition to the previous holding of that security.' }),
  })
  .meta({ id: 'ReceivedShares' });

export const ActionsView = z
  .strictObject({
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
                'Of the store; SILENT_DELISTING where a name left because it had no price for as long as the treatment waits: its value is the last one; SPIN_OFF_EXIT where a security spun off from `related` left at its first close (`spin_offs: "drop_after_first_session"`), with the shares that it was held in.',
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
            cash: figure('Of a merger, money paid per share besides the shares of `related`; null where none is.'),
            announced: z.string().nullable().meta({ description: 'Day of the announcement; null where unknown.' }),
            state: z
              .enum(['effective', 'coming'])
              .meta({ description: 'Coming: behind as_of, and known by then; figures after it are pro forma.' }),
            awaits_decision: z.boolean().meta({
              description:
                'Whether a holder has still to decide: a rights issue, a dividend with a scrip_ratio, or one of two offers for a name on one ex-date, an ACQUISITION (cash) and a MERGER (shares); up to the election_date, where that is unknown as long as it is coming.',
            }),
            election_date: z
              .string()
              .nullable()
              .meta({ description: 'Last day on which a holder elects; null where unknown.' }),
            election_default: z
              .enum(ELECTION_DEFAULTS)
              .nullable()
              .meta({ description: 'What a holder gets who elects nothing; null where unknown.' }),
            choices: z
              .array(
                z
                  .strictObject({
                    choice: z.enum(CHOICE_NAMES).meta({ description: meanings }),
                    weight_after: z.number().meta({ description: 'At prices that change only by the action.' }),
                    shares_after: z.number().meta({ description: 'Index shares.' }),
                    cash: z.number().meta({
                      description: 'For one share held before, in the currency of the name; negative where it is paid.',
                    }),
                    received: ReceivedShares.nullable().meta({ description: 'Shares of another name; null of none.' }),
                  })
                  .meta({ id: 'ActionChoice' }),
              )
              .meta({
                description:
                  'Result of each choice at the theoretical price ex rights or ex dividend; empty if there is no choice or the subscription price is unknown.',
              }),
            price_before: figure('Close of the name before, in its currency; of a coming one on as_of.'),
            weight_before: z.number().meta({ description: 'At the close before; of a coming one on as_of.' }),
            weight_after: figure('At the close of its session; pro forma at prices that change only by the action.'),
            shares_before: z.number().meta({ description: 'Index shares: weight times level over price.' }),
            shares_after: figure('The same behind it; null where it depends on a decision.'),
            divisor_before: figure(
              'Divisor of the index at the close before, of a coming one on as_of; null of a strategy.',
            ),
            divisor_after: figure(
              'Divisor after the action and all other events of its session, at the close of the ex-date; pro forma at the close of as_of, so that later price changes affect it. Null if it is not yet known.',
            ),
            proceeds: figure(
              'Of an action after which the security is gone: cash for a share held before, in its currency, with which the others are bought; of a merger into shares and cash the cash. Of a past action as the run applied it. Else null.',
            ),
            received: ReceivedShares.nullable().meta({
              description:
                'Of one after which the name is another: the shares of that one; of a spin-off those of the name spun off, which weighs nothing before its first close, and nothing after it if it leaves then; of a past one as the run took them. Else null.',
            }),
          })
          .meta({ id: 'IndexAction' }),
      )
      .meta({ description: 'By ex-date and name; the last 10,000.' }),
    actions_total: z.int().meta({ description: 'Actions there are in the window.' }),
  })
  .meta({ id: 'ActionsView' });
export type ActionsView = Stateless<z.infer<typeof ActionsView>>;
