import { activateStore } from '../state/actions.js';
import { may } from '../state/principal.js';
import type { Trouble } from '../state/service.js';
import { useStores } from '../state/stores.js';
import { formatApprovalAddress } from '../words/addresses.js';
import { Banner } from './banner.js';
import { Button } from './button.js';
import { Findings, FindingText } from './findings.js';

interface ProblemProps {
  readonly trouble: Trouble;
  readonly onRetry?: (() => void) | undefined;
}

/**
 * Renders an error of the service with all findings. "Details" contains codes, paths and the request id. If a request
 * waits for approval, that is shown as information and not as an error.
 */
export function Problem({ trouble, onRetry }: ProblemProps) {
  if (trouble.code === 'APPROVAL_REQUIRED') return <AwaitedApproval trouble={trouble} />;
  const { message, code, findings, requestId } = trouble;
  const store = trouble.code === 'STORE_MISMATCH' ? findStore(trouble.detail) : null;
  // If a document does not exist, the same request always has the same result.
  const canRetry = onRetry !== undefined && code?.endsWith('_NOT_FOUND') !== true;
  const [first] = findings;
  const only = findings.length === 1 && first?.message === message ? first : undefined;
  const ownFindings = only === undefined ? findings : [];
  const path = only?.path ?? '';
  return (
    <Banner
      kind={store === null ? 'bad' : 'warning'}
      title={
        store === null ? (
          only === undefined ? (
            message
          ) : (
            <FindingText finding={only} />
          )
        ) : (
          `These figures read the data store ${store}, on which the run was made.`
        )
      }
      action={store === null ? canRetry && <Button onClick={onRetry}>Try again</Button> : <Serve store={store} />}
    >
      {store !== null && <p>{message}</p>}
      {ownFindings.length > 0 && <Findings findings={ownFindings} />}
      {(code !== null || path !== '') && (
        <details>
          <summary>Details</summary>
          <p>
            {code !== null && <code>{code}</code>}
            {path !== '' && (
              <>
                {' '}
                at <code>{path}</code>
              </>
            )}
            {requestId !== null && (
              <>
                {' '}
                · request <code>{requestId}</code>
              </>
            )}
          </p>
        </details>
      )}
    </Banner>
  );
}

function AwaitedApproval({ trouble: { message, detail } }: Pick<ProblemProps, 'trouble'>) {
  const { approval_id: id } = detail as { readonly approval_id: number };
  return (
    <Banner kind="info" title={message}>
      <p>
        <a href={formatApprovalAddress(id)}>Approval {id}</a>. Send the same change again once it is approved.
      </p>
    </Banner>
  );
}

/** Returns the store for which a request failed because another store is served. */
function findStore(detail: Trouble['detail']): string | null {
  const store = (detail as { readonly store_id?: unknown } | null)?.store_id;
  return typeof store === 'string' ? store : null;
}

/** Renders a button that serves the store of the failed request. Renders nothing if the store was removed. */
function Serve({ store }: { readonly store: string }) {
  const stores = useStores();
  const isRegistered = stores.data?.stores.some(({ store_id: id }) => id === store) === true;
  if (!isRegistered || !may('data')) return null;
  return <Button onClick={() => void activateStore(store)}>Serve {store}</Button>;
}
