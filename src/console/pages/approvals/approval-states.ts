import type { Approval } from '#clients/typescript/divisor.js';
import type { Kind } from '../../components/badge.js';
import { addressOf } from '../../state/place.js';
import { indexAddress, scheduleAddress, storeAddress } from '../../words/addresses.js';

/** Badge kinds by state. Choices list the states in this order. */
export const STATE_KINDS: Readonly<Record<Approval['state'], Kind>> = {
  pending: 'warning',
  approved: 'good',
  used: 'plain',
  rejected: 'bad',
  withdrawn: 'plain',
  expired: 'plain',
};

/** Labels of the changes that may need approval. */
export const ACTION_WORDS: Readonly<Record<Approval['action'], string>> = {
  publish: 'Publish closes',
  restate: 'Restate closes',
  amend: 'Change a definition',
  action: 'Decide a corporate action',
  override: 'Override a price',
  waive: 'Accept findings of a check',
};

/** Returns the address of the page of an approval's subject. */
export function subjectAddress({ action, subject, detail }: Pick<Approval, 'action' | 'subject' | 'detail'>): string {
  switch (action) {
    case 'waive':
      return addressOf(scheduleAddress(subject), { day: textOf(detail['date']) });
    case 'override':
      return addressOf(storeAddress(subject), {
        tab: 'overrides',
        security: textOf(detail['identifier']),
        date: textOf(detail['date']),
      });
    case 'action':
      return addressOf('/console/actions', { action: textOf(detail['action_id']) });
    default:
      return indexAddress(subject);
  }
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** Last level that a publication would add and its change since the previous close; null for other requests. */
interface LastLevels {
  readonly level: number | null;
  readonly move: number | null;
}

/** Returns the last level of a publication request, by which an approver can recognise a wrong close in a list. */
export function lastLevels({ facts }: Pick<Approval, 'facts'>): LastLevels {
  if (facts?.kind !== 'publish' && facts?.kind !== 'restate') return { level: null, move: null };
  const variant = facts.close.price === null ? 'total' : 'price';
  const [level, before] = [facts.close[variant], facts.previous?.[variant] ?? null];
  return { level, move: level === null || before === null ? null : level / before - 1 };
}
