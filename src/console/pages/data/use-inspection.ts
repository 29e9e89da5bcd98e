import type { InspectResult } from '#clients/typescript/divisor.js';
import { useEffect, useState } from 'preact/hooks';
import { service, troubleOf } from '../../state/service.js';
import type { JsonObject } from '../../words/paths.js';
import { contentOf, type ImportFile } from './import-files.js';
import { needsMapping, type Inspected } from './inspection.js';

/** Characters of base64 that the service looks at before an import; larger files are imported, or connected, as they are. */
const LOOKED_AT_MAX = 8 << 20;

/** Has the service look at files whenever they are others; what it proposes is taken where they are not written as the tables are. */
export function useInspection(files: readonly ImportFile[], onProposed: (result: InspectResult) => void) {
  const [inspected, setInspected] = useState<Inspected | null>(null);
  const [isLooking, setLooking] = useState(false);
  const [mapping, setMapping] = useState<JsonObject | null>(null);
  useEffect(() => {
    setInspected(null);
    setMapping(null);
    setLooking(files.length > 0);
    if (files.length === 0) return undefined;
    const given = new AbortController();
    void lookAt(files, given.signal).then((found) => {
      if (given.signal.aborted) return;
      setLooking(false);
      setInspected(found);
      if (!found?.result || !needsMapping(found.result)) return;
      setMapping(found.result.mapping as unknown as JsonObject); // A document of JSON.
      onProposed(found.result);
    });
    return () => given.abort();
  }, [files]);
  return { inspected, isLooking, mapping, setMapping };
}

async function lookAt(files: readonly ImportFile[], signal: AbortSignal): Promise<Inspected | null> {
  try {
    const body = await contentOf(files, true);
    if (body.content.length > LOOKED_AT_MAX) return null;
    return { result: await service.value.call('inspectData', { body, signal }), trouble: null };
  } catch (thrown) {
    return { result: null, trouble: troubleOf(thrown) };
  }
}
