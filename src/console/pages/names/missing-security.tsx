import { EmptyState } from '../../components/empty-state.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { formatSecurityAddress } from '../../words/addresses.js';

interface MissingSecurityProps {
  readonly identifier: string;
  /** Store that does not contain the security. Default: the served store. */
  readonly store: string | undefined;
  /** Reason of the service. */
  readonly message: string;
}

/** Renders the reason why a security cannot be shown, with links to the same security in other stores. */
export function MissingSecurity({ identifier, store, message }: MissingSecurityProps) {
  const stores = useResource(`stores with ${identifier} ${store}`, (signal) =>
    listStoresWith(identifier, store, signal),
  );
  return (
    <EmptyState title={message}>
      {stores.data !== undefined && stores.data.length === 0 && 'No other registered store contains this security.'}
      {stores.data !== undefined && stores.data.length > 0 && (
        <>
          <p>The security is in other stores:</p>
          <ul class="name-stores">
            {stores.data.map(({ store_id: id, name }) => (
              <li key={id}>
                <a href={formatSecurityAddress(identifier, id)}>{id}</a> <span class="quiet">{name}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </EmptyState>
  );
}

/** Maximum number of securities per search. The security itself is one of them. */
const SEARCHED_MAX = 1000;
/** Maximum length of a search text. */
const TEXT_MAX = 64;

/** Returns the other stores that contain a security. A store that cannot be read is left out. */
async function listStoresWith(identifier: string, missing: string | undefined, signal: AbortSignal) {
  const { stores } = await service.value.call('listStores', { signal });
  const otherStores = stores.filter(({ store_id: id, active }) => (missing === undefined ? !active : id !== missing));
  const hasSecurity = await Promise.all(
    otherStores.map(({ store_id }) =>
      service.value
        .call('searchIdentifiers', {
          query: { q: identifier.slice(0, TEXT_MAX), limit: SEARCHED_MAX, store_id },
          signal,
        })
        .then(
          ({ identifiers }) => identifiers.some((security) => security.identifier === identifier),
          () => false,
        ),
    ),
  );
  return otherStores.filter((_, position) => hasSecurity[position]);
}
