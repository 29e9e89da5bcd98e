import '../control.css';
import './form.css';
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useId, useRef, useState } from 'preact/hooks';
import type { DatapointEvaluation, DatapointRequest, Finding, FunctionSpec } from '#clients/typescript/divisor.js';
import { useOneAtATime } from '../../state/latest-request.js';
import { service, useList } from '../../state/service.js';
import { formatMessageAt, isMissing, listNearest, toStoreCase } from '../../words/findings.js';
import {
  completeFormula,
  findChoiceHelp,
  formatEvaluation,
  formatFormHelp,
  formatFormula,
  formatPlainText,
  formatScalar,
  listCompletions,
  type Pair,
  parsePastedPairs,
  parseTyped,
  writeNames,
} from '../../words/form-fields.js';
import { isObject, type Json } from '../../words/paths.js';
import { formatQuantity, formatTypedQuantity, isFractionUnit, parseQuantity } from '../../words/quantities.js';
import { Button, Icon } from '../controls/button.js';
import { Toggles } from '../controls/choice.js';
import { useFindingField } from '../feedback.js';
import { keepWordsWhole } from '../layout/facts.js';
import { type FieldSpec, formatChoiceText, formatDefault } from './field-spec.js';

/** Context of the formulas in a form: the definition around them, and the functions that the service supports. */
export interface Terms {
  readonly functions: readonly FunctionSpec[];
  readonly request: Partial<Pick<DatapointRequest, 'datapoints' | 'universe' | 'calendar' | 'currency'>>;
  /** Store of the definition; null for the served store. */
  readonly store: string | null;
}

export const FormulaTerms = createContext<Terms>({ functions: [], request: {}, store: null });

interface FormulaProps {
  readonly value: Json | undefined;
  readonly expects: 'number' | 'condition';
  readonly datapoints: readonly string[];
  /** Findings that are shown below the field. An error with the same message only marks its characters. */
  readonly findings: readonly Finding[];
  /** Input element for the text. */
  readonly children: ComponentChildren;
  onChange(value: Json | undefined): void;
}

/** Renders a formula as text. Completes its last word, and shows its error, its unit and some of its values. */
function Formula({ value, expects, datapoints, findings, children, onChange }: FormulaProps) {
  const { functions, request, store } = useContext(FormulaTerms);
  const text = formatFormula(value);
  const isWritten = typeof value !== 'number' && text !== '' && !text.startsWith('{') && !datapoints.includes(text);
  const body = { expression: text, expects, ...request };
  const { data, isBehind } = useOneAtATime(isWritten ? JSON.stringify([store, body]) : null, () =>
    service.value.call('evaluateDatapoint', { query: store === null ? {} : { store_id: store }, body }),
  );
  const names = [...Object.keys(request.datapoints ?? {}), ...datapoints];
  const completions = isWritten ? listCompletions(text, names, functions) : [];
  return (
    <div class="pile formula">
      {children}
      {completions.length > 0 && (
        <div class="wrap gap-1 formula-completions" role="group" aria-label="Completions">
          {completions.map(({ insert, help }) => (
            <button key={insert} type="button" title={help} onClick={() => onChange(completeFormula(text, insert))}>
              {insert}
            </button>
          ))}
        </div>
      )}
      {isWritten && data !== undefined && !isBehind && <Meaning text={text} found={data} findings={findings} />}
    </div>
  );
}

interface MeaningProps extends Pick<FormulaProps, 'findings'> {
  readonly text: string;
  readonly found: DatapointEvaluation;
}

function Meaning({ text, found, findings }: MeaningProps) {
  const wrong = found.findings.find(({ severity }) => severity === 'error');
  if (wrong !== undefined)
    return (
      <MarkedText text={text} finding={wrong} isStated={findings.some(({ message }) => message === wrong.message)} />
    );
  const evaluation = formatEvaluation(found);
  return evaluation === '' ? null : <p class="small field-help formula-values">{keepWordsWhole(evaluation)}</p>;
}

