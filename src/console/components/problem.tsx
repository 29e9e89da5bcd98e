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
  const own = findings.length === 1 && findings[0]!.message === message ? [] : findings;
  return (
    <Banner kind="bad" title={message} action={onRetry && <Button onClick={onRetry}>Try again</Button>}>
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
