import { z } from 'zod';
import { defineObject } from '../schema/define-object.js';
import { ApprovalFacts } from './approval-facts.js';

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

/** Rule that states who must approve an action. */
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
