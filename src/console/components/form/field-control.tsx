import type { Finding } from '#clients/typescript/divisor.js';
import { useResource } from '../../state/resource.js';
import { service } from '../../state/service.js';
import { toStoreCase } from '../../words/findings.js';
import { formatFormula } from '../../words/formulas.js';
import { isObject, type Json } from '../../words/paths.js';
import { formatTypedQuantity, isFraction, parseQuantity } from '../../words/quantities.js';
import { formatPlainText, parseTyped, formatScalar } from '../../words/scalars.js';
import { Toggles } from '../toggles.js';
import { BooleanInput } from './boolean-input.js';
import { formatChoiceText, formatDefault, type FieldSpec } from './field-spec.js';
import { Formula } from './formula.js';
import { Pairs } from './pairs.js';
import { formatReferenceText, parseReferenceText } from './references.js';
import { useTyped, type ParsedValue, type TypedInput } from './typed-text.js';

interface ControlProps {
  readonly id: string;
  readonly spec: FieldSpec;
  readonly value: Json | undefined;
  readonly describedBy: string | undefined;
  /** Findings that are shown below the field. */
  readonly findings: readonly Finding[];
  readonly isDisabled: boolean;
  readonly datapoints: readonly string[];
  onChange(value: Json | undefined): void;
}

/** Renders the input element for the kind of a field. */
export function FieldControl(props: ControlProps) {
  const { spec, id, describedBy, findings, isDisabled } = props;
  const isInvalid = findings.some(({ severity }) => severity === 'error');
  const common = {
    id,
    'aria-describedby': describedBy,
    'aria-invalid': isInvalid,
    'aria-required': spec.isRequired === true,
    disabled: isDisabled,
  };
  switch (spec.kind) {
    case 'boolean':
      return <BooleanInput {...props} common={common} />;
    case 'choice':
      return <SingleChoice {...props} common={common} />;
    case 'choices':
      return <MultipleChoice {...props} />;
    case 'series':
      return <SeriesInput {...props} common={common} />;
    case 'named':
      return <ReferenceInput {...props} common={common} />;
    case 'pairs':
    case 'numbers':
      return (
        <Pairs
          {...props}
          label={spec.label}
          isNumeric={spec.kind === 'numbers'}
          unit={spec.unit ?? null}
          isInvalid={isInvalid}
        />
      );
    case 'prose':
      return <TextArea {...props} common={common} toText={formatPlainText} toValue={parseText} rows={spec.rows ?? 3} />;
    case 'list':
      return <TextArea {...props} common={common} toText={formatList} toValue={parseList} rows={2} />;
    case 'scalar':
      return <TextInput {...props} common={common} toText={formatScalar} toValue={parseScalar} />;
    case 'scalars':
      return <TextInput {...props} common={common} toText={formatScalars} toValue={parseScalars} />;
    case 'integers':
      return <TextInput {...props} common={common} toText={formatList} toValue={parseIntegers} />;
    case 'json':
      return <TextArea {...props} common={common} toText={formatJson} toValue={parseJson} rows={4} />;
    case 'formula':
      return <FormulaInput {...props} common={common} />;
    default:
      return <TextInput {...props} common={common} />;
  }
}

export interface CommonProps extends ControlProps {
  readonly common: Readonly<Record<string, unknown>>;
}

/** Renders a choice of one value. */
function SingleChoice({ spec, value, onChange, common }: CommonProps) {
  const isMissing = value === undefined || value === null;
  return (
    <select
      class="control"
      {...common}
      value={isMissing ? '' : String(value)}
      onChange={({ currentTarget: { value: chosen } }) =>
        onChange(chosen === '' ? undefined : spec.isNumeric === true ? Number(chosen) : chosen)
      }
    >
      {spec.isRequired !== true && <option value="">{formatDefault(spec)}</option>}
      {/* Without this empty option, the first choice would look selected. */}
      {spec.isRequired === true && isMissing && <option value="">choose</option>}
      {(spec.choices ?? []).map((choice) => (
        <option key={choice} value={choice}>
          {formatChoiceText(choice, spec.words)}
        </option>
      ))}
    </select>
  );
}

