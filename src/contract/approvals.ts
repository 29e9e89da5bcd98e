import { z } from 'zod';
import { defineObject, Id, IsoDate } from '#domain/base/schema.js';
import { Approval, APPROVAL_ACTION_NAMES, APPROVAL_ACTIONS, APPROVAL_STATES } from '#domain/definition/approvals.js';
import { createCommentSchema } from './payloads.js';
import { defineDocumentRoutes } from './route.js';

const LISTED_MAX = 500;

const ApprovalRule = defineObject(() => ({
  action: z.enum(APPROVAL_ACTION_NAMES).meta({ description: 'Change.' }),
  persons: z.int().min(2).meta({ description: 'Number of people who must agree, including the requester.' }),
  approvers: z
    .array(z.string())
    .nullable()
    .meta({ description: 'Names or ids of keys that can approve; null for every key with the scope.' }),
})).meta({ id: 'ApprovalRule' });

export const ApprovalCollection = defineObject(() => ({
  rules: z.array(ApprovalRule).meta({ description: 'Changes that need approval (`--approvals`).' }),
  approvals: z.array(Approval).meta({ description: 'Newest first.' }),
})).meta({ id: 'ApprovalCollection' });
export type ApprovalCollection = z.infer<typeof ApprovalCollection>;

export const ApprovalDecisionRequest = defineObject(() => ({
  decision: z.enum(['approve', 'reject', 'withdraw', 'comment']).meta({
    description: 'Decision about the request. Only the person who requested the change can use `withdraw`.',
  }),
  comment: createCommentSchema('Comment; required for a rejection.'),
})).meta({ id: 'ApprovalDecisionRequest' });

const params = defineObject(() => ({
  approval_id: z.coerce.number().int().min(1).meta({ description: 'Number of the approval.' }),
}));
const actions = Object.entries(APPROVAL_ACTIONS).map(
  ([action, { help, scope }]) => `- \`${action}\` (scope \`${scope}\`): ${help}`,
);

export const approvalRoutes = defineDocumentRoutes('approvals', {
  listApprovals: {
    method: 'GET',
    path: '/approvals',
    scope: 'read',
    summary: 'Lists pending and decided approvals of changes.',
    query: defineObject(() => ({
      state: z.enum(APPROVAL_STATES).optional().meta({ description: 'Only approvals in this state.' }),
      action: z.enum(APPROVAL_ACTION_NAMES).optional().meta({ description: 'Only approvals of this change.' }),
      subject: z.string().max(64).optional().meta({ description: 'Only approvals of this index or schedule.' }),
      schedule_id: Id.optional().meta({ description: 'Only requests of days of this schedule.' }),
      date: IsoDate.optional().meta({ description: 'Only requests of the day of this session.' }),
      limit: z.int().min(1).max(LISTED_MAX).default(100).meta({ description: 'Maximum number of entries.' }),
      before: z.int().min(1).optional().meta({ description: 'Only approvals with lower numbers.' }),
    })),
    success: { status: 200, description: 'Approvals, newest first.', schema: ApprovalCollection },
  },
  getApproval: {
    method: 'GET',
    path: '/approvals/{approval_id}',
    call: 'approvals.get',
    scope: 'read',
    summary: 'Returns one approval: the change, and the people who requested, commented and decided.',
    params,
    success: { status: 200, description: 'The approval.', schema: Approval },
    errors: ['APPROVAL_NOT_FOUND'],
  },
  decideApproval: {
    method: 'POST',
    path: '/approvals/{approval_id}/decisions',
    scope: 'publish',
    summary: 'Approves, rejects, withdraws or comments on a pending change.',
    description: `\`--approvals\` sets the number of people for each kind of change. A change that needs approval is refused with APPROVAL_REQUIRED and listed here. After its approval, the same request succeeds once. A schedule repeats the request automatically. The person who requested a change cannot approve it, and nobody can approve it twice. The key also needs the scope of the change.\n\n${actions.join('\n')}`,
    versioned: true,
    params,
    body: {
      schema: ApprovalDecisionRequest,
      example: { decision: 'comment', comment: 'Levels agree with the calculation agent.' },
    },
    success: { status: 200, description: 'The approval after the change.', schema: Approval },
    errors: ['APPROVAL_NOT_FOUND', 'APPROVAL_CLOSED', 'APPROVAL_FORBIDDEN', 'VALIDATION_FAILED'],
  },
});
