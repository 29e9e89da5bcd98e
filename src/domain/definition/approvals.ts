import { z } from 'zod';
import { defineObject } from '../base/schema.js';
import { ActionDecision, ActionSource, ActionTerms, DeskActionEffect } from './action-desk.js';
import { AcceptedFinding, CHECK_NAMES } from './daily-plan-checks.js';
import { LevelChange } from './publication.js';

const defineLevel = (variant: string) =>
  z
    .number()
    .nullable()
    .meta({ description: `${variant} return level; null if there is none.` });
const levels = { price: defineLevel('Price'), total: defineLevel('Total'), net: defineLevel('Net') };

const Levels = z.strictObject(levels).meta({ id: 'ApprovedLevels' });
const DatedLevels = defineObject(() => ({ date: z.string(), ...levels })).meta({ id: 'ApprovedClose' });

const closes = {
  index_id: z.string(),
  run_id: z.string().meta({ description: 'Run that contains the closes.' }),
  published: z.int().min(0).meta({ description: 'Number of closes that were published for the first time.' }),
  restated: z.int().min(0).meta({ description: 'Number of closes that were published again.' }),
  first: z.string().meta({ description: 'First date.' }),
  last: z.string().meta({ description: 'Last date.' }),
  close: Levels.meta({ description: 'Levels of the last date.' }),
  previous: DatedLevels.nullable().meta({
    description: 'Published close before the first new close; null if there is none.',
  }),
};

const PublishFacts = defineObject(() => ({ kind: z.literal('publish'), ...closes })).meta({
  id: 'PublishFacts',
  description: 'Closes that are published for the first time.',
});

const RestateFacts = defineObject(() => ({
  kind: z.literal('restate'),
  ...closes,
  levels_changed: z
    .int()
    .min(0)
    .meta({ description: 'Restated dates on which a level changes by more than rounding (1e-12).' }),
  latest: z
    .strictObject({
      date: z.string(),
      before: Levels.meta({ description: 'Published levels.' }),
      after: Levels.meta({ description: 'New levels.' }),
    })
    .meta({ description: 'Last restated close.' }),
  largest: LevelChange.nullable().meta({
    description: 'Largest change of a level; null if only divisor or composition differ.',
  }),
  reason: z.string().nullable().meta({ description: 'Reason of the restatement.' }),
})).meta({ id: 'RestateFacts', description: 'Closes that are published again with other figures.' });

const ChangedField = defineObject(() => ({
  field: z
    .string()
    .meta({ description: 'Description of the member of the definition.', example: 'Rebalance, frequency' }),
  path: z.string().meta({ description: 'JSON pointer of the member.' }),
  before: z.unknown().meta({ description: 'Value before the change; null if there was none.' }),
  after: z.unknown().meta({ description: 'Value after the change; null if there is none.' }),
})).meta({ id: 'ChangedField' });
export type ChangedField = z.infer<typeof ChangedField>;

const DefinitionChange = defineObject(() => ({
  effective_from: z.string().nullable().meta({
    description: 'Date from which the change applies, if it is an amendment; null for a change of the whole history.',
  }),
  announced: z.string().nullable().meta({ description: 'Date of the announcement; null if there is none.' }),
  reason: z.string().nullable().meta({ description: 'Reason of an amendment; null if there is none.' }),
  rebalance: z.boolean().meta({ description: 'True if the index is rebalanced on the date.' }),
  fields: z.array(ChangedField).meta({ description: 'Changed members; at most 200.' }),
  removed: z.array(z.string()).meta({ description: 'Sentences of the methodology that no longer apply.' }),
  added: z.array(z.string()).meta({ description: 'New sentences of the methodology.' }),
})).meta({ id: 'DefinitionChange' });
export type DefinitionChange = z.infer<typeof DefinitionChange>;

const AmendFacts = defineObject(() => ({
  kind: z.literal('amend'),
  index_id: z.string(),
  deletes: z.boolean().meta({ description: 'True for a deletion of the index.' }),
  changes: z
    .array(DefinitionChange)
    .meta({ description: 'Change of the whole history, followed by amendments by date.' }),
})).meta({ id: 'AmendFacts', description: 'Change of a definition with published closes.' });

const ActionFacts = defineObject(() => ({
  kind: z.literal('action'),
  store_id: z.string(),
  action_id: z.string().meta({ description: 'Id of the corporate action.' }),
  decision: ActionDecision.shape.decision,
  terms: ActionTerms.meta({ description: 'Terms of the action.' }),
  sources: z.array(ActionSource).meta({ description: 'Values of other sources.' }),
  differences: z.array(z.string()).meta({ description: 'Differences between the store and these sources.' }),
  effects: z.array(DeskActionEffect).meta({ description: 'Effect on each index with a run that holds the security.' }),
})).meta({ id: 'ActionFacts', description: 'Decision about a corporate action.' });

const OverrideFacts = defineObject(() => ({
  kind: z.literal('override'),
  store_id: z.string(),
  identifier: z.string().meta({ description: 'Security.' }),
  date: z.string().meta({ description: 'Session of the price.' }),
  before: z.number().nullable().meta({ description: 'Price in force; null if there is none.' }),
  price: z.number().nullable().meta({ description: 'Requested price; null withdraws the override.' }),
  change: z.number().nullable().meta({ description: 'Relative change of the price; null if a price is missing.' }),
  reason: z.string(),
})).meta({ id: 'OverrideFacts', description: 'Price that replaces the price of the source.' });

