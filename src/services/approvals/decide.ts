import {
  APPROVAL_ACTIONS,
  type Approval,
  type ApprovalRules,
  type ApprovalStep,
} from '#domain/approvals/approval-document.js';
import type { Authorship } from '#domain/documents/version-document.js';
import { Refusal, refuseWithFindings } from '#domain/refusals/refusal.js';

export type ApprovalDecision = 'approve' | 'reject' | 'withdraw' | 'comment';

/** Person or key that decides. */
export interface Decider {
  readonly by: Authorship;
  /** Names by which a list of approvers can refer to the person or the key. */
  readonly names: readonly string[];
  readonly scopes: ReadonlySet<string>;
}

export const isOpen = ({ state }: Pick<Approval, 'state'>): boolean => state === 'pending' || state === 'approved';

export function createStep(
  action: ApprovalStep['action'],
  { author, keyId = null }: Authorship,
  details: Pick<ApprovalStep, 'at' | 'comment'>,
): ApprovalStep {
  return { ...details, action, author, key_id: keyId };
}

interface DecisionTerms {
  readonly comment: string | null;
  readonly decider: Decider;
  readonly at: string;
  readonly rules: ApprovalRules;
}

/** Returns an approval after a decision. @throws Refusal APPROVAL_CLOSED, APPROVAL_FORBIDDEN */
export function applyDecision(approval: Approval, decision: ApprovalDecision, terms: DecisionTerms): Approval {
  const { comment, decider, at } = terms;
  const add = (action: ApprovalStep['action'], change: Partial<Approval> = {}): Approval => ({
    ...approval,
    ...change,
    history: [...approval.history, createStep(action, decider.by, { at, comment })],
  });
  const { approval_id, state } = approval;
  if (decision === 'comment') return add('commented');
  if (!isOpen(approval))
    throw new Refusal('APPROVAL_CLOSED', `Approval ${approval_id} is ${state}.`, { approval_id, state });
  if (decision === 'withdraw') {
    if (!isSamePerson(approval.history[0]!, decider.by) && !decider.scopes.has('admin'))
      throw createForbiddenRefusal(approval, `Only ${approval.requested_by}, who requested it, may withdraw it.`);
    return add('withdrawn', { state: 'withdrawn' });
  }
  assertMayDecide(approval, decision, terms);
  if (decision === 'reject' && comment === null)
    throw refuseWithFindings('request', [
      { severity: 'error', code: 'REQUIRED', path: 'comment', message: 'A rejection needs a comment that says why.' },
    ]);
  if (decision === 'reject') return add('rejected', { state: 'rejected' });
  if (state === 'approved')
    throw new Refusal('APPROVAL_CLOSED', `Approval ${approval_id} is approved already.`, { approval_id, state });
  const missingCount = approval.missing - 1;
  return add('approved', { missing: missingCount, ...(missingCount === 0 && { state: 'approved' }) });
}

/**
 * Refuses a decision by a person who requested the change or is not an approver, and a second approval by one person.
 * @throws Refusal APPROVAL_FORBIDDEN
 */
function assertMayDecide(approval: Approval, decision: ApprovalDecision, { decider, rules }: DecisionTerms): void {
  const { by, names, scopes } = decider;
  if (by.keyId == null)
    throw createForbiddenRefusal(approval, 'Without keys the service cannot distinguish persons: create keys.');
  const previousStep = approval.history.find(
    (step) => (step.action === 'requested' || step.action === 'approved') && isSamePerson(step, by),
  );
  if (previousStep?.action === 'requested')
    throw createForbiddenRefusal(approval, `${by.author} requested it: another person decides.`);
  if (previousStep !== undefined && decision === 'approve')
    throw createForbiddenRefusal(approval, `${by.author} has approved it: another person decides.`);
  const { scope } = APPROVAL_ACTIONS[approval.action];
  if (!scopes.has(scope) && !scopes.has('admin'))
    throw createForbiddenRefusal(approval, `The key lacks the scope ${scope}, which ${approval.action} requires.`);
  const approvers = rules[approval.action]?.approvers ?? null;
  if (approvers !== null && !names.some((name) => approvers.includes(name)))
    throw createForbiddenRefusal(
      approval,
      `${by.author} is no approver of ${approval.action}: ${approvers.join(', ')}.`,
    );
}

/**
 * Returns true if the same person took the step and wrote the change. Two keys with the same name belong to one person.
 */
const isSamePerson = (step: ApprovalStep, { author, keyId = null }: Authorship): boolean =>
  step.key_id === keyId || step.author === author;

const createForbiddenRefusal = ({ approval_id }: Approval, message: string): Refusal =>
  new Refusal('APPROVAL_FORBIDDEN', message, { approval_id });
