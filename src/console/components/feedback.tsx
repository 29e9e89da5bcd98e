import './badge.css';
import './banner.css';
import './empty-state.css';
import './findings.css';
import './skeleton.css';
import './wait.css';
import './progress.css';
import { signal } from '@preact/signals';
import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Finding } from '#clients/typescript/divisor.js';
import { activateStore } from '../state/actions.js';
import { createTrouble, isReached, may, type Resource, type Trouble, worldVersion } from '../state/service.js';
import { useStores } from '../state/stores.js';
import { formatApprovalAddress } from '../words/addresses.js';
import { formatMessage, isMissing } from '../words/findings.js';
import { Button } from './controls/button.js';
import type { Column } from './table/model.js';

export type BadgeKind = 'plain' | 'good' | 'warning' | 'bad' | 'info';

interface BadgeProps {
  readonly kind?: BadgeKind;
  readonly title?: string | undefined;
  readonly children: ComponentChildren;
}

/** Renders a state as a word. Its colour only repeats what the word says. */
export function Badge({ kind = 'plain', title, children }: BadgeProps) {
  return (
    <span class={`inline-line gap-1 small second one-line badge ${kind}`} title={title}>
      {children}
    </span>
  );
}

interface BannerProps {
  readonly kind: Exclude<BadgeKind, 'plain'>;
  readonly title: ComponentChildren;
  readonly action?: ComponentChildren;
  readonly children?: ComponentChildren;
}

/** Renders a notice at the top of a page or section. */
export function Banner({ kind, title, action, children }: BannerProps) {
  return (
    <section class={`flow spread frame banner ${kind}`} role={kind === 'bad' ? 'alert' : 'status'}>
      <div class="pile gap-1 banner-words">
        <strong>{title}</strong>
        {children}
      </div>
      {action !== undefined && <div class="wrap gap-2">{action}</div>}
    </section>
  );
}

interface EmptyStateProps {
  readonly title: string;
  readonly children?: ComponentChildren;
  readonly action?: ComponentChildren;
}

/** Renders the reason why there is nothing to show, and a possible action. */
export function EmptyState({ title, children, action }: EmptyStateProps) {
  return (
    <section class="pile gap-2 empty-state">
      <h2>{title}</h2>
      {children !== undefined && <div class="second empty-words">{children}</div>}
      {action !== undefined && <div class="wrap gap-2 empty-action">{action}</div>}
    </section>
  );
}

export interface FindingField {
  /** Id of the element that contains the field. */
  readonly id: string;
  /** Member of the document that the field edits. The next field is its label. */
  readonly member: string;
  readonly label: string;
}

/** Displayed fields by the key of their finding. */
const fieldsByFinding = signal<ReadonlyMap<string, FindingField>>(new Map());

const getKey = ({ code, path, message }: Finding): string => `${code} ${path} ${message}`;

/** Returns the field that displays a finding. */
export const findFindingField = (finding: Finding): FindingField | undefined =>
  fieldsByFinding.value.get(getKey(finding));

/** Registers a field for its findings. A list of findings can then link to the field. */
export function useFindingField(findings: readonly Finding[], { id, member, label }: FindingField): void {
  const keys = findings.map(getKey).join('\n');
  useLayoutEffect(() => {
    if (findings.length === 0) return undefined;
    const field = { id, member, label };
    const findingKeys = findings.map(getKey);
    fieldsByFinding.value = new Map([...fieldsByFinding.peek(), ...findingKeys.map((key) => [key, field] as const)]);
    return () => {
      fieldsByFinding.value = new Map([...fieldsByFinding.peek()].filter(([, other]) => other !== field));
    };
  }, [keys, id, member, label]);
}

/** Opens the folded sections around a field and focuses the field. */
export function focusField({ id }: FindingField): void {
  const field = document.getElementById(id);
  for (let fold = field?.closest('details'); fold != null; fold = fold.parentElement?.closest('details'))
    fold.open = true;
  field?.querySelector<HTMLElement>('input, select, textarea, [role=textbox], button')?.focus();
}

const BADGE_KINDS = { error: 'bad', warning: 'warning', info: 'info' } as const;

interface FindingsProps {
  readonly findings: readonly Finding[];
  /** Maximum number of findings that are visible. Further findings are folded. */
  readonly shown?: number;
  /** Returns the address of the form that contains the field of a finding. Returns null if no form has the field. */
  readonly formatAddress?: ((path: string) => string | null) | undefined;
  /** True for a form that is not complete yet. A missing value is then not an error. */
  readonly isOpenForm?: boolean | undefined;
}

