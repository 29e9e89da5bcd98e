import type { Comparison } from './tree.js';

/** Keywords: as column names they must be quoted. */
export const KEYWORDS: ReadonlySet<string> = new Set(['and', 'or', 'not', 'in', 'between', 'true', 'false']);

export const SYMBOLS = {
  gt: '>',
  ge: '>=',
  lt: '<',
  le: '<=',
  eq: '==',
  ne: '!=',
  in: 'in',
  between: 'between',
} as const satisfies Readonly<Record<Comparison, string>>;

/** Comparison with exchanged sides. */
export const MIRRORED: Partial<Record<Comparison, Comparison>> = {
  gt: 'lt',
  ge: 'le',
  lt: 'gt',
  le: 'ge',
  eq: 'eq',
  ne: 'ne',
};
