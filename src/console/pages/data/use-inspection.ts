import type { InspectResult } from '#clients/typescript/divisor.js';
import { useEffect, useState } from 'preact/hooks';
import { fieldsOf } from '../../components/form/schema-fields.js';
import { useOneAtATime } from '../../state/one-at-a-time.js';
import { useSchemas, type Schemas } from '../../state/schemas.js';
import { service, troubleOf } from '../../state/service.js';
import type { Json, JsonObject } from '../../words/paths.js';
import { contentOf, type ImportContent } from './import-content.js';
import type { ImportFile } from './import-files.js';
import type { Inspected } from './inspection.js';
import { needsMapping } from './mapping.js';

/** Characters of base64 that the service looks at before an import; larger files are imported, or connected, as they are. */
const LOOKED_AT_MAX = 8 << 20;

/** The inspected files, and the report of the service. */
interface Looked extends Inspected {
  readonly content: ImportContent;
}

/** Inspects files whenever they or the mapping change; the proposed mapping is used if they differ from the standard tables. */
export function useInspection(files: readonly ImportFile[], onProposed: (result: InspectResult) => void) {
  const [inspected, setInspected] = useState<Looked | null>(null);
  const [isLooking, setLooking] = useState(false);
  const [mapping, setMapping] = useState<JsonObject | null>(null);
  const schemas = useSchemas();
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
    });
    return () => given.abort();
  }, [files]);
  const result = inspected?.result ?? null;
  useEffect(() => {
    if (result === null || schemas.data === undefined) return;
    const proposed = result.mapping as unknown as JsonObject; // A document of JSON.
    if (!needsMapping(proposed, usualIn(schemas.data))) return;
    setMapping(proposed);
    onProposed(result);
  }, [result, schemas.data]);
  const isChanged = mapping !== null && (inspected?.result?.mapping as unknown) !== mapping;
  const checked = useOneAtATime(isChanged ? JSON.stringify(mapping) : null, () => readWith(inspected, mapping));
  return { inspected, isLooking, mapping, setMapping, checked };
}

/** The default of each member of a mapping. */
const usualIn = (schemas: Schemas): JsonObject =>
  Object.fromEntries(fieldsOf(schemas, 'Mapping').map(({ name, otherwise }) => [name, (otherwise ?? null) as Json]));

async function lookAt(files: readonly ImportFile[], signal: AbortSignal): Promise<Looked | null> {
  const content = await contentOf(files, true);
  if (content.content.length > LOOKED_AT_MAX) return null;
  try {
    return { content, result: await service.value.call('inspectData', { body: content, signal }), trouble: null };
  } catch (thrown) {
    return { content, result: null, trouble: troubleOf(thrown) };
  }
}

/** The inspected files, read with a mapping. */
function readWith(looked: Looked | null, mapping: JsonObject | null): Promise<InspectResult> {
  if (looked === null) throw new Error('nothing was inspected');
  const body = { ...looked.content, mapping: mapping as unknown as InspectResult['mapping'] }; // The service says what is wrong with it.
  return service.value.call('inspectData', { body });
}