/** Renders findings with the labels of their fields. "Details" contains the code and path of each finding. */
export function Findings({ findings, shown = 8, formatAddress, isOpenForm }: FindingsProps) {
  const hiddenFindings = findings.slice(shown);
  return (
    <div class="findings">
      <FindingList findings={findings.slice(0, shown)} formatAddress={formatAddress} isOpenForm={isOpenForm} />
      {hiddenFindings.length > 0 && (
        <details>
          <summary>{hiddenFindings.length} more</summary>
          <FindingList findings={hiddenFindings} formatAddress={formatAddress} isOpenForm={isOpenForm} />
        </details>
      )}
    </div>
  );
}

function FindingList({ findings, formatAddress, isOpenForm = false }: Omit<FindingsProps, 'shown'>) {
  return (
    <ul class="pile gap-2 finding-list">
      {findings.map((finding) => {
        const address = formatAddress?.(finding.path) ?? null;
        const shortFinding = shorten(finding);
        return (
          <li key={`${finding.code} ${finding.path} ${finding.message}`}>
            {isOpenForm && isMissing(finding) ? (
              <Badge>to fill in</Badge>
            ) : (
              <Badge kind={BADGE_KINDS[finding.severity]}>{finding.severity}</Badge>
            )}
            <div>
              <FindingText finding={shortFinding} hasAddress={address !== null} />{' '}
              <FindingDetails finding={finding} address={address} isShortened={shortFinding !== finding} />
            </div>
          </li>
        );
      })}
    </ul>
  );
}

/**
 * Maximum number of characters of a message. Of a longer message, only the first part is shown outside of "Details".
 */
const MESSAGE_MAX = 200;

/** Shortens a long message to its first sentences. If it is one sentence with a list, removes the list. */
function shorten(finding: Finding): Finding {
  const { message } = finding;
  if (message.length <= MESSAGE_MAX) return finding;
  const sentence = message.lastIndexOf('. ', MESSAGE_MAX);
  const end = sentence > 0 ? sentence : message.lastIndexOf(': ', MESSAGE_MAX);
  const [clause = '.'] = (sentence < 0 && /; [^;()]{1,60}$/.exec(message)) || [];
  return end > 0 ? { ...finding, message: message.slice(0, end) + clause } : finding;
}

interface FindingTextProps {
  readonly finding: Finding;
  /** True if the address of the form that contains the field is shown next to the text. */
  readonly hasAddress?: boolean;
}

/**
 * Renders the message of a finding with the label of its field. If the field is on the page, a button moves the focus
 * to it.
 */
function FindingText({ finding, hasAddress = false }: FindingTextProps) {
  const field = findFindingField(finding);
  return (
    <>
      {formatMessage(finding, field)}
      {field !== undefined && !hasAddress && (
        <>
          {' '}
          <Button kind="bare" onClick={() => focusField(field)}>
            Go to {field.label}
          </Button>
        </>
      )}
    </>
  );
}

interface FindingDetailsProps {
  readonly finding: Finding;
  readonly address: string | null;
  /** True if the complete message is not shown outside of the details. */
  readonly isShortened: boolean;
}

function FindingDetails({ finding, address, isShortened }: FindingDetailsProps) {
  const { code, path, message } = finding;
  return (
    <>
      {address !== null && (
        <>
          {' '}
          <a href={address}>Edit the field</a>
        </>
      )}
      <details>
        <summary>Details</summary>
        {isShortened && <p>{message}</p>}
        <code>{code}</code>
        {path !== '' && (
          <>
            {' at '}
            <code>{path}</code>
          </>
        )}
      </details>
    </>
  );
}

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

/** Renders the outline of a page before its script is loaded. */
export const PageSkeleton = () => (
  <div class="stack gap-4 page" aria-hidden="true">
    <span class="skeleton skeleton-title" />
    <FiguresSkeleton />
    <span class="skeleton skeleton-chart" />
  </div>
);

export const FiguresSkeleton = () => (
  <div class="pile skeleton-figures" aria-hidden="true">
    {[1, 2, 3, 4, 5].map((at) => (
      <span key={at} class="skeleton skeleton-figure" />
    ))}
  </div>
);

