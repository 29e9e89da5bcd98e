import { usePendingApprovals } from '../../state/pending-approvals.js';
import type { WaiverRequest } from './day-states.js';

/** Returns the pending requests to accept findings, for all schedules. Returns none until they are loaded. */
export function useWaiverRequests(): readonly WaiverRequest[] {
  const pending = usePendingApprovals();
  return (pending.data?.approvals ?? []).flatMap(({ approval_id, facts }) =>
    facts?.kind === 'waive' ? [{ ...facts, approval_id }] : [],
  );
}

/** Returns the requests about a day of a schedule. */
export const listDayRequests = (
  requests: readonly WaiverRequest[],
  day: { readonly schedule_id: string; readonly date: string },
): readonly WaiverRequest[] =>
  requests.filter(({ schedule_id: id, date }) => id === day.schedule_id && date === day.date);
