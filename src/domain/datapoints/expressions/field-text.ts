import type { MarketData } from '../../market/market-data.js';
import { isRelative, createLatestRequest } from '../field-request.js';
import { parseExpression } from './parse.js';
import { listCalls, listExpressionReads, type Definitions } from './reads.js';
import type { DatapointExpression } from './tree.js';

type Columns = Pick<MarketData, 'fields' | 'reference'>;

/**
 * Parses a text as the name of a datapoint, or as an expression.
 * @throws SyntaxFault
 */
export const parseField = (text: string, market: Columns | undefined): DatapointExpression =>
  isName(text, market) ? createLatestRequest(text) : parseExpression(text).tree;

/** Returns true if values of a field depend on the universe in addition to the requested securities. */
export function readsUniverse(text: string): boolean {
  const field = parseField(text, undefined);
  return (
    listExpressionReads(field, NO_DEFINITIONS).some(({ field: { name } }) => isRelative(name)) ||
    listCalls(field, NO_DEFINITIONS).some(({ over }) => over === 'universe')
  );
}

const NO_DEFINITIONS: Definitions = new Map();

/** Names that were possible before expressions were introduced: letters, digits, spaces, dots and underscores. */
const NAME_PATTERN = /^[\p{L}\p{N}_][\p{L}\p{N}_ .]{0,63}$/u;

/** Numbers are not names. */
const NUMBER_PATTERN = /^\d+(?:\.\d*)?$/;

/**
 * Returns true if a text is the name of a datapoint. Every exact column name of the market is a name, whatever
 * characters it contains.
 */
export function isName(text: string, market: Columns | undefined): boolean {
  if (market?.fields.has(text) === true || market?.reference.columns.includes(text) === true) return true;
  return NAME_PATTERN.test(text) && !NUMBER_PATTERN.test(text);
}
