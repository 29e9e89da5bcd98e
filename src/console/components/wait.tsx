import { useEffect, useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import type { Resource } from '../state/resource.js';
import { Problem } from './problem.js';
import './wait.css';

/** Nothing is said of a wait that is over before anybody has noticed it. */
const QUIET_MS = 200;

/** Says what is waited for, once the wait can be felt. */
export function Wait({ what }: { readonly what: string }) {
  const [isSaid, setSaid] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSaid(true), QUIET_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p class="wait" role="status">
      {isSaid && (
        <>
          <span class="wait-mark" aria-hidden="true" /> Waiting for {what} …
        </>
      )}
    </p>
  );
}

interface AnsweredProps<T> {
  readonly resource: Resource<T>;
  /** The object of "Waiting for". */
  readonly what: string;
  readonly children: (data: T) => ComponentChildren;
}

/** Renders an answer; shows the wait before it, and the problem if there is none. */
export function Answered<T>({ resource, what, children }: AnsweredProps<T>) {
  const { data, trouble, isLoading, reload } = resource;
  if (data === undefined) {
    if (trouble !== null) return <Problem trouble={trouble} onRetry={reload} />;
    return isLoading ? <Wait what={what} /> : null;
  }
  return (
    <>
      {trouble !== null && <Problem trouble={trouble} onRetry={reload} />}
      {children(data)}
    </>
  );
}