const WaiveFacts = defineObject(() => ({
  kind: z.literal('waive'),
  schedule_id: z.string(),
  date: z.string().meta({ description: 'Session.' }),
  check: z.enum(CHECK_NAMES).meta({ description: 'Check whose findings are accepted.' }),
  index_id: z
    .string()
    .nullable()
    .meta({ description: 'Index, including the indices that depend on it; null for every index.' }),
  identifier: z.string().nullable().meta({ description: 'Security or series; null for every finding of the check.' }),
  reason: z.string(),
  findings: z.array(AcceptedFinding).meta({ description: 'Findings at the time of the request; at most 200.' }),
  total: z.int().min(0).meta({ description: 'Number of findings.' }),
})).meta({ id: 'WaiveFacts', description: 'Findings of a check that are accepted.' });

export const ApprovalFacts = z.discriminatedUnion('kind', [
  PublishFacts,
  RestateFacts,
  AmendFacts,
  ActionFacts,
  OverrideFacts,
  WaiveFacts,
]);
export type ApprovalFacts = z.infer<typeof ApprovalFacts>;

/** Maximum number of fields or findings that a request lists. */
export const FACTS_LISTED_MAX = 200;

/** Changes that may require the approval of a second person. Each has the scope that requester and approver need. */
export const APPROVAL_ACTIONS = {
  publish: { help: 'Publishing closes.', scope: 'publish' },
  restate: {
    help: 'Publishing closes again with other figures. If it has no rule, the rule of `publish` applies. A publication that also contains new closes needs the larger number of people.',
    scope: 'publish',
  },
  amend: { help: 'Changing or deleting the definition of an index with published closes.', scope: 'write' },
  action: { help: 'Deciding about a corporate action.', scope: 'data' },
  override: { help: 'Overriding a price of a data store.', scope: 'data' },
  waive: { help: 'Accepting findings of a check of a schedule.', scope: 'publish' },
} as const satisfies Readonly<Record<string, { readonly help: string; readonly scope: string }>>;

export type ApprovalAction = keyof typeof APPROVAL_ACTIONS;
export const APPROVAL_ACTION_NAMES = Object.keys(APPROVAL_ACTIONS) as [ApprovalAction, ...ApprovalAction[]]; // Object.keys returns plain strings.

/** Maximum number of persons who must approve one action. */
export const PERSONS_MAX = 5;

export interface ApprovalRule {
  /** Number of persons who must agree, including the requester. */
  readonly persons: number;
  /** Names, ids or subjects of the keys that may approve. Null if everybody with the scope may approve. */
  readonly approvers: readonly string[] | null;
}

/** Rules by action; all other actions require no approval. */
export type ApprovalRules = { readonly [A in ApprovalAction]?: ApprovalRule | undefined };

/**
 * States of a request. `approved`: every person has agreed, and the action has not been performed. `used`: the action
 * has been performed.
 */
export const APPROVAL_STATES = ['pending', 'approved', 'used', 'rejected', 'withdrawn', 'expired'] as const;
export type ApprovalState = (typeof APPROVAL_STATES)[number];

const ApprovalStep = defineObject(() => ({
  at: z.string().meta({ description: 'Time, ISO-8601 UTC with offset.' }),
  author: z.string().meta({ description: 'Name of the key; `local` without authentication.' }),
  key_id: z.string().nullable().meta({ description: 'Id of the key; null without authentication.' }),
  action: z
    .enum(['requested', 'approved', 'rejected', 'withdrawn', 'commented', 'used'])
    .meta({ description: 'Action taken.' }),
  comment: z.string().nullable().meta({ description: 'Comment; null if there is none.' }),
})).meta({ id: 'ApprovalStep' });
export type ApprovalStep = z.infer<typeof ApprovalStep>;

const RequestingDay = defineObject(() => ({
  schedule_id: z.string(),
  date: z.string().meta({ description: 'Session.' }),
})).meta({ id: 'RequestingDay' });

/** Request for the approval of other people, and its outcome. */
export const Approval = defineObject(() => ({
  approval_id: z.int().min(1).meta({ description: 'Number, from 1 without gaps.' }),
  action: z.enum(APPROVAL_ACTION_NAMES).meta({ description: 'Requested change.' }),
  subject: z.string().meta({ description: 'Id of the index, schedule or data store concerned.' }),
  state: z.enum(APPROVAL_STATES).meta({ description: 'State of the approval.' }),
  summary: z.string().meta({ description: 'Description of the change in a sentence.' }),
  facts: ApprovalFacts.nullable().default(null).meta({
    description: 'Facts for the decision, by kind. Null for requests of earlier versions that do not store them.',
  }),
  detail: z.record(z.string(), z.unknown()).meta({ description: 'Members of `facts`. They have no fixed form.' }),
  schedule_day: RequestingDay.nullable()
    .default(null)
    .meta({ description: 'Day of the schedule that requests the change; null for a request of a person.' }),
  digest: z.string().meta({
    description: 'SHA-256 of the approved content. A change with different content needs another approval.',
  }),
  requested_at: z.string().meta({ description: 'Time of the request.' }),
  requested_by: z.string().meta({ description: 'Name of the key of the request.' }),
  expires_at: z.string().meta({ description: 'Time after which the request can no longer be approved or used.' }),
  persons: z.int().min(2).meta({ description: 'Number of people who must agree, including the requester.' }),
  missing: z.int().min(0).meta({ description: 'Number of people who have not agreed yet.' }),
  history: z.array(ApprovalStep).meta({ description: 'Request, comments and decisions, in order.' }),
})).meta({ id: 'Approval', description: 'Request for the approval of a second person.' });
export type Approval = z.infer<typeof Approval>;

/** Approvals that are pending, or approved and not yet used. */
export const OpenApprovals = defineObject(() => ({
  open: z.array(z.strictObject({ approval_id: z.int(), digest: z.string() })),
}));
export type OpenApprovals = z.infer<typeof OpenApprovals>;
