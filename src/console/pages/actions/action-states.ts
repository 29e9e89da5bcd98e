import type { DeskAction } from '#clients/typescript/divisor.js';
import type { BadgeKind } from '../../components/badge.js';

/** Badge kinds by state. Choices list the states in this order. */
export const STATE_KINDS: Readonly<Record<DeskAction['state'], BadgeKind>> = {
  new: 'warning',
  amended: 'bad',
  confirmed: 'good',
  rejected: 'plain',
};
