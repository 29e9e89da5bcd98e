import type { ComponentType } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { worldVersion } from '../state/resource.js';
import { isReached, createTrouble, type Trouble } from '../state/service.js';
import { Problem } from './problem.js';
import { Wait } from './wait.js';

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
