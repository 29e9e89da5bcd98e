import type { InspectResult } from '#clients/typescript/divisor.js';
import { useEffect, useState } from 'preact/hooks';
import { service, createTrouble } from '../../state/service.js';
import type { JsonObject } from '../../words/paths.js';
import { readSample, type FileSample } from './import-content.js';
import type { ImportFile } from './import-files.js';
import type { InspectionState } from './inspection.js';
import { useMapping } from './use-mapping.js';

/**
 * Inspects the files whenever the files or the mapping change. If the files differ from the standard tables, the
 * proposed mapping is used.
 */
export function useInspection(files: readonly ImportFile[], onProposed: (result: InspectResult) => void) {
  const [inspected, setInspected] = useState<InspectionState | null>(null);
  const [isLooking, setLooking] = useState(false);
  const sample = inspected?.sample ?? null;
  const result = inspected?.result ?? null;
  const { proposedMapping, isNeeded, ...chosen } = useMapping(
    result,
    sample && ((mapping) => readWith(sample, mapping)),
  );
  const { mapping, setMapping, checked, usual } = chosen;
  useEffect(() => {
    setInspected(null);
    setMapping(null);
    setLooking(files.length > 0);
    if (files.length === 0) return undefined;
    const controller = new AbortController();
    void lookAt(files, controller.signal).then((found) => {
      if (controller.signal.aborted) return;
      setLooking(false);
      setInspected(found);
    });
    return () => controller.abort();
  }, [files]);
  useEffect(() => {
    if (result === null || usual === null) return;
    const hasSeveral = files.filter(({ table }) => table === 'market').length > 1;
    if (!hasSeveral && !isNeeded) return;
    setMapping(proposedMapping);
    onProposed(result);
  }, [result, usual]);
  const isChanged = mapping !== null && mapping !== proposedMapping;
  return {
    inspected,
    isLooking,
    ...chosen,
    // Standard tables that the user chose against a proposed mapping were not inspected.
    problem:
      inspected === null || (mapping === null && isNeeded)
        ? null
        : findProblem(isChanged ? { sample, result: checked.data ?? null, trouble: checked.trouble } : inspected),
  };
}

/** Returns the reason why the service would refuse inspected files; null if there is none. */
function findProblem({ sample, result, trouble }: InspectionState): string | null {
  const findings = trouble?.findings ?? result?.findings ?? [];
  const hasFailed = trouble !== null && trouble.retrySeconds === null;
  if (hasFailed || findings.some(({ severity }) => severity === 'error'))
    return 'The files have errors. Correct the files or the format.';
  return result?.rows_read === 0 && sample?.hasPrices === true
    ? 'No bar was read from the files. Correct the files or the format.'
    : null;
}

async function lookAt(files: readonly ImportFile[], signal: AbortSignal): Promise<InspectionState> {
  try {
    const sample = await readSample(files);
    if (sample === null || signal.aborted) return { sample, result: null, trouble: null };
    try {
      return {
        sample,
        result: await service.value.call('inspectData', { body: sample.content, signal }),
        trouble: null,
      };
    } catch (thrown) {
      return { sample, result: null, trouble: createTrouble(thrown) };
    }
  } catch (thrown) {
    return { sample: null, result: null, trouble: createTrouble(thrown) };
  }
}

/** Returns the result of an inspection of the files with a mapping. */
function readWith(sample: FileSample, mapping: JsonObject): Promise<InspectResult> {
  // the service reports errors in the body
  const body = { ...sample.content, mapping: mapping as unknown as InspectResult['mapping'] };
  return service.value.call('inspectData', { body });
}
