import type { RuleTypes, TypeSpec } from '#clients/typescript/divisor.js';
import { fieldOf } from '../../components/form/field-spec.js';
import { rowsIn } from '../../components/form/row-list.js';
import { isObject, valueAt, type Json, type JsonObject, type Path } from '../../words/paths.js';
import type { Varied } from './values.js';

/**
 * Returns the parameters of a definition that a sweep can vary: the parameters in the catalogues, the schedule, and the
 * costs of the backtest.
 * @param costs current costs in basis points
 */
export function variedIn(document: JsonObject, types: RuleTypes, costs: number): readonly Varied[] {
  const rules = rowsIn(valueAt(document, ['pipeline', 'selection']));
  const weighting = valueAt(document, ['pipeline', 'weighting']);
  return [
    ...rules.flatMap((rule, i) =>
      ofRow(rule, ['pipeline', 'selection', i], types.selection, String(rule['id'] ?? `rule ${i + 1}`)),
    ),
    ...(isObject(weighting) ? ofRow(weighting, ['pipeline', 'weighting'], types.weighting, 'weighting') : []),
    { ...own(document, ['pipeline', 'weighting', 'cap'], 'weighting: cap'), unit: 'fraction', takes: 'number' },
    own(document, ['rebalance', 'frequency'], 'rebalance: frequency', [
      'monthly',
      'quarterly',
      'semi_annual',
      'annual',
    ]),
    { ...own(document, ['rebalance', 'effective_lag'], 'rebalance: notice'), unit: 'sessions', takes: 'integer' },
    {
      pointer: '/request/transaction_cost_bps',
      label: 'backtest: costs',
      now: costs,
      choices: null,
      unit: 'bps',
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

/** Returns the parameters of a rule that have a single-line value. */
function ofRow(row: JsonObject, path: Path, specs: readonly TypeSpec[], name: string): readonly Varied[] {
  const spec = specs.find(({ type }) => type === row['type']);
  const params = isObject(row['params']) ? row['params'] : {};
  return (spec?.parameters ?? [])
    .filter((parameter) => ONE_VALUE.has(fieldOf(parameter).kind))
    .map((parameter) => ({
      pointer: pointerOf([...path, 'params', parameter.name]),
      label: `${name}: ${parameter.label.toLowerCase()}`,
      now: params[parameter.name] ?? (parameter.default as Json | undefined),
      choices: parameter.type === 'boolean' ? ['true', 'false'] : parameter.choices,
      unit: fieldOf(parameter).unit ?? null,
      takes: parameter.type === 'number' || parameter.type === 'integer' ? parameter.type : 'word',
      isOptional: !parameter.required,
    }));
}

function own(document: JsonObject, path: Path, label: string, choices: readonly string[] | null = null): Varied {
  return {
    pointer: pointerOf(path),
    label,
    now: valueAt(document, path),
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
function pointerOf(path: Path): string {
  return ['document', ...path].map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
