import { activateStore } from '../state/actions.js';
import { may } from '../state/principal.js';
import type { Trouble } from '../state/service.js';
import { Banner } from './banner.js';
import { Button } from './button.js';
import { Findings } from './findings.js';

interface ProblemProps {
  readonly trouble: Trouble;
  readonly onRetry?: (() => void) | undefined;
}

/** What the service said went wrong, with every finding and its field. */
export function Problem({ trouble, onRetry }: ProblemProps) {
  const { message, code, findings, requestId } = trouble;
  const store = trouble.code === 'STORE_MISMATCH' ? storeOf(trouble.detail) : null;
  const own = findings.length === 1 && findings[0]!.message === message ? [] : findings;
  return (
    <Banner
      kind="bad"
      title={message}
      action={store === null ? onRetry && <Button onClick={onRetry}>Try again</Button> : <Serve store={store} />}
    >
      {findings.length === 1 && own.length === 0 && findings[0]!.path !== '' && (
        <p>
          Field <code>{findings[0]!.path}</code>
        </p>
      )}
      {own.length > 0 && <Findings findings={own} />}
      {code !== null && (
        <p class="quiet">
          <code>{code}</code>
          {requestId !== null && (
            <>
              {' '}
              · request <code>{requestId}</code>
            </>
          )}
        </p>
      )}
    </Banner>
  );
}

/** The store that an answer was asked of while another one is served. */
function storeOf(detail: Trouble['detail']): string | null {
  const store = (detail as { readonly store_id?: unknown } | null)?.store_id;
  return typeof store === 'string' ? store : null;
}

/** The same question gets the same answer until the other store is served. */
function Serve({ store }: { readonly store: string }) {
  return may('data') ? <Button onClick={() => void activateStore(store)}>Serve {store}</Button> : null;
}