/** Renders a choice of any number of values as toggle buttons. */
function MultipleChoice({ spec, value, onChange }: ControlProps) {
  return (
    <Toggles
      label={spec.label}
      values={spec.choices ?? []}
      chosen={Array.isArray(value) ? (value as readonly Json[]).map(String) : []}
      every={spec.every}
      formatLabel={(choice) => formatChoiceText(choice, spec.words)}
      onChoose={(chosen) => onChange(chosen.length === 0 ? undefined : chosen)}
    />
  );
}

/** Renders a text input with suggestions from the series of the served store. */
function SeriesInput(props: TextInputProps) {
  const series = useResource('series', (signal) => service.value.call('listSeries', { signal }));
  const suggestions = (series.data?.series ?? []).map(({ identifier }) => identifier);
  return <TextInput {...props} spec={{ ...props.spec, suggestions }} />;
}

/** Renders a text input for a reference in words, such as `Index EQ`. */
function ReferenceInput(props: CommonProps) {
  const { suggestions = [] } = props.spec;
  return (
    <TextInput
      {...props}
      toText={(value) => formatReferenceText(formatPlainText(value), suggestions)}
      toValue={(text) => parseNamed(parseReferenceText(text, suggestions))}
      toSuggestion={(suggestion) => formatReferenceText(suggestion, suggestions)}
    />
  );
}

/** Renders a formula as text, with its explanation. */
function FormulaInput(props: CommonProps) {
  return (
    <Formula {...props} expects={props.spec.expects ?? 'number'}>
      <TextInput
        {...props}
        toText={createNumberFormatter(props.spec, formatFormula)}
        toValue={props.spec.isNumeric ? createNumericParser(props.spec) : parseNamed}
      />
    </Formula>
  );
}

interface TextInputProps extends CommonProps, Partial<Pick<TypedInput, 'toText' | 'toValue'>> {
  /** Formats a suggested value as the text that the user would type. Default: the value. */
  toSuggestion?(value: string): string;
}

function TextInput({ id, spec, value, datapoints, onChange, common, ...own }: TextInputProps) {
  const isNumber = spec.kind === 'number' || spec.kind === 'integer';
  const isDatapoint = spec.kind === 'datapoint' || spec.kind === 'node' || spec.kind === 'formula';
  const suggestions = spec.suggestions ?? (isDatapoint ? datapoints : []);
  const suggests = suggestions.length > 0;
  const [text, type, format] = useTyped({
    value,
    onChange,
    toText:
      own.toText ?? (spec.kind === 'node' ? formatNode : isNumber ? createNumberFormatter(spec) : formatPlainText),
    toValue: own.toValue ?? (isNumber ? createNumberParser(spec) : (PARSERS[spec.kind] ?? parseText)),
  });
  return (
    <>
      <input
        class="control"
        {...common}
        type="text"
        inputMode={spec.kind === 'integer' ? 'numeric' : spec.kind === 'number' ? 'decimal' : 'text'}
        autocomplete="off"
        spellcheck={false}
        list={suggests ? `${id}-list` : undefined}
        placeholder={formatPlaceholder(spec)}
        value={text}
        onInput={(event) => type(event.currentTarget.value)}
        onBlur={() => {
          const storeText = isDatapoint ? toStoreCase(text, datapoints) : text;
          if (storeText !== text) type(storeText);
          else if (isFraction(spec.unit) && typeof value === 'number') format();
        }}
      />
      {suggests && (
        <datalist id={`${id}-list`}>
          {suggestions.map((name) => (
            <option key={name} value={own.toSuggestion?.(name) ?? name} />
          ))}
        </datalist>
      )}
    </>
  );
}

function formatPlaceholder({ kind, otherwise, unit, example }: FieldSpec): string {
  if (example !== undefined) return example;
  if (kind === 'date') return 'YYYY-MM-DD';
  if (otherwise === undefined || otherwise === null || otherwise === '') return '';
  return `${typeof otherwise === 'number' ? formatTypedQuantity(otherwise, unit) : String(otherwise)}, by default`;
}

