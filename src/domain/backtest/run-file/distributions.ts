import { createEffectTable } from '../../index-mathematics/session-effects.js';
import { createIndexTerms } from '../../books/index-run.js';
import type { Block } from './block.js';
import { listAppendedEffects, createEffectRows, groupRowsBySecurity, type RowLayout } from './effects.js';
import { compareByElement } from './parts.js';

/**
 * Number of elements in a row: security, date, special dividend, ordinary dividend of a long position, ordinary
 * dividend of a short position.
 */
export const DISTRIBUTION_WIDTH = 5;

const DISTRIBUTION_LAYOUT: RowLayout = {
  width: DISTRIBUTION_WIDTH,
  has: ({ special, ordinary }, e) => special[e] !== 0 || ordinary[e] !== 0,
  write(rows, position, { special, income, ordinary, terms }, e) {
    rows[position + 2] = special[e]!;
    rows[position + 3] = income[e]!;
    rows[position + 4] = terms.variant === 'price' ? 0 : ordinary[e]!;
  },
};

/** Cash per share that is not reinvested in the paying security. */
export const distributions: Block<'f64'> = {
  type: 'f64',
  axes: ['effects', 'numbers'],
  positionsEvery: DISTRIBUTION_WIDTH,
  compare: compareByElement(9),
  upgrade: (columns) => groupRowsBySecurity(columns.f64('distributions'), DISTRIBUTION_WIDTH),
  canBeAddedLater: true,
  meaning:
    'rows of security, date, special dividend by which the previous close is reduced, ordinary dividend that a long and a short position reinvest in the whole index; by security then date, those of an extension follow; absent if there are none, and up to 0.2.0',
  whole({ run: { portfolio, index }, names }) {
    const { sm, from, length } = portfolio;
    const table = createEffectTable(sm, createIndexTerms(index.compositions));
    const rows = createEffectRows(table, DISTRIBUTION_LAYOUT, {
      names,
      securityCount: sm.securityCount,
      from,
      to: from + length,
    });
    return rows.length === 0 ? null : rows;
  },
  added: (source) => ({
    appended: listAppendedEffects(source, DISTRIBUTION_LAYOUT).filter(({ length }) => length > 0),
  }),
};
