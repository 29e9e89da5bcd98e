import { createApprovals, type Approvals } from '#services/approvals/approvals.js';
import type { DocumentStore } from '#store/port.js';
import type { Settings } from '../settings.js';

interface ApprovalsInput {
  readonly documents: DocumentStore;
  readonly settings: Pick<Settings, 'approvals' | 'approvalHours'>;
  readonly now: () => number;
}

/** Creates the approvals of changes that need a second person. The rules come from the settings. */
export const openApprovals = ({ documents, settings, now }: ApprovalsInput): Approvals =>
  createApprovals({ documents, rules: settings.approvals, hours: settings.approvalHours, now });
