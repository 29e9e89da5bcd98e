import { differences, isObject, type Json, type JsonObject } from '../../words/paths.js';

/**
 * Whether a market is written otherwise than the tables of a store are, so that it is read by a mapping.
 * @param usual what each member is unless it is given
 */
export function needsMapping(mapping: JsonObject, usual: JsonObject): boolean {
  return Object.entries(mapping).some(([name, value]) => {
    const otherwise = usual[name] ?? null;
    // A column of its own name, and identifiers in a column, are said by nothing too.
    if (name === 'columns' && isObject(value)) return Object.entries(value).some(([role, column]) => role !== column);
    if (name === 'identifier_from' && value === 'column') return false;
    return differences(value as Json, otherwise).length > 0;
  });
}
