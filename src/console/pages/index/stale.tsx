import type { IndexDocumentBody, StaleState } from '#clients/typescript/divisor.js';
import { ActionButton } from '../../components/action-button.js';
import { Banner } from '../../components/banner.js';
import { createLazyComponent } from '../../components/lazy.js';
import type { ChangedFieldsProps } from '../../components/versions/changed-fields.js';
import { usePhone } from '../../components/use-phone.js';
import { activateStore, attempt, type OnRefusal } from '../../state/actions.js';
import { formatAddress } from '../../state/location.js';
import { may } from '../../state/principal.js';
import { formatRunSubject } from '../../state/refusals.js';
import { notifyChange } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { isUnregistered, useStores } from '../../state/stores.js';
import { showToast } from '../../state/toasts.js';
import { formatIndexAddress } from '../../words/addresses.js';
import { hasOpenTerms, runAgain } from './run-settings.js';

const ChangedFields = createLazyComponent<ChangedFieldsProps>(
  'changed fields',
  async () => (await import('../../components/versions/changed-fields.js')).ChangedFields,
);

interface StaleProps {
  readonly id: string;
  /** Version of the definition that the run used; null for a strategy, or if unknown. */
  readonly version: number | null;
  readonly stale: StaleState;
  /** Data store of the index; null for the served store. */
  readonly store: string | null;
  readonly isStrategy: boolean;
}

/** Renders why the run on this page is stale. Buttons make it current or replace it. */
export function Stale({ id, version, stale, store, isStrategy }: StaleProps) {
  // If an index names no store, its run becomes current again when the store of the run is served.
  const storeId = store === null ? stale.store_id : null;
  const stores = useStores();
  const canServe = storeId !== null && stores.data !== undefined && !isUnregistered(stores.data.stores, storeId);
  const isPhone = usePhone();
  const why = (
    <>
      <Reasons {...{ id, version }} reasons={stale.reasons} />
      <StoreNote {...{ id, store, storeId, isStrategy }} />
    </>
  );
  // On a phone, several reasons are folded. The data then starts on the first screen.
  const isFolded = isPhone && (stale.reasons.length > 1 || storeId !== null);
  return (
    <Banner
      kind="warning"
      title={
        isFolded ? (
          <details class="stale">
            <summary>This run is out of date</summary>
            {why}
          </details>
        ) : (
          'This run is out of date'
        )
      }
      action={
        <>
          {canServe && may('data') && (
            <ActionButton kind="main" act={(onRefusal) => activateStore(storeId, onRefusal)}>
              Serve {storeId}
            </ActionButton>
          )}
          {canServe && !isStrategy && may('write') && (
            <ActionButton act={(onRefusal) => assignStore(id, storeId, onRefusal)}>
              Assign {id} to {storeId}
            </ActionButton>
          )}
          {!hasOpenTerms.value && may('run') && !isUnregistered(stores.data?.stores, store) && (
            <ActionButton
              kind={canServe ? 'plain' : 'main'}
              about={formatRunSubject(id)}
              act={(onRefusal) => runAgain(id, onRefusal)}
            >
              Run again
            </ActionButton>
          )}
        </>
      }
    >
      {!isFolded && why}
    </Banner>
  );
}

interface StoreNoteProps extends Pick<StaleProps, 'id' | 'store' | 'isStrategy'> {
  /** Data store of the run if the index names none; null if the run was on the store of the index. */
  readonly storeId: string | null;
}

/** Renders how the run becomes current if its data store is not served or not registered. */
function StoreNote({ id, store, storeId, isStrategy }: StoreNoteProps) {
  const stores = useStores().data?.stores;
  const link = <a href="/console/data">Data</a>;
  if (isUnregistered(stores, store))
    return (
      <p>
        Register the data store {store} on the page {link}, or assign {isStrategy ? 'the index' : id} to another data
        store.
      </p>
    );
  if (isUnregistered(stores, storeId))
    return (
      <p>
        The data store {storeId} is no longer registered. Register it on the page {link}, or run again on the served
        store.
      </p>
    );
  if (storeId === null) return null;
  return (
    <p>
      {isStrategy ? 'Its index' : id} is assigned to no data store and is therefore computed on the served one: serve{' '}
      {storeId}, {isStrategy ? 'assign the index to it' : `assign ${id} to it`}, or run again on the served store.
    </p>
  );
}

interface ReasonsProps extends Pick<StaleProps, 'id' | 'version'> {
  readonly reasons: readonly string[];
}

const Reasons = ({ reasons, ...terms }: ReasonsProps) => (
  <ul>
    {reasons.map((reason) => (
      <li key={reason}>
        <Reason {...{ ...terms, reason }} />
      </li>
    ))}
  </ul>
);

/** Renders a reason. If the definition of the index changed, renders the changed fields. */
function Reason({ id, version, reason }: Pick<StaleProps, 'id' | 'version'> & { readonly reason: string }) {
  if (version === null || !isOwnChange(reason, id)) return <>{reason}</>;
  return (
    <ChangedFields
      kind="index"
      id={id}
      since={version}
      formatAddress={(from, to) =>
        formatAddress(formatIndexAddress(id), { tab: 'versions', version: String(to), against: String(from) })
      }
      otherwise={reason}
    />
  );
}

/** Returns true if a reason states that the definition of the index itself changed. */
const isOwnChange = (reason: string, id: string): boolean =>
  reason.startsWith(`The index ${id} changed since this run`);

/** Assigns an index to a data store. The levels do not change. */
const assignStore = (id: string, store: string, onRefusal: OnRefusal) =>
  attempt(async () => {
    const params = { index_id: id };
    const { answer, etag } = await service.value.callWithEtag('getIndex', { params });
    const body = { ...answer, store_id: store } as unknown as IndexDocumentBody; // the service ignores derived members
    await service.value.call('putIndex', { params, body, ifMatch: etag ?? undefined });
    showToast('good', `${id} is computed on ${store}.`);
    notifyChange();
  }, onRefusal);
