import type { approvalRoutes } from '#contract/approvals.js';
import type { ApprovalAction } from '#domain/approvals/approval-document.js';
import type { Approvals } from '#services/approvals/approvals.js';
import type { Handlers, Principal } from '../handler.js';

export function createApprovalHandlers(approvals: Approvals): Handlers<typeof approvalRoutes> {
  const rules = Object.entries(approvals.rules).map(([action, rule]) => ({
    action: action as ApprovalAction, // Object.entries returns plain strings.
    ...rule,
  }));
  return {
    listApprovals: async ({ query }) => ({ json: { rules, approvals: await approvals.list(query) } }),
    getApproval: async ({ params }) => ({ json: await approvals.get(params.approval_id) }),
    async decideApproval({ params, body, principal, authorship }) {
      await approvals.get(params.approval_id);
      const { decision, comment } = body();
      const decider = { by: authorship(), names: listNames(principal), scopes: principal.scopes };
      return { json: await approvals.decide(params.approval_id, decision, comment, decider) };
    },
  };
}

/**
 * Returns the names by which a list of approvers can refer to a client. The name of a subject is left out, because the
 * provider chooses it.
 */
function listNames({ keyId, name, isSubject }: Principal): string[] {
  const names = isSubject === true ? [keyId] : [keyId, name];
  return names.filter((each) => each !== null);
}
