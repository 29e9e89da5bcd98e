import type { ParameterSpec } from '#clients/typescript/divisor.js';
import { formatFormula } from './formulas.js';
import { formatLabel, lowerFirst } from './labels.js';
import { isObject, type Json, type JsonObject } from './paths.js';
import { formatPlainText } from './scalars.js';

/** Summarises the parameters that are set, such as `count 50, field MARKET_CAP`. */
export function formatSummary(
  { params }: JsonObject,
  parameters: readonly Pick<ParameterSpec, 'name' | 'label'>[],
): string {
  if (!isObject(params)) return '';
  const labels = new Map(parameters.map(({ name, label }) => [name, label]));
  return Object.entries(params)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${lowerFirst(labels.get(name) ?? formatLabel(name))} ${formatPart(value)}`)
    .join(', ');
}

/** Formats the value of a parameter: the items of a list, and the members of an object by their names. */
function formatPart(value: Json | undefined): string {
  if (Array.isArray(value)) return (value as readonly Json[]).map(formatPart).join(' and ');
  if (!isObject(value)) return value === true ? 'yes' : value === false ? 'no' : String(value);
  const formula = formatFormula(value);
  if (formula !== formatPlainText(value)) return formula;
  return Object.entries(value)
    .filter(([name]) => name !== 'node')
    .map(([name, part]) => `${name.replaceAll('_', ' ')} ${formatPart(part)}`)
    .join(' ');
}
