import { createEffectTable } from '../../index-mathematics/session-effects.js';
import { createIndexTerms } from '../../books/index-run.js';
import type { Block, BlockFiller, WholeRun } from './block.js';
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
  whole: (source) => listRows(source, DISTRIBUTION_LAYOUT),
  added: (source) => ({
    appended: listAppendedEffects(source, DISTRIBUTION_LAYOUT).filter(({ length }) => length > 0),
  }),
};

/** Number of elements in a row: security, date, value of the spun-off shares. */
export const DETACHMENT_WIDTH = 3;

const DETACHMENT_LAYOUT: RowLayout = {
  width: DETACHMENT_WIDTH,
  has: ({ detached }, e) => detached[e] !== 0,
  write(rows, position, { detached }, e) {
    rows[position + 2] = detached[e]!;
  },
};

/** Value of spun-off shares by which the price of a security without a bar falls. */
export const detachments: Block<'f64'> = {
  type: 'f64',
  axes: ['effects', 'numbers'],
  positionsEvery: DETACHMENT_WIDTH,
  compare: compareByElement(13),
  upgrade: (columns) => groupRowsBySecurity(columns.f64('detachments'), DETACHMENT_WIDTH),
  canBeAddedLater: true,
  meaning:
    'rows of security, date, value of spun-off shares by which the price of a security without a price bar falls; by security then date, those of an extension follow; absent if there are none, and up to 0.7.0',
  whole: (source) => listRows(source, DETACHMENT_LAYOUT),
  added: (source) => ({
    appended: listAppendedEffects(source, DETACHMENT_LAYOUT).filter(({ length }) => length > 0),
  }),
};

/** Returns the rows of a whole run. Returns null if there are none. */
function listRows(
  { run: { portfolio, index }, names }: Pick<WholeRun, 'run' | 'names'>,
  layout: RowLayout,
): BlockFiller<Float64Array> | null {
  const { sm, from, length } = portfolio;
  const table = createEffectTable(sm, createIndexTerms(index.compositions));
  const rows = createEffectRows(table, layout, { names, securityCount: sm.securityCount, from, to: from + length });
  return rows.length === 0 ? null : rows;
}
