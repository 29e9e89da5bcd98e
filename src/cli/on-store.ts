import type { DivisorClient } from '#clients/typescript/divisor.js';
import type { Route } from '#contract/route.js';

/** Request of a client, for any operation. */
interface AnyRequest {
  readonly query?: object;
  readonly body?: unknown;
}

type SendRequest = (operation: string, ...rest: unknown[]) => unknown;

/**
 * Calls `use` with a client that adds a data store to its requests, if their route supports that. Warns if no request
 * named the store.
 * @cost loads the contract if a store is given
 */
export async function runOnStore(
  storeId: string | undefined,
  client: DivisorClient,
  use: (client: DivisorClient) => Promise<number>,
): Promise<number> {
  if (storeId === undefined) return use(client);
  const { API } = await import('#contract/api.js');
  let isNamed = false;

  function describeOperation(operation: string, request: AnyRequest = {}): AnyRequest {
    const route: Route = API[operation as keyof typeof API]; // the client's types admit only operations of the contract
    const { query, body } = request;
    const isInBody = route.onStore === 'body' && hasMember(route, 'store_id');
    if (route.onStore === 'query' || isInBody) isNamed = true;
    if (route.onStore === 'query') return { ...request, query: { ...query, store_id: storeId } };
    return isInBody ? { ...request, body: { ...(body as object | undefined), store_id: storeId } } : request;
  }

  const createPlainSend =
    (send: SendRequest): SendRequest =>
    (operation, request) =>
      send(operation, describeOperation(operation, request as AnyRequest));
  const createTypedSend =
    (send: SendRequest): SendRequest =>
    (operation, type, request) =>
      send(operation, type, describeOperation(operation, request as AnyRequest));
  const ownDivisorClient = {
    ...client,
    call: createPlainSend(client.call as SendRequest),
    callWithEtag: createPlainSend(client.callWithEtag as SendRequest),
    download: createTypedSend(client.download as SendRequest),
    stream: createTypedSend(client.stream as SendRequest),
  } as unknown as DivisorClient; // Each function adds the store to its request before it sends it.
  const status = await use(ownDivisorClient);
  if (!isNamed)
    process.stderr.write(`warning: --store ${storeId} has no effect, because the command does not select a store.\n`);
  return status;
}

function hasMember({ body }: Route, member: string): boolean {
  const { shape } = (body?.schema ?? {}) as { readonly shape?: Readonly<Record<string, unknown>> };
  return shape !== undefined && member in shape;
}