const parseText = (text: string): ParsedValue => ({ value: text === '' ? undefined : text });

/**
 * Parses a name or a JSON object. The object contains further members, such as window and lag. Returns undefined while
 * the JSON is incomplete.
 */
const parseNamed = (text: string): ParsedValue => (text.startsWith('{') ? parseJson(text) : parseText(text));

/** Creates a function that formats a number in the unit of its field, and any other value with `formatOther`. */
const createNumberFormatter =
  ({ unit }: FieldSpec, formatOther: (value: Json | undefined) => string = formatPlainText) =>
  (value: Json | undefined): string =>
    typeof value === 'number' ? formatTypedQuantity(value, unit) : formatOther(value);

/** Creates a parser for a number or a formula. */
const createNumericParser =
  ({ unit }: FieldSpec) =>
  (text: string): ParsedValue => {
    const value = parseQuantity(text, unit);
    return value === undefined ? parseNamed(text) : { value };
  };

/** Returns the name of the datapoint if a node has no other members. Otherwise returns the node as text. */
function formatNode(value: Json | undefined): string {
  const { node, name, ...others } = isObject(value) ? value : {};
  const isPlain = node === 'field' && typeof name === 'string' && Object.keys(others).length === 0;
  return isPlain ? name : formatPlainText(value);
}

const parseNode = (text: string): ParsedValue =>
  text === '' || text.startsWith('{') ? parseJson(text) : { value: { node: 'field', name: text } };

const PARSERS: Partial<Record<FieldSpec['kind'], (text: string) => ParsedValue>> = {
  datapoint: parseNamed,
  numbered: (text) => (/^\d+$/.test(text) ? { value: Number(text) } : parseText(text)),
  node: parseNode,
};

/** Creates a parser for numbers. Other text is sent as it was typed, and the service reports the error. */
const createNumberParser =
  ({ unit }: FieldSpec) =>
  (text: string): ParsedValue =>
    text.startsWith('{')
      ? parseJson(text)
      : { value: text.trim() === '' ? undefined : (parseQuantity(text, unit) ?? text) };

interface TextAreaProps extends CommonProps, Pick<TypedInput, 'toText' | 'toValue'> {
  readonly rows: number;
}

function TextArea({ value, onChange, common, rows, toText, toValue }: TextAreaProps) {
  const [text, type] = useTyped({ value, onChange, toText, toValue });
  return (
    <textarea
      class="control"
      {...common}
      rows={rows}
      spellcheck={false}
      value={text}
      onInput={(event) => type(event.currentTarget.value)}
    />
  );
}

const formatList = (value: Json | undefined): string => (Array.isArray(value) ? value.join(', ') : '');

function parseList(text: string): ParsedValue {
  const items = text
    .split(/[,;\n]+/)
    .map((item) => item.trim())
    .filter(Boolean);
  return { value: items.length === 0 ? undefined : items };
}

/** Parses integers. Items that are not integers are sent as they were typed. */
function parseIntegers(text: string): ParsedValue {
  const items = parseList(text)?.value as readonly string[] | undefined; // parseList returns strings only
  return { value: items?.map((item) => (/^-?\d+$/.test(item) ? Number(item) : item)) };
}

const parseScalar = (text: string): ParsedValue => ({ value: text.trim() === '' ? undefined : parseTyped(text) });

const formatScalars = (value: Json | undefined): string =>
  Array.isArray(value) ? (value as readonly Json[]).map(formatScalar).join(', ') : formatScalar(value);

function parseScalars(text: string): ParsedValue {
  const items = parseList(text)?.value as readonly string[] | undefined; // parseList returns strings only
  return { value: items?.map(parseTyped) };
}

const formatJson = (value: Json | undefined): string =>
  value === undefined || value === null ? '' : JSON.stringify(value, null, 1);

function parseJson(text: string): ParsedValue {
  if (text.trim() === '') return { value: undefined };
  try {
    return { value: JSON.parse(text) as Json };
  } catch {
    return undefined;
  }
}
