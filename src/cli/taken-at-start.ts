import type { DataStore, DivisorClient } from '#clients/typescript/divisor.js';

export type StartFindings = NonNullable<DataStore['taken_at_start']>['findings'];

/**
 * Lists findings about data that no refresh has reported. A home that a command opens reads its current data at the
 * start, and these findings come from there.
 */
export async function listStartFindings(client: DivisorClient): Promise<StartFindings> {
  const { stores } = await client.call('listStores');
  return stores.find(({ active }) => active)?.taken_at_start?.findings ?? [];
}
