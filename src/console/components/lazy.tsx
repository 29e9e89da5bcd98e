import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { troubleOf, type Trouble } from '../state/service.js';
import { Problem } from './problem.js';
import { Wait } from './wait.js';

/** A part of a page that is loaded when it is first shown. @param what is waited for, after "Waiting for" */
export function lazy<P extends object>(what: string, load: () => Promise<ComponentType<P>>): ComponentType<P> {
  let loaded: ComponentType<P> | null = null;
  return function Lazy(props: P) {
    const [Part, setPart] = useState(() => loaded);
    const [trouble, setTrouble] = useState<Trouble | null>(null);
    useEffect(() => {
      if (loaded !== null) return;
      load().then(
        (one) => {
          loaded = one;
          setPart(() => one);
        },
        (thrown: unknown) => setTrouble(troubleOf(thrown)),
      );
    }, []);
    if (trouble !== null) return <Problem trouble={trouble} onRetry={() => location.reload()} />;
    return Part === null ? <Wait what={what} /> : <Part {...props} />;
  };
}
