import type { Approval } from '#clients/typescript/divisor.js';
import type { Kind } from '../../components/badge.js';

/** Kinds of badges by state, in the order of a choice. */
export const STATE_KINDS: Readonly<Record<Approval['state'], Kind>> = {
  pending: 'warning',
  approved: 'good',
  used: 'plain',
  rejected: 'bad',
  withdrawn: 'plain',
  expired: 'plain',
};