interface MarkedTextProps {
  readonly text: string;
  readonly finding: Finding;
  /** True if the message is shown elsewhere. */
  readonly isStated: boolean;
}

/** Renders a text with its invalid characters marked. */
function MarkedText({ text, finding: { position, message }, isStated }: MarkedTextProps) {
  if (isStated && position === undefined) return null;
  return (
    <p class="down formula-fault" role="status">
      {position !== undefined && (
        <code>
          {text.slice(0, position.start)}
          <mark>{text.slice(position.start, position.end) || '\u2423'}</mark>
          {text.slice(position.end)}
        </code>
      )}{' '}
      {!isStated && message}
    </p>
  );
}

interface PairsProps {
  readonly id: string;
  readonly label: string;
  readonly value: Json | undefined;
  readonly isNumeric: boolean;
  readonly unit: string | null;
  readonly isInvalid: boolean;
  readonly describedBy: string | undefined;
  onChange(value: Json | undefined): void;
}

/** Renders an object of texts or numbers as rows of name and value. */
function Pairs({ id, label, value, isNumeric, unit, isInvalid, describedBy, onChange }: PairsProps) {
  const toObject = isNumeric ? createNumbers(unit) : toTexts;
  const valueJson = JSON.stringify(value ?? {});
  const [pairs, setPairs] = useState(() => listPairs(value, unit));
  useEffect(() => {
    if (JSON.stringify(toObject(pairs)) !== valueJson) setPairs(listPairs(value, unit));
  }, [valueJson]);
  const change = (next: readonly Pair[]) => {
    setPairs(next);
    onChange(toObject(next));
  };
  /** Replaces one row with the rows that were pasted from a spreadsheet. */
  const paste = (position: number) => (event: ClipboardEvent) => {
    const rows = parsePastedPairs(event.clipboardData?.getData('text/plain') ?? '');
    if (rows.length === 0) return;
    event.preventDefault();
    change([...pairs.slice(0, position), ...rows, ...pairs.slice(position + 1).filter(([name]) => name !== '')]);
  };
  const put = (position: number, pair: Pair) =>
    change(pairs.map((otherPair, i) => (i === position ? pair : otherPair)));
  return (
    <div id={id} class="pile gap-1 pairs" role="group" aria-label={label} aria-describedby={describedBy}>
      {pairs.map(([name, text], position) => (
        <div key={position} class="pile gap-2 pair">
          <input
            class="control"
            aria-label={`${label}: name ${position + 1}`}
            aria-invalid={isInvalid}
            spellcheck={false}
            value={name}
            onPaste={paste(position)}
            onInput={(event) => put(position, [event.currentTarget.value, text])}
          />
          <input
            class="control"
            aria-label={name === '' ? `${label}: value ${position + 1}` : `${label}: ${name}`}
            inputMode={isNumeric ? 'decimal' : 'text'}
            spellcheck={false}
            value={text}
            onInput={(event) => put(position, [name, event.currentTarget.value])}
          />
          {isFractionUnit(unit) && <span class="quiet">{formatInterpretation(text, unit)}</span>}
          <Button
            kind="bare"
            aria-label={`Remove ${name === '' ? `line ${position + 1}` : name} of ${label}`}
            onClick={() => change(pairs.filter((_, i) => i !== position))}
          >
            <Icon name="close" />
          </Button>
        </div>
      ))}
      <Button aria-label={`Add to ${label}`} onClick={() => setPairs([...pairs, ['', '']])}>
        <Icon name="plus" /> Add
      </Button>
    </div>
  );
}

const listPairs = (value: Json | undefined, unit: string | null): readonly Pair[] =>
  isObject(value) ? Object.entries(value).map(([name, own]): Pair => [name, formatPairValue(own, unit)]) : [];

