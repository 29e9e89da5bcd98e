import type { RuleTypes } from '#clients/typescript/divisor.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import type { JsonObject } from '../../words/paths.js';
import { listVariedParameters } from './parameters.js';
import { formatPointer, type ParameterLabels } from './values.js';

/** Returns the labels of the parameters of some indices, by index; undefined until they are loaded. */
export function useParameterLabels(ids: readonly string[]): ((id: string) => ParameterLabels) | undefined {
  const types = useResource('rule types', (signal) => service.value.call('listRuleTypes', { signal }), {
    follows: false,
  });
  const indices = useResource(ids.length === 0 ? null : `definitions ${ids.join()}`, (signal) =>
    Promise.all(ids.map((id) => readDefinition(id, signal))),
  );
  if (ids.length > 0 && indices.data === undefined && indices.trouble === null) return undefined;
  if (types.data === undefined && types.trouble === null) return undefined;
  const labels = new Map(ids.map((id, k) => [id, createLabels(indices.data?.[k] ?? null, types.data)]));
  return (id) => labels.get(id) ?? createLabels(null, undefined);
}

/** Returns the definition of an index; null if it was deleted. */
const readDefinition = (id: string, signal: AbortSignal): Promise<JsonObject | null> =>
  service.value.call('getIndex', { params: { index_id: id }, signal }).then(
    (document) => document as unknown as JsonObject, // the response is plain JSON
    () => null,
  );

function createLabels(document: JsonObject | null, types: RuleTypes | undefined): ParameterLabels {
  const variedParameters = document === null || types === undefined ? [] : listVariedParameters(document, types, 0);
  return (pointer) =>
    variedParameters.find((one) => one.pointer === pointer) ?? { label: formatPointer(pointer), unit: null };
}
