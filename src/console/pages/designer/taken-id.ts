import type { Finding } from '#clients/typescript/divisor.js';
import type { Json } from '../../words/paths.js';

/** Returns a finding if a stored index already has the id of a new index. */
export function listTakenIdFindings(id: Json | undefined, storedIds: readonly string[]): readonly Finding[] {
  if (typeof id !== 'string' || !storedIds.includes(id)) return [];
  const message = `An index is already stored under the id ${id}; a new index needs a different id.`;
  return [{ severity: 'error', code: 'DUPLICATE_ID', path: 'id', message, value: id }];
}
