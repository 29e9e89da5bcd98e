import type { DeskAction } from '#clients/typescript/divisor.js';
import type { Kind } from '../../components/badge.js';

/** Badge kinds by state. Choices list the states in this order. */
export const STATE_KINDS: Readonly<Record<DeskAction['state'], Kind>> = {
  new: 'warning',
  amended: 'bad',
  confirmed: 'good',
  rejected: 'plain',
};

/** Formats a type of action, for example `Special dividend` for SPECIAL_DIVIDEND. */
export const typeWords = (type: DeskAction['type']): string =>
  `${type.charAt(0)}${type.slice(1).toLowerCase().replaceAll('_', ' ')}`;
