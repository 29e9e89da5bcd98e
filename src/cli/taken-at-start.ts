import type { DataStore, DivisorClient } from '#clients/typescript/divisor.js';

export type TakenFindings = NonNullable<DataStore['taken_at_start']>['findings'];

/**
 * What starts took of the served data that nobody has been told by a refresh: a home that a command opens reads its data
 * as it is now.
 */
export async function takenAtStart(client: DivisorClient): Promise<TakenFindings> {
  const { stores } = await client.call('listStores');
  return stores.find(({ active }) => active)?.taken_at_start?.findings ?? [];
}
