import { listDifferences, isObject, type Json, type JsonObject } from '../../words/paths.js';

/**
 * Returns true if a market needs a mapping, because it differs from the standard tables.
 * @param usual the default of each member
 */
export function needsMapping(mapping: JsonObject, usual: JsonObject): boolean {
  return Object.entries(mapping).some(([name, value]) => {
    const otherwise = usual[name] ?? null;
    // a market needs no mapping if a column has the standard name and if identifiers are in a column
    if (name === 'columns' && isObject(value)) return Object.entries(value).some(([role, column]) => role !== column);
    if (name === 'identifier_from' && value === 'column') return false;
    return listDifferences(value as Json, otherwise).length > 0;
  });
}
