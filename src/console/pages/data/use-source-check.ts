import type { DataStoreCreate, InspectResult } from '#clients/typescript/divisor.js';
import { useEffect, useRef, useState } from 'preact/hooks';
import { createTrouble, service } from '../../state/service.js';
import type { JsonObject } from '../../words/paths.js';
import type { InspectionState } from './inspection.js';
import { useMapping } from './use-mapping.js';

/**
 * Checks a folder or database before it is registered. If its tables differ from the standard tables, the proposed
 * mapping is used. A change of the source discards the result and the check in progress.
 * @param source location of the source, and the names of its tables
 */
export function useSourceCheck(source: JsonObject) {
  const [inspected, setInspected] = useState<InspectionState | null>(null);
  const [isLooking, setLooking] = useState(false);
  const running = useRef<AbortController | null>(null);
  const result = inspected?.result ?? null;
  const { proposedMapping, isNeeded, ...chosen } = useMapping(
    result,
    inspected && ((mapping) => inspect(source, mapping)),
  );
  const { setMapping } = chosen;
  useEffect(() => {
    setInspected(null);
    setMapping(null);
    setLooking(false);
    return () => running.current?.abort();
  }, [JSON.stringify(source)]);
  useEffect(() => {
    if (isNeeded) setMapping(proposedMapping);
  }, [result, isNeeded]);
  const check = async () => {
    running.current?.abort();
    const { signal } = (running.current = new AbortController());
    setLooking(true);
    const found = await lookAt(source, signal);
    if (signal.aborted) return;
    setInspected(found);
    setMapping(null);
    setLooking(false);
  };
  return { inspected, isLooking, ...chosen, check };
}

async function lookAt(source: JsonObject, signal: AbortSignal): Promise<InspectionState> {
  try {
    return { sample: null, result: await inspect(source, null, signal), trouble: null };
  } catch (thrown) {
    return { sample: null, result: null, trouble: createTrouble(thrown) };
  }
}

function inspect(source: JsonObject, mapping: JsonObject | null, signal?: AbortSignal): Promise<InspectResult> {
  // the service reports errors in the body
  const { location, tables } = source as unknown as Pick<DataStoreCreate, 'location' | 'tables'>;
  const body = { location, tables: tables ?? {}, mapping: mapping as unknown as InspectResult['mapping'] | null };
  return service.value.call('inspectData', { body, ...(signal && { signal }) });
}
