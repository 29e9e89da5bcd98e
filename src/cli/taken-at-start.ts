import type { DataStore, DivisorClient } from '#clients/typescript/divisor.js';

export type StartFindings = NonNullable<DataStore['taken_at_start']>['findings'];

/**
 * Lists findings of data that the service loaded at its start and that no refresh reported, because a home that a
 * command opens reads its current data.
 */
export async function listStartFindings(client: DivisorClient): Promise<StartFindings> {
  const { stores } = await client.call('listStores');
  return stores.find(({ active }) => active)?.taken_at_start?.findings ?? [];
}
