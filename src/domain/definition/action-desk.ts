import { z } from 'zod';
import { defineObject, IsoDate } from '../base/schema.js';
import { type Day, formatDay } from '../base/time.js';
import { ACTION_KINDS, ACTION_TYPES, type CorporateAction } from '../market/market-data.js';

/** States of an action. `new`: no decision yet. `amended`: the terms changed after the decision. */
export const DESK_STATES = ['new', 'confirmed', 'rejected', 'amended'] as const;
export type DeskState = (typeof DESK_STATES)[number];

/** Terms of an action on which a person decides. */
export const ActionTerms = defineObject(() => ({
  identifier: z.string(),
  type: z.enum(ACTION_TYPES).meta({ description: 'Type of the action.' }),
  ex_date: z.string(),
  value: z.number().meta({
    description: 'Value as in the store: an amount per share, a multiplier or a ratio, depending on the type.',
  }),
  pay_date: z.string().nullable().meta({ description: 'Null: unknown.' }),
  related: z.string().nullable().meta({ description: 'Other identifier of a spin-off, merger or ticker change.' }),
  subscription_price: z.number().nullable().meta({ description: 'Price of a new share in a rights issue.' }),
  cash: z.number().nullable().meta({ description: 'Cash that a merger pays per share in addition to shares.' }),
})).meta({ id: 'ActionTerms' });
export type ActionTerms = z.infer<typeof ActionTerms>;

export const ActionSource = defineObject(() => ({
  name: z.string().min(1).max(200).meta({ description: 'Source, such as the notice of the issuer.' }),
  value: z.number().nullable().default(null).meta({ description: 'Value in this source; null if it has none.' }),
  ex_date: IsoDate.nullable().default(null).meta({ description: 'Ex-date in this source; null if it has none.' }),
})).meta({ id: 'ActionSource' });
export type ActionSource = z.infer<typeof ActionSource>;

/** Decision of a person about a corporate action. */
export const ActionDecision = defineObject(() => ({
  decision: z.enum(['confirmed', 'rejected', 'reopened']).meta({ description: 'Decision about the action.' }),
  terms: ActionTerms.meta({ description: 'Terms of the action at the time of the decision.' }),
  sources: z.array(ActionSource).meta({ description: 'Other sources with which the person compared the action.' }),
  comment: z.string().nullable().meta({ description: 'Comment; null if there is none.' }),
  author: z.string().meta({ description: 'Name of the key.' }),
  key_id: z.string().nullable().meta({ description: 'Id of the key.' }),
  at: z.string().meta({ description: 'Time of the decision.' }),
})).meta({ id: 'ActionDecision' });
export type ActionDecision = z.infer<typeof ActionDecision>;

/** Decisions about one action, earliest first. */
export const ActionDecisions = defineObject(() => ({ decisions: z.array(ActionDecision).min(1) }));
export type ActionDecisions = z.infer<typeof ActionDecisions>;

const defineFigure = (description: string) => z.number().nullable().meta({ description });

export const DeskActionEffect = defineObject(() => ({
  index_id: z.string(),
  state: z
    .enum(['effective', 'coming'])
    .meta({ description: '`coming`: the action is after the last date of the run, and the figures are pro forma.' }),
  weight_before: defineFigure('Weight at the previous close.'),
  weight_after: defineFigure('Weight after the action.'),
  shares_before: defineFigure('Index shares before the action.'),
  shares_after: defineFigure('Index shares after the action.'),
  divisor_before: defineFigure('Divisor of the index before the action.'),
  divisor_after: defineFigure('Divisor after the action and all other events of its session.'),
  dividend_return: defineFigure(
    'Ordinary dividend before tax as a fraction of the level before it. The total return variant reinvests it; the price return variant has no effect. Null for other actions, and if prices include dividends.',
  ).optional(),
  net_dividend_return: defineFigure('Part of `dividend_return` that the net return variant reinvests.').optional(),
})).meta({ id: 'DeskActionEffect' });
export type DeskActionEffect = z.infer<typeof DeskActionEffect>;

/** Index that holds the security of an action. */
export const AffectedIndex = defineObject(() => ({
  index_id: z.string(),
  weight: z
    .number()
    .meta({ description: 'Weight at the close before the ex-date; for a coming action, on the last date of the run.' }),
})).meta({ id: 'AffectedIndex' });
export type AffectedIndex = z.infer<typeof AffectedIndex>;

export const readTerms = (action: CorporateAction): ActionTerms => ({
  identifier: action.identifier,
  type: action.type,
  ex_date: formatDay(action.exDay),
  value: action.value,
  pay_date: action.payDay === null ? null : formatDay(action.payDay),
  related: action.related,
  subscription_price: action.subscriptionPrice,
  cash: action.cash ?? null,
});

export function findDeskState(terms: ActionTerms, last: ActionDecision | undefined): DeskState {
  if (last === undefined || last.decision === 'reopened') return 'new';
  return isSame(terms, last.terms) ? last.decision : 'amended';
}

const isSame = (a: ActionTerms, b: ActionTerms): boolean =>
  (Object.keys(a) as (keyof ActionTerms)[]).every((name) => a[name] === b[name]); // both have the same members

export interface FlagTerms {
  /** Other actions of the security. */
  readonly others: readonly CorporateAction[];
  readonly isSession: (day: Day) => boolean;
  /** Last close of the security before the ex-date. */
  readonly closeBefore: number;
  /** True if the store has a security of the identifier. */
  readonly isKnown: (identifier: string) => boolean;
}

/** Dividends above this fraction of the last close are flagged. */
const DIVIDEND_MAX = 0.2;
/** Multipliers of shares are flagged if they are at least this number, or at most 1 divided by it. */
const RATIO_MAX = 100;

/** Returns the reasons why a person should review an action before it takes effect. */
export function listFlags(action: CorporateAction, terms: FlagTerms): string[] {
  const { type, exDay, value, payDay, announcedDay, related } = action;
  const { others, isSession, closeBefore, isKnown } = terms;
  const kind = ACTION_KINDS[type];
  const flags: (string | false)[] = [
    !isSession(exDay) && 'The ex-date is not a session of its exchange.',
    announcedDay !== null && announcedDay > exDay && 'The action was announced after the ex-date.',
    payDay !== null && payDay < exDay && 'The action is paid before the ex-date.',
    others.some(
      (otherCorporateAction) =>
        otherCorporateAction !== action && otherCorporateAction.type === type && otherCorporateAction.exDay === exDay,
    ) && `The store has another ${type} on this ex-date.`,
    kind === 'cash' &&
      value > DIVIDEND_MAX * closeBefore &&
      `The amount is ${Math.round((100 * value) / closeBefore)}% of the last close.`,
    kind === 'cash' && !(value > 0) && 'The amount is not positive.',
    kind === 'ratio' && !(value > 1 / RATIO_MAX && value < RATIO_MAX) && `The multiplier ${value} is implausible.`,
    related !== null && type !== 'TICKER_CHANGE' && !isKnown(related) && `The store has no security ${related}.`,
  ];
  return flags.filter((flag) => flag !== false);
}

/** Returns the differences between the terms in the store and those of other sources. */
export function compareSources(terms: ActionTerms, sources: readonly ActionSource[]): string[] {
  return sources.flatMap(({ name, value, ex_date: exDate }) => [
    ...(value !== null && value !== terms.value
      ? [`The value is ${value} in ${name} and ${terms.value} in the store.`]
      : []),
    ...(exDate !== null && exDate !== terms.ex_date
      ? [`The ex-date is ${exDate} in ${name} and ${terms.ex_date} in the store.`]
      : []),
  ]);
}
