import { listDifferences, isObject, type Json, type JsonObject } from '../../words/paths.js';

/**
 * Returns true if a market differs from the standard tables and requires a mapping.
 * @param usual the default of each member
 */
export function needsMapping(mapping: JsonObject, usual: JsonObject): boolean {
  return Object.entries(mapping).some(([name, value]) => {
    const otherwise = usual[name] ?? null;
    // a market with a column of the standard name, and with identifiers in a column, needs no mapping
    if (name === 'columns' && isObject(value)) return Object.entries(value).some(([role, column]) => role !== column);
    if (name === 'identifier_from' && value === 'column') return false;
    return listDifferences(value as Json, otherwise).length > 0;
  });
}
