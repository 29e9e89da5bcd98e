import { createApprovals, type Approvals } from '#services/approvals/approvals.js';
import type { Rooms } from './rooms.js';

/** Opens the gate of changes that need a second person, by the settings. */
export const openApprovals = ({ documents, settings, now }: Pick<Rooms, 'documents' | 'settings' | 'now'>): Approvals =>
  createApprovals({ documents, rules: settings.approvals, hours: settings.approvalHours, now });
