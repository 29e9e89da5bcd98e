import type { InspectResult } from '#clients/typescript/divisor.js';
import { useMemo, useState } from 'preact/hooks';
import { createFields } from '../../components/form/schema-fields.js';
import { useOneAtATime, type LatestRequest } from '../../state/one-at-a-time.js';
import { useSchemas, type Schemas } from '../../state/schemas.js';
import type { Json, JsonObject } from '../../words/paths.js';
import { needsMapping } from './mapping.js';

const NOT_CHECKED: LatestRequest<InspectResult> = { data: undefined, trouble: null, isBehind: false };

/**
 * The mapping of inspected content. Inspects the content again whenever the user changes the proposed mapping.
 * @param result first inspection; null if there is none
 * @param inspectWith inspects the content with another mapping; null if there is no content
 */
export function useMapping(
  result: InspectResult | null,
  inspectWith: ((mapping: JsonObject) => Promise<InspectResult>) | null,
) {
  const [mapping, setMapping] = useState<JsonObject | null>(null);
  const schemas = useSchemas();
  const usual = useMemo(() => schemas.data && readMappingDefaults(schemas.data), [schemas.data]) ?? null;
  const proposedMapping = (result?.mapping ?? null) as unknown as JsonObject | null; // the mapping is a JSON object
  const changedMapping = mapping === proposedMapping || inspectWith === null ? null : mapping;
  const latestCheck = useOneAtATime(changedMapping === null ? null : JSON.stringify(changedMapping), () =>
    inspectWith!(changedMapping!),
  );
  return {
    mapping,
    setMapping,
    usual,
    proposedMapping,
    /** True if the content differs from the standard tables. */
    isNeeded: proposedMapping !== null && usual !== null && needsMapping(proposedMapping, usual),
    /** Inspection with the changed mapping. */
    checked: changedMapping === null ? NOT_CHECKED : latestCheck,
  };
}

/** Returns the default of each member of a mapping. */
const readMappingDefaults = (schemas: Schemas): JsonObject =>
  Object.fromEntries(
    createFields(schemas, 'Mapping').map(({ name, otherwise }) => [name, (otherwise ?? null) as Json]),
  );
