import type { Approval } from '#clients/typescript/divisor.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';

/** Pending request to accept the findings of a check on a day. */
export interface WaiverRequest extends Pick<WaiverFacts, 'schedule_id' | 'date' | 'check' | 'index_id'> {
  readonly approval_id: number;
}

type WaiverFacts = Extract<NonNullable<Approval['facts']>, { readonly kind: 'waive' }>;

/** Returns the pending requests to accept findings, for all schedules. Returns none until they are loaded. */
export function useWaiverRequests(): readonly WaiverRequest[] {
  const pending = useResource('pending waivers', (signal) =>
    service.value.call('listApprovals', { query: { state: 'pending' }, signal }),
  );
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
