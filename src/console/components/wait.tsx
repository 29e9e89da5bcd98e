import { useEffect, useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';
import type { Resource } from '../state/resource.js';
import { Problem } from './problem.js';
import { RowsSkeleton } from './skeleton.js';
import './wait.css';

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
    <div class="wait">
      {waited >= INDICATOR_DELAY_MS && skeleton}
      <p role="status" class={waited >= MESSAGE_DELAY_MS ? 'wait-words' : 'unseen'}>
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
