import type { clientRoutes } from '#contract/clients.js';
import type { Clients, StoredClient } from '#services/delivery/clients.js';
import type { DeliveryRecords } from '#services/delivery/delivery-records.js';
import type { Handlers, Reply } from '../handler.js';
import type { Removals } from '../removals.js';

export function createClientHandlers(
  clients: Clients,
  records: Pick<DeliveryRecords, 'list' | 'latest'>,
  removals: Removals,
): Handlers<typeof clientRoutes> {
  return {
    async listClients({ query }) {
      const { items, ...skipped } = await clients.page(query);
      const listedClients = await Promise.all(
        items.map(async (client) => ({ ...client, latest_delivery: await records.latest(client.client_id) })),
      );
      return { json: { clients: listedClients, ...skipped } };
    },
    getClient: async ({ params }) => toClientReply(await clients.get(params.client_id)),
    putClient: async ({ params, body, precondition, authorship }) =>
      toClientReply(await clients.put(params.client_id, body(), precondition(), authorship())),
    async deleteClient(request) {
      const id = request.params.client_id;
      const removal = await removals.of(request, { kind: 'client', id });
      if (!('purgedRuns' in removal)) await clients.remove(id, request.precondition(), removal);
      return {};
    },
    async listDeliveries({ params, query }) {
      await clients.get(params.client_id);
      return { json: { deliveries: await records.list(params.client_id, query) } };
    },
  };
}

export const toClientReply = ({ client, etag }: StoredClient): Reply => ({ json: client, documentEtag: etag });
