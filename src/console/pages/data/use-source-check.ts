import type { DataStoreCreate, InspectResult } from '#clients/typescript/divisor.js';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { useOneAtATime } from '../../state/one-at-a-time.js';
import { useSchemas } from '../../state/schemas.js';
import { createTrouble, service } from '../../state/service.js';
import type { JsonObject } from '../../words/paths.js';
import type { InspectionState } from './inspection.js';
import { needsMapping } from './mapping.js';
import { readMappingDefaults } from './use-inspection.js';

/**
 * Checks a folder or database before it is registered. If its tables differ from the standard tables, the proposed
 * mapping is used. A change of the source discards the result.
 * @param source location of the source, and the names of its tables
 */
export function useSourceCheck(source: JsonObject) {
  const [inspected, setInspected] = useState<InspectionState | null>(null);
  const [isLooking, setLooking] = useState(false);
  const [mapping, setMapping] = useState<JsonObject | null>(null);
  const schemas = useSchemas();
  const usual = useMemo(() => schemas.data && readMappingDefaults(schemas.data), [schemas.data]) ?? null;
  const key = JSON.stringify(source);
  useEffect(() => {
    setInspected(null);
    setMapping(null);
  }, [key]);
  const proposedMapping = (inspected?.result?.mapping ?? null) as unknown as JsonObject | null; // the mapping is a JSON object
  const isChanged = mapping !== null && mapping !== proposedMapping;
  const latestCheck = useOneAtATime(isChanged ? JSON.stringify(mapping) : null, () => inspect(source, mapping));
  const check = async () => {
    setLooking(true);
    try {
      const result = await inspect(source, null);
      const proposed = result.mapping as unknown as JsonObject; // the mapping is a JSON object
      setInspected({ sample: null, result, trouble: null });
      setMapping(usual !== null && needsMapping(proposed, usual) ? proposed : null);
    } catch (thrown) {
      setInspected({ sample: null, result: null, trouble: createTrouble(thrown) });
    }
    setLooking(false);
  };
  return { inspected, isLooking, mapping, setMapping, checked: latestCheck, usual, check };
}

function inspect(source: JsonObject, mapping: JsonObject | null): Promise<InspectResult> {
  // the service reports errors in the body
  const { location, tables } = source as unknown as Pick<DataStoreCreate, 'location' | 'tables'>;
  const body = { location, tables: tables ?? {}, mapping: mapping as unknown as InspectResult['mapping'] | null };
  return service.value.call('inspectData', { body });
}