function formatPairValue(value: Json | undefined, unit: string | null): string {
  if (typeof value === 'number') return formatTypedQuantity(value, unit);
  return value === undefined ? '' : String(value);
}

const toTexts = (pairs: readonly Pair[]): Json => Object.fromEntries(pairs.filter(([name]) => name !== ''));

/**
 * Creates a function that converts rows to numbers. Text that is not a number is sent as it was typed, and the service
 * reports the error.
 */
const createNumbers =
  (unit: string | null) =>
  (pairs: readonly Pair[]): Json =>
    Object.fromEntries(
      pairs.filter(([name]) => name !== '').map(([name, text]) => [name, parseQuantity(text, unit) ?? text]),
    );

/** Formats how a typed number is understood, such as `= -20%`. A typed percentage needs no explanation. */
function formatInterpretation(text: string, unit: string | null): string {
  const read = parseQuantity(text, unit);
  return read === undefined || text.trim().endsWith('%') ? '' : `= ${formatQuantity(read, unit)}`;
}

export const REFERENCE_WORDS: Readonly<Record<string, string>> = { index: 'Index', identifier: 'Security' };

export interface Reference {
  readonly [member: string]: Json;
  readonly kind: string;
  readonly id: string;
}

/** Splits `index:EQ` into its kind and id. Returns undefined for a text without a known kind. */
export function parseReference(text: string): Reference | undefined {
  const [, kind = '', id = ''] = /^([a-z]+):(.+)$/.exec(text) ?? [];
  return Object.hasOwn(REFERENCE_WORDS, kind) ? { kind, id } : undefined;
}

/** Word for an identifier that is a series and not a security. */
const SERIES_WORD = 'Series';

/**
 * Formats a reference in words: `index:EQ` becomes `Index EQ`. Other texts are unchanged.
 * @param suggestions suggested references. Identifiers among them are series
 */
function formatReferenceText(text: string, suggestions: readonly string[]): string {
  const reference = parseReference(text);
  if (reference === undefined) return text;
  const { kind, id } = reference;
  return `${kind === 'identifier' && suggestions.includes(text) ? SERIES_WORD : REFERENCE_WORDS[kind]} ${id}`;
}

/**
 * Returns the reference that a typed text means: its words, or the id of a suggested reference. Other texts are
 * unchanged, so that the service reports an error.
 */
function parseReferenceText(text: string, suggestions: readonly string[]): string {
  const [, word = '', id = ''] = /^(\w+) +(.+)$/.exec(text) ?? [];
  const isWord = (kindWord: string) => kindWord.toLowerCase() === word.toLowerCase();
  const kind = isWord(SERIES_WORD)
    ? 'identifier'
    : Object.keys(REFERENCE_WORDS).find((one) => isWord(REFERENCE_WORDS[one]!));
  if (kind !== undefined) return `${kind}:${id}`;
  return suggestions.find((suggestion) => parseReference(suggestion)?.id === text) ?? text;
}

/** Value of a typed text; undefined while the text is incomplete. */
type ParsedValue = { readonly value: Json | undefined } | undefined;

/** Conversions between the value of a field and its text. */
interface TypedInput {
  readonly value: Json | undefined;
  toText(value: Json | undefined): string;
  /** Parses the typed text. Returns undefined while the text is incomplete. */
  toValue(text: string): ParsedValue;
  onChange(value: Json | undefined): void;
}

/** Text of an input, a function that changes it, and a function that replaces it with the formatted value. */
type TypedText = readonly [text: string, type: (text: string) => void, format: () => void];

/**
 * Returns the text as it was typed, such as `0.0` while the user types `0.05`. It is kept until something else changes
 * the value or its format.
 */
