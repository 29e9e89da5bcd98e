import type { RuleTypes, TypeSpec } from '#clients/typescript/divisor.js';
import { createField } from '../../components/form/field-spec.js';
import { listRows } from '../../components/form/row-list.js';
import { service, useList, useResource } from '../../state/service.js';
import { getValueAt, isObject, type Json, type JsonObject, type Path } from '../../words/paths.js';
import { formatVariantPointer, formatRuleEnding, type ParameterLabels, type VariedParameter } from './variants.js';

/**
 * Returns the parameters that a sweep can vary: those in the catalogues, the schedule, and the costs of the backtest.
 * @param costs current costs in basis points
 */
export function listVariedParameters(
  document: JsonObject,
  types: RuleTypes,
  costs: number,
): readonly VariedParameter[] {
  const rules = listRows(getValueAt(document, ['pipeline', 'selection']));
  const weighting = getValueAt(document, ['pipeline', 'weighting']);
  return [
    ...rules.flatMap((rule, i) =>
      listRowParameters(
        rule,
        ['pipeline', 'selection', i],
        types.selection,
        formatRuleEnding(rules, i, types.selection),
      ),
    ),
    ...(isObject(weighting)
      ? listRowParameters(weighting, ['pipeline', 'weighting'], types.weighting, ' of weighting')
      : []),
    {
      ...createVaried(document, ['pipeline', 'weighting', 'cap'], 'Cap of weights'),
      unit: 'fraction',
      takes: 'number',
    },
    createVaried(document, ['rebalance', 'frequency'], 'Frequency of rebalances', [
      'monthly',
      'quarterly',
      'semi_annual',
      'annual',
    ]),
    {
      ...createVaried(document, ['rebalance', 'effective_lag'], 'Notice of rebalances'),
      unit: 'sessions',
      takes: 'integer',
    },
    {
      pointer: '/request/transaction_cost_bps',
      label: 'Costs of the backtest',
      now: costs,
      choices: null,
      unit: 'bp',
      takes: 'number',
      isOptional: false,
    },
  ];
}

/** Kinds of parameters with a single-line value. */
const ONE_VALUE: ReadonlySet<string> = new Set([
  'number',
  'integer',
  'boolean',
  'choice',
  'text',
  'datapoint',
  'formula',
  'date',
]);

/** Returns the parameters of a rule whose value fits on one line. */
function listRowParameters(
  row: JsonObject,
  path: Path,
  specs: readonly TypeSpec[],
  ending: string,
): readonly VariedParameter[] {
  const spec = specs.find(({ type }) => type === row['type']);
  const params = isObject(row['params']) ? row['params'] : {};
  return (spec?.parameters ?? [])
    .filter((parameter) => ONE_VALUE.has(createField(parameter).kind))
    .map((parameter) => ({
      pointer: formatPointer([...path, 'params', parameter.name]),
      label: `${parameter.label}${ending}`,
      now: params[parameter.name] ?? (parameter.default as Json | undefined),
      choices: parameter.type === 'boolean' ? ['true', 'false'] : parameter.choices,
      unit: createField(parameter).unit ?? null,
      takes: parameter.type === 'number' || parameter.type === 'integer' ? parameter.type : 'word',
      isOptional: !parameter.required,
    }));
}

function createVaried(
  document: JsonObject,
  path: Path,
  label: string,
  choices: readonly string[] | null = null,
): VariedParameter {
  return {
    pointer: formatPointer(path),
    label,
    now: getValueAt(document, path),
    choices,
    unit: null,
    takes: 'word',
    isOptional: true,
  };
}

/**
 * Formats a path as a JSON pointer.
 * @source RFC 6901
 */
function formatPointer(path: Path): string {
  return ['document', ...path].map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}

/** Returns the labels of the parameters of some indices, by index; undefined until they are loaded. */
export function useParameterLabels(ids: readonly string[]): ((id: string) => ParameterLabels) | undefined {
  const types = useList('rule types', {
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
    variedParameters.find((one) => one.pointer === pointer) ?? { label: formatVariantPointer(pointer), unit: null };
}
