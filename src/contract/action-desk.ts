import { z } from 'zod';
import { AssetIdentifier, defineObject, IsoDate } from '#domain/base/schema.js';
import {
  ActionDecision,
  ActionSource,
  ActionTerms,
  AffectedIndex,
  DESK_STATES,
  DeskActionEffect,
} from '#domain/definition/action-desk.js';
import { createCommentSchema } from './payloads.js';
import { defineRoutes } from './route.js';

const LISTED_MAX = 1000;
const SOURCES_MAX = 10;

export const DeskAction = defineObject(() => ({
  ...ActionTerms.shape,
  action_id: z
    .string()
    .meta({ description: 'Id of the action, derived from its store, security, type, ex-date and related security.' }),
  status: z.enum(['announced', 'paid', 'cancelled']).nullable().meta({ description: 'Null: unknown.' }),
  announced: z.string().nullable().meta({ description: 'Day of the announcement.' }),
  state: z.enum(DESK_STATES).meta({
    description:
      '`new`: no decision yet. `amended`: the terms in the store have changed since they were confirmed or rejected.',
  }),
  flags: z.array(z.string()).meta({ description: 'Reasons to review the action, and differences from other sources.' }),
  decisions: z.array(ActionDecision).meta({ description: 'Decisions of people, earliest first.' }),
})).meta({ id: 'DeskAction', description: 'A corporate action with the decisions about it.' });
export type DeskAction = z.infer<typeof DeskAction>;

export const DeskActionDetail = defineObject(() => ({
  ...DeskAction.shape,
  effects: z.array(DeskActionEffect).meta({ description: 'Effect on each index with a run that holds the security.' }),
})).meta({ id: 'DeskActionDetail' });

export const ListedDeskAction = defineObject(() => ({
  ...DeskAction.shape,
  indices: z.array(AffectedIndex).nullable().meta({
    description:
      'Indices that hold the security according to their newest runs, those with the largest weights first. Null if `indices` was not requested, or if the listed period contains more than 2,000 actions.',
  }),
})).meta({ id: 'ListedDeskAction' });
export type ListedDeskAction = z.infer<typeof ListedDeskAction>;

export const DeskActions = defineObject(() => ({
  actions: z.array(ListedDeskAction).meta({ description: 'Actions, sorted by ex-date and security.' }),
  total: z.int().meta({ description: 'Number of actions that satisfy the filters.' }),
  indices_unread: z.int().min(0).nullable().meta({
    description:
      'Number of indices missing from `indices`, because only the 50 newest runs are read. Null without them.',
  }),
})).meta({ id: 'DeskActions' });
export type DeskActions = z.infer<typeof DeskActions>;

export const DeskDecisionRequest = defineObject(() => ({
  decision: z.enum(['confirmed', 'rejected', 'reopened']).meta({ description: 'Decision about the action.' }),
  sources: z
    .array(ActionSource)
    .max(SOURCES_MAX)
    .default([])
    .meta({ description: 'Values of other sources; differences from the store become flags.' }),
  comment: createCommentSchema('Comment, for the history and the audit log.'),
})).meta({ id: 'DeskDecisionRequest' });
export type DeskDecisionRequest = z.infer<typeof DeskDecisionRequest>;

const params = defineObject(() => ({
  action_id: z
    .string()
    .regex(/^[0-9a-f]{20}$/, { error: 'must be 20 hexadecimal digits' })
    .meta({ description: 'Id of the action.' }),
}));

export const actionDeskRoutes = defineRoutes('actions', {
  listActions: {
    method: 'GET',
    path: '/actions',
    call: 'actionDesk.list',
    onStore: 'query',
    scope: 'read',
    summary: 'Lists coming and recent corporate actions of the served store, with their state and flags.',
    query: defineObject(() => ({
      from: IsoDate.optional().meta({ description: 'First ex-date. Default: 10 days before the last session.' }),
      to: IsoDate.optional().meta({ description: 'Last ex-date. Default: 90 days after the last session.' }),
      state: z.enum(DESK_STATES).optional().meta({ description: 'Only actions in this state.' }),
      identifier: AssetIdentifier.optional().meta({ description: 'Only actions of this security.' }),
      flagged: z.boolean().default(false).meta({ description: 'Only actions with flags.' }),
      indices: z
        .boolean()
        .default(false)
        .meta({ description: 'Also returns the indices that each action affects. They are read from stored runs.' }),
      limit: z.int().min(1).max(LISTED_MAX).default(200).meta({ description: 'Maximum number of entries.' }),
    })),
    success: { status: 200, description: 'Actions by ex-date.', schema: DeskActions },
  },
  getAction: {
    method: 'GET',
    path: '/actions/{action_id}',
    call: 'actionDesk.get',
    onStore: 'query',
    scope: 'read',
    summary: 'Returns one corporate action with its decisions, and each index before and after it.',
    params,
    success: { status: 200, description: 'The action.', schema: DeskActionDetail },
    errors: ['ACTION_NOT_FOUND'],
  },
  decideAction: {
    method: 'POST',
    path: '/actions/{action_id}/decisions',
    call: 'actionDesk.decide',
    onStore: 'query',
    scope: 'data',
    summary: 'Confirms, rejects or reopens a corporate action with its current terms.',
    description:
      'A decision changes no data. The check `confirmed_actions` of a schedule blocks an index if an unconfirmed action of a constituent takes effect. A rejected action must be corrected in the store. With `--approvals action=2`, a second person must approve the decision.',
    versioned: true,
    params,
    body: {
      schema: DeskDecisionRequest,
      example: { decision: 'confirmed', sources: [{ name: 'Notice of the issuer', value: 2 }], comment: 'Agrees.' },
    },
    success: { status: 200, description: 'The action after the change.', schema: DeskAction },
    errors: ['ACTION_NOT_FOUND', 'APPROVAL_REQUIRED'],
  },
});