function useTyped({ value, toText, toValue, onChange }: TypedInput): TypedText {
  const valueText = toText(value);
  const [text, setText] = useState(valueText);
  const formattedValue = useRef(value);
  useEffect(() => {
    const isReformatted = Object.is(formattedValue.current, value);
    formattedValue.current = value;
    const typedValue = toValue(text);
    if (isReformatted || typedValue === undefined || toText(typedValue.value) !== valueText) setText(valueText);
  }, [valueText]);
  return [
    text,
    (next) => {
      setText(next);
      const read = toValue(next);
      if (read !== undefined) onChange(read.value);
    },
    () => setText(valueText),
  ];
}

interface ControlProps {
  readonly id: string;
  readonly spec: FieldSpec;
  readonly value: Json | undefined;
  readonly describedBy: string | undefined;
  readonly findings: readonly Finding[];
  readonly isDisabled: boolean;
  readonly datapoints: readonly string[];
  onChange(value: Json | undefined): void;
}

function FieldControl(props: ControlProps) {
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

interface CommonProps extends ControlProps {
  readonly common: Readonly<Record<string, unknown>>;
}

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
  const series = useList('series');
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
          else if (isFractionUnit(spec.unit) && typeof value === 'number') format();
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

/** Returns true for a boolean without a third state, in which it is not set. */
const isCheckbox = ({ kind, otherwise, isRequired }: FieldSpec, value: Json | undefined): boolean =>
  kind === 'boolean' && (typeof otherwise === 'boolean' || (isRequired === true && typeof value === 'boolean'));

/** Renders a boolean as a checkbox, or as a choice if it may be unset. */
function BooleanInput(props: CommonProps) {
  const { spec, value, onChange, common } = props;
  if (isCheckbox(spec, value)) return <Checkbox {...props} />;
  return (
    <select
      class="control"
      {...common}
      value={value === undefined || value === null ? '' : String(value)}
      onChange={({ currentTarget: { value: chosen } }) => onChange(chosen === '' ? undefined : chosen === 'true')}
    >
      {spec.isRequired !== true && <option value="">{formatDefault(spec)}</option>}
      <option value="true">yes</option>
      <option value="false">no</option>
    </select>
  );
}

/** Renders a checkbox. A document without the member gets it only if the value differs from the default. */
function Checkbox({ spec: { otherwise }, value, onChange, common }: CommonProps) {
  const wasAbsent = useRef(value === undefined || value === null).current;
  return (
    <input
      type="checkbox"
      {...common}
      checked={typeof value === 'boolean' ? value : otherwise === true}
      onChange={({ currentTarget: { checked } }) => onChange(wasAbsent && checked === otherwise ? undefined : checked)}
    />
  );
}

interface FieldProps {
  readonly spec: FieldSpec;
  readonly value: Json | undefined;
  readonly findings: readonly Finding[];
  /** Notes on an uncertain value of the field. */
  readonly notes?: readonly string[];
  /** Datapoint names that are suggested. */
  readonly datapoints?: readonly string[];
  readonly isDisabled?: boolean;
  onChange(value: Json | undefined): void;
}

export function Field({
  spec,
  value,
  findings,
  notes = [],
  datapoints = [],
  isDisabled = false,
  onChange,
}: FieldProps) {
  const id = useId();
  const [isTouched, setTouched] = useState(false);
  // An empty required field shows a star and not an error until it is edited for the first time.
  const items = isTouched ? findings : findings.filter((finding) => !isMissing(finding));
  const { label, unit, isRequired = false, kind, link } = spec;
  useFindingField(findings, { id: `${id}-field`, member: spec.name, label });
  const hint = items.length + notes.length > 0 ? `${id}-said` : undefined;
  const helpText = formatHelp(spec, value);
  const describedBy = [helpText === '' ? undefined : `${id}-help`, hint].filter(Boolean).join(' ');
  return (
    <div
      id={`${id}-field`}
      class={`pile field kind-${kind}${listClasses(spec, value)}`}
      onFocusOut={() => setTouched(true)}
      onChange={() => setTouched(true)}
    >
      <label for={id}>
        {label}
        {isRequired && <RequiredMark />}
        {isShort(unit) && !isFractionUnit(unit) && !label.toLowerCase().endsWith(unit) && (
          <span class="quiet"> {unit}</span>
        )}
      </label>
      <FieldControl
        id={id}
        spec={spec}
        value={value}
        describedBy={describedBy === '' ? undefined : describedBy}
        findings={items}
        isDisabled={isDisabled}
        datapoints={datapoints}
        onChange={onChange}
      />
      {helpText !== '' && (
        <p id={`${id}-help`} class="small field-help">
          {renderCode(formatFormHelp(helpText))}
        </p>
      )}
      {link !== undefined && (
        <p class="small field-help">
          <a href={link.address}>{link.text}</a>
        </p>
      )}
      {hint !== undefined && <FieldFindings id={hint} spec={spec} findings={items} notes={notes} onChange={onChange} />}
    </div>
  );
}

const listClasses = (spec: FieldSpec, value: Json | undefined): string =>
  [
    spec.isWide === true ? ' is-wide' : spec.isDouble === true ? ' is-double' : '',
    isCheckbox(spec, value) ? ' is-checkbox' : '',
  ].join('');

const RequiredMark = () => (
  <span class="field-required" title="required">
    {' '}
    *
  </span>
);

/**
 * Returns the help text of a field for its current value. A unit that is too long for the label is added at its end.
 */
function formatHelp({ kind, help, unit, otherwise, choices, words }: FieldSpec, value: Json | undefined): string {
  const chosenValue = typeof value === 'string' ? value : typeof otherwise === 'string' ? otherwise : undefined;
  const meaning = kind === 'choice' && typeof help === 'string' ? findChoiceHelp(help, chosenValue) : help;
  const texts = new Map((choices ?? []).map((choice) => [choice, `“${formatChoiceText(choice, words)}”`]));
  const text = typeof meaning === 'string' ? writeNames(meaning, texts) : meaning;
  return [text, isShort(unit) || isFractionUnit(unit) ? null : unit && `In ${unit}.`].filter(Boolean).join(' ');
}

interface FieldFindingsProps extends Pick<FieldProps, 'spec' | 'findings' | 'onChange'> {
  readonly id: string;
  readonly notes: readonly string[];
}

/** Renders findings about a field, suggestions for an unknown name, and notes. */
function FieldFindings({ id, spec: { name: member, label, kind }, findings, notes, onChange }: FieldFindingsProps) {
  const names = findings.flatMap(listSuggestions);
  return (
    <ul id={id} class="small field-findings">
      {findings.map((finding) => (
        <li
          key={`${finding.code} ${finding.path} ${finding.message}`}
          class={finding.severity === 'error' ? 'down' : 'field-warning'}
        >
          {formatMessageAt(finding, member, label)}
        </li>
      ))}
      {names.length > 0 && (
        <li>
          Did you mean{' '}
          {names.map((name) => (
            <Button key={name} kind="bare" onClick={() => onChange(kind === 'node' ? { node: 'field', name } : name)}>
              {name}
            </Button>
          ))}
        </li>
      )}
      {notes.map((note) => (
        <li key={note} class="field-warning">
          {note}
        </li>
      ))}
    </ul>
  );
}

/** Returns accepted names that are similar to an unknown name. */
const listSuggestions = ({ code, value, accepted }: Finding): readonly string[] =>
  code === 'UNKNOWN_FIELD_NAME' && typeof value === 'string' ? listNearest(value, accepted ?? []) : [];

/** Renders a help text; passages between backticks are shown as code. */
export const renderCode = (text: string) =>
  text.split('`').map((part, k) => (k % 2 === 1 ? <code key={k}>{part}</code> : part));

/** Returns true if a unit fits next to the label. */
const isShort = (unit: string | null | undefined): unit is string => typeof unit === 'string' && unit.length <= 10;

export function FieldGrid({ children }: { readonly children: ComponentChildren }) {
  return <div class="pile field-grid">{children}</div>;
}
