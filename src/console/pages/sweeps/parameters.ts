import type { RuleTypes, TypeSpec } from '#clients/typescript/divisor.js';
import { fieldOf } from '../../components/form/field-spec.js';
import { rowsIn } from '../../components/form/row-list.js';
import { isObject, valueAt, type Json, type JsonObject, type Path } from '../../words/paths.js';

/** Something of a definition or its backtest that a sweep may vary. */
export interface Varied {
  /** JSON pointer. */
  readonly pointer: string;
  readonly label: string;
  /** As it stands, or as it is by default. */
  readonly now: Json | undefined;
  readonly choices: readonly string[] | null;
  readonly unit: string | null;
}

/** Everything that the catalogues know of in a definition, and the costs of the backtest. @param costs basis points */
export function variedIn(document: JsonObject, types: RuleTypes, costs: number): readonly Varied[] {
  const rules = rowsIn(valueAt(document, ['pipeline', 'selection']));
  const weighting = valueAt(document, ['pipeline', 'weighting']);
  return [
    ...rules.flatMap((rule, i) =>
      ofRow(rule, ['pipeline', 'selection', i], types.selection, String(rule['id'] ?? `rule ${i + 1}`)),
    ),
    ...(isObject(weighting) ? ofRow(weighting, ['pipeline', 'weighting'], types.weighting, 'weighting') : []),
    { ...own(document, ['pipeline', 'weighting', 'cap'], 'weighting: cap'), unit: 'fraction' },
    own(document, ['rebalance', 'frequency'], 'rebalance: frequency', [
      'monthly',
      'quarterly',
      'semi_annual',
      'annual',
    ]),
    { ...own(document, ['rebalance', 'effective_lag'], 'rebalance: notice'), unit: 'sessions' },
    { pointer: '/request/transaction_cost_bps', label: 'backtest: costs', now: costs, choices: null, unit: 'bps' },
  ];
}

/** Kinds of parameters that a line of a form has room for. */
const ONE_VALUE: ReadonlySet<string> = new Set(['number', 'integer', 'boolean', 'choice', 'text', 'datapoint', 'date']);

/** Parameters that are numbers, words of a list, or yes and no. */
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
    }));
}

function own(document: JsonObject, path: Path, label: string, choices: readonly string[] | null = null): Varied {
  return { pointer: pointerOf(path), label, now: valueAt(document, path), choices, unit: null };
}

/** @source RFC 6901 */
function pointerOf(path: Path): string {
  return ['document', ...path].map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
