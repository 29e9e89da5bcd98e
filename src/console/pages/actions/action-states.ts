import type { DeskAction } from '#clients/typescript/divisor.js';
import type { BadgeKind } from '../../components/badge.js';

/** Badge kinds by state. Choices list the states in this order. */
export const STATE_KINDS: Readonly<Record<DeskAction['state'], BadgeKind>> = {
  new: 'warning',
  amended: 'bad',
  confirmed: 'good',
  rejected: 'plain',
};

/** Formats a type of action, for example `Special dividend` for SPECIAL_DIVIDEND. */
export const formatType = (type: DeskAction['type']): string =>
  `${type.charAt(0)}${type.slice(1).toLowerCase().replaceAll('_', ' ')}`;
