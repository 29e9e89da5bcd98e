import type { DeskAction } from '#clients/typescript/divisor.js';
import type { Kind } from '../../components/badge.js';

/** Kinds of badges by state, in the order of a choice. */
export const STATE_KINDS: Readonly<Record<DeskAction['state'], Kind>> = {
  new: 'warning',
  amended: 'bad',
  confirmed: 'good',
  rejected: 'plain',
};

/** `Special dividend` for SPECIAL_DIVIDEND. */
export const typeWords = (type: DeskAction['type']): string =>
  `${type.charAt(0)}${type.slice(1).toLowerCase().replaceAll('_', ' ')}`;
