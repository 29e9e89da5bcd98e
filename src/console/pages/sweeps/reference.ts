import type { SeriesPayload, StoredRun } from '#clients/typescript/divisor.js';
import { useResource } from '../../state/resource.js';
import { useSchemas } from '../../state/schemas.js';
import { service } from '../../state/service.js';
import type { JsonObject } from '../../words/paths.js';
import { formatTerms, getTerms, readNewestRun } from '../index/run-terms.js';
import { selectDifferentTerms, type Reference } from './reference-line.js';

/** Reads the newest run of an index. Returns null if there is none, or until it is loaded. */
export function useReference(indexId: string, terms: JsonObject): Reference | null {
  const schemas = useSchemas({ isLater: true });
  const newest = useResource(`newest run with levels ${indexId}`, (signal) => readRunWithLevel(indexId, signal), {
    isLater: true,
  });
  if (newest.data == null) return null;
  const { run, level } = newest.data;
  const difference = selectDifferentTerms(getTerms(run), terms);
  const text = Object.keys(difference).length === 0 ? '' : formatTerms(difference, 'SweepTerms', schemas.data);
  return { label: text === '' ? `${indexId}, same terms` : `${indexId}, other terms: ${lowerFirst(text)}`, level };
}

const lowerFirst = (text: string): string => text.slice(0, 1).toLowerCase() + text.slice(1);

/** Returns the newest run with the level of its portfolio; null if there is none or it cannot be read. */
async function readRunWithLevel(
  id: string,
  signal: AbortSignal,
): Promise<{ readonly run: StoredRun; readonly level: SeriesPayload } | null> {
  const run = await readNewestRun(id, signal);
  if (run === null) return null;
  return service.value.call('getPerformance', { params: { index_id: id }, signal }).then(
    ({ level }) => ({ run, level }),
    () => null,
  );
}
