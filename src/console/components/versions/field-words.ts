import type { ParameterSpec, RuleTypes } from '#clients/typescript/divisor.js';
import { formatChoice, formatPathLabel } from '../../words/labels.js';
import { formatAtMost } from '../../words/numbers.js';
import { isObject, getValueAt, type Json, type JsonObject, type Path } from '../../words/paths.js';
import { formatQuantity } from '../../words/quantities.js';
import { createField } from '../form/field-spec.js';

export interface FieldFormatter {
  /** Part of the document that contains the field, for example `Rebalance`. */
  group(path: Path, document: JsonObject | undefined): string;
  /** Name of the field within its part, for example `Notice`. */
  label(path: Path, document: JsonObject | undefined): string;
  /** Value with its unit, for example `5 sessions`. */
  value(path: Path, value: Json, document: JsonObject | undefined): string;
  /** Parameters that a selection rule or a weighting leaves to their default values. */
  defaults(document: JsonObject): readonly DefaultParameter[];
}

interface DefaultParameter {
  readonly path: Path;
  readonly text: string;
}

/**
 * @param types catalogue of the fields of an index; undefined for other documents
 * @param exchanges names of exchanges by calendar code
 */
export function createFieldFormatter(
  types: RuleTypes | undefined,
  exchanges: ReadonlyMap<string, string> = new Map(),
): FieldFormatter {
  const find = (path: Path, document: JsonObject | undefined) => types && findParameter(types, path, document);
  const formatter: FieldFormatter = {
    group(path, document) {
      const steps = getPart(path);
      return steps.length === 0 ? 'General' : formatPathLabel(steps, document);
    },
    label(path, document) {
      const remainder = path.slice(getPart(path).length);
      return find(path, document)?.label ?? formatPathLabel(remainder, undefined);
    },
    value(path, value, document) {
      if (typeof value === 'boolean') return value ? 'yes' : 'no';
      if (typeof value === 'number') return formatNumber(value, getUnit(path, find(path, document)), document);
      if (typeof value !== 'string') return JSON.stringify(value);
      const exchange = path.at(-1) === 'calendar' ? exchanges.get(value) : undefined;
      if (exchange !== undefined) return `${value}, ${exchange}`;
      return (path.at(-1) === 'type' ? labelOfType(types, value) : undefined) ?? formatChoice(path, value);
    },
    defaults(document) {
      return types === undefined
        ? []
        : listTypedParts(document).flatMap((part) =>
            listOmitted(types, part, document).flatMap((spec) => {
              const path = [...part, 'params', spec.name];
              const text = formatDefault(spec, (value) => formatter.value(path, value, document));
              return text === null ? [] : [{ path, text }];
            }),
          );
    },
  };
  return formatter;
}

/** Returns the paths of the selection rules and of the weighting. */
function listTypedParts(document: JsonObject): readonly Path[] {
  const rules = getValueAt(document, ['pipeline', RULES_MEMBER]);
  const count = Array.isArray(rules) ? rules.length : 0;
  return [...Array.from({ length: count }, (_, k) => ['pipeline', RULES_MEMBER, k]), ['pipeline', 'weighting']];
}

/** Returns the parameters of the type of a selection rule or of the weighting; none if the type is unknown. */
function listParameters(types: RuleTypes, part: Path, document: JsonObject | undefined): readonly ParameterSpec[] {
  const rule = getValueAt(document, part);
  const all = part.includes('weighting') ? types.weighting : types.selection;
  return (isObject(rule) && all.find(({ type }) => type === rule['type'])?.parameters) || [];
}

/** Returns the optional parameters that a part of the document does not set. Conditional parameters are left out. */
function listOmitted(types: RuleTypes, part: Path, document: JsonObject): readonly ParameterSpec[] {
  const rule = getValueAt(document, part);
  if (!isObject(rule)) return [];
  const params = rule['params'];
  return listParameters(types, part, document).filter(
    ({ name, required, when }) =>
      !required && when === null && ((isObject(params) ? params[name] : undefined) ?? null) === null,
  );
}

/** Formats the default of a parameter: the value, or its description in the help. Null if the parameter has none. */
function formatDefault({ default: value, help }: ParameterSpec, formatValue: (value: Json) => string): string | null {
  if (value !== undefined && value !== null) return formatValue(value as Json); // a default is a JSON value
  return /Default: ([^.]+)\./.exec(help ?? '')?.[1] ?? null;
}

/** Member whose rows are shown as separate parts. */
const RULES_MEMBER = 'selection';

/** Returns the path of the part that contains a field. The part is a selection rule or the first object of the path. */
function getPart(path: Path): Path {
  const rulesPosition = path.indexOf(RULES_MEMBER);
  if (rulesPosition >= 0 && typeof path[rulesPosition + 1] === 'number') return path.slice(0, rulesPosition + 2);
  const first = path.findIndex((step) => step !== 'pipeline');
  return path.length - first > 1 ? path.slice(0, first + 1) : [];
}

/** Returns the description of a field in the catalogue of an index. */
function findParameter(types: RuleTypes, path: Path, document: JsonObject | undefined): ParameterSpec | undefined {
  const [name] = path.slice(-1);
  const paramsPosition = path.indexOf('params');
  if (paramsPosition >= 0) {
    const parameters = listParameters(types, path.slice(0, paramsPosition), document);
    return path.length === paramsPosition + 2 ? parameters.find((one) => one.name === name) : undefined;
  }
  const steps = path.filter((step) => step !== 'pipeline' && typeof step === 'string');
  const part = steps.length === 1 ? 'index' : String(steps[0]);
  return steps.length > 2
    ? undefined
    : types.fields[part as keyof RuleTypes['fields']]?.find((one) => one.name === name);
}

/** Units of members in documents without a catalogue. */
const UNITS: Readonly<Record<string, string>> = {
  exposure: 'fraction',
  drift_tolerance: 'fraction',
};

/** Returns the unit of a field from the catalogue, or from its name; null if it has none. */
function getUnit(path: Path, spec: ParameterSpec | undefined): string | null {
  if (spec !== undefined) return createField(spec).unit ?? null;
  const name = String(path.at(-1));
  return name.endsWith('_bps') ? 'bp' : (UNITS[name] ?? null);
}

/** Formats a number with its unit; amounts of money with the currency of the document. */
function formatNumber(value: number, unit: string | null, document: JsonObject | undefined): string {
  if (unit === null) return formatAtMost(value, DIGITS);
  const currency = typeof document?.['currency'] === 'string' ? document['currency'] : 'money';
  return formatQuantity(value, unit.replace(/^money/, currency).replace(/ in index currency$/, ''));
}

/** Number of decimals of a number without a unit. */
const DIGITS = 6;

const labelOfType = (types: RuleTypes | undefined, type: string): string | undefined =>
  [...(types?.selection ?? []), ...(types?.weighting ?? [])].find((one) => one.type === type)?.label;

/** Formats the part and name of a field, for example `Rebalance, Notice`. */
export const formatField = (words: FieldFormatter, path: Path, document: JsonObject | undefined): string =>
  getPart(path).length === 0
    ? words.label(path, document)
    : `${words.group(path, document)}, ${words.label(path, document)}`;