/** Renders the outline of a value in a cell or next to a label. */
export const ValueSkeleton = () => (
  <span class="skeleton skeleton-value">
    <span class="unseen">loading</span>
  </span>
);

export const RowsSkeleton = () => (
  <div class="pile gap-2" aria-hidden="true">
    {[1, 2, 3].map((at) => (
      <span key={at} class="skeleton skeleton-row" />
    ))}
  </div>
);

/** Returns a column of a table that shows outlines, because its values are loading. */
export const createAwaitedColumn = <R,>(column: Column<R>): Column<R> => ({ ...column, show: () => <ValueSkeleton /> });

/** Delay before a wait is shown, in milliseconds. */
const INDICATOR_DELAY_MS = 200;
/** Time in milliseconds after which a wait is described in words. */
const MESSAGE_DELAY_MS = 2_000;

interface WaitProps {
  readonly what: string;
  /** Outline of the expected content. Default: rows. */
  readonly skeleton?: ComponentChildren;
}

/** Renders an outline of the expected content after a short time. Screen readers announce the name of the content. */
export function Wait({ what, skeleton = <RowsSkeleton /> }: WaitProps) {
  const [waited, setWaited] = useState(0);
  useEffect(() => {
    const timers = [INDICATOR_DELAY_MS, MESSAGE_DELAY_MS].map((ms) => setTimeout(() => setWaited(ms), ms));
    return () => timers.forEach(clearTimeout);
  }, []);
  return (
    <div class="pile gap-2 wait">
      {waited >= INDICATOR_DELAY_MS && skeleton}
      <p role="status" class={waited >= MESSAGE_DELAY_MS ? 'second' : 'unseen'}>
        {waited >= INDICATOR_DELAY_MS && `Loading ${what} …`}
      </p>
    </div>
  );
}

interface AnsweredProps<T> {
  readonly resource: Resource<T>;
  /** Name of the content, shown after "Loading". */
  readonly what: string;
  readonly skeleton?: ComponentChildren;
  readonly children: (data: T) => ComponentChildren;
}

/** Renders the data of a resource. While it is loading, renders an outline; after a failure, renders the error. */
export function Answered<T>({ resource, what, skeleton, children }: AnsweredProps<T>) {
  const { data, trouble, isLoading, reload } = resource;
  if (data === undefined) {
    if (trouble !== null) return <Problem trouble={trouble} onRetry={reload} />;
    return isLoading ? <Wait what={what} skeleton={skeleton} /> : null;
  }
  return (
    <>
      {trouble !== null && <Problem trouble={trouble} onRetry={reload} />}
      {children(data)}
    </>
  );
}

/**
 * Creates a component whose script is loaded when it is first rendered.
 * @param what name of the content, shown after "Loading"
 * @param Substitute component that is rendered until the script is loaded. Default: a note that the content is loading
 */
export function createLazyComponent<P extends object>(
  what: string,
  load: () => Promise<ComponentType<P>>,
  Substitute?: ComponentType<P>,
): ComponentType<P> {
  let loadedComponent: ComponentType<P> | null = null;
  return function Lazy(props: P) {
    const [Part, setPart] = useState(() => loadedComponent);
    const hasAsked = useRef(false);
    const [trouble, setTrouble] = useState<Trouble | null>(null);
    const now = worldVersion.value;
    // After a failure, tries again whenever the state of the service changes, for example when it is available again.
    useEffect(() => {
      if (loadedComponent !== null || (trouble === null && hasAsked.current)) return;
      hasAsked.current = true;
      load().then(
        (one) => {
          loadedComponent = one;
          setPart(() => one);
          setTrouble(null);
        },
        // If the import of a script failed, browsers remember the failure until the page is reloaded.
        (thrown: unknown) =>
          trouble !== null && isReached.value ? location.reload() : setTrouble(createTrouble(thrown)),
      );
    }, [now]);
    if (trouble !== null) return <Problem trouble={trouble} onRetry={() => location.reload()} />;
    const Shown = Part ?? Substitute;
    return Shown === undefined ? <Wait what={what} /> : <Shown {...props} />;
  };
}

interface ProgressProps {
  /** 0 to 1. */
  readonly value: number;
  readonly label: string;
}

export function Progress({ value, label }: ProgressProps) {
  return (
    <span
      class="progress"
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(value * 100)}
    >
      <span style={{ transform: `scaleX(${value})` }} />
    </span>
  );
}
