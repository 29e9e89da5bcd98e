import type { Approval } from '#clients/typescript/divisor.js';
import type { BadgeKind } from '../../components/feedback.js';
import { formatAddress } from '../../state/location.js';
import { type ResourceOptions, useAnswer } from '../../state/service.js';
import { formatIndexAddress, formatScheduleAddress, storeAddress } from '../../words/addresses.js';

/** Badge kinds by state. Choices list the states in this order. */
export const STATE_KINDS: Readonly<Record<Approval['state'], BadgeKind>> = {
  pending: 'warning',
  approved: 'good',
  used: 'plain',
  rejected: 'bad',
  withdrawn: 'plain',
  expired: 'plain',
};

export const ACTION_WORDS: Readonly<Record<Approval['action'], string>> = {
  publish: 'Publish closes',
  restate: 'Restate closes',
  amend: 'Change a definition',
  action: 'Decide a corporate action',
  override: 'Override a price',
  waive: 'Accept findings of a check',
};

export function formatSubjectAddress({
  action,
  subject,
  detail,
}: Pick<Approval, 'action' | 'subject' | 'detail'>): string {
  switch (action) {
    case 'waive':
      return formatAddress(formatScheduleAddress(subject), { day: findText(detail['date']) });
    case 'override':
      return formatAddress(storeAddress(subject), {
        tab: 'overrides',
        security: findText(detail['identifier']),
        date: findText(detail['date']),
      });
    case 'action':
      return formatAddress('/console/actions', { action: findText(detail['action_id']) });
    default:
      return formatIndexAddress(subject);
  }
}

const findText = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/**
 * Last level that a publication would add, and its change since the previous close. Both are null for other requests.
 */
interface LastLevels {
  readonly level: number | null;
  readonly move: number | null;
}

/** Returns the last level of a publication request. With it, an approver can notice a wrong close in a list. */
export function selectLastLevels({ facts }: Pick<Approval, 'facts'>): LastLevels {
  if (facts?.kind !== 'publish' && facts?.kind !== 'restate') return { level: null, move: null };
  const variant = facts.close.price === null ? 'total' : 'price';
  const [level, before] = [facts.close[variant], facts.previous?.[variant] ?? null];
  return { level, move: level === null || before === null ? null : level / before - 1 };
}

/** Reads the requests that wait for approval, and the rules of approvals. */
export const usePendingApprovals = (options: ResourceOptions = {}) =>
  useAnswer('listApprovals', { query: { state: 'pending' } }, options);
