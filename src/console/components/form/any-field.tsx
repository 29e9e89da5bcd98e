import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Finding } from '#clients/typescript/divisor.js';
import { service } from '../../state/service.js';
import { formatMessageAt } from '../../words/findings.js';
import { formatPath, isObject, type Json, type JsonObject, type Path } from '../../words/paths.js';
import { Button, Icon } from '../controls/button.js';
import { createField, type FieldSpec, isApplicable, withLabelledHelp } from './field-spec.js';
import { Field, FieldGrid, renderCode } from './field.js';

interface NodeProps {
  readonly value: Json | undefined;
  readonly findings: readonly Finding[];
  readonly path: Path;
  readonly datapoints: readonly string[];
  onChange(value: Json | undefined): void;
}

interface ExpressionProps extends NodeProps {
  readonly spec: FieldSpec;
}

/**
 * Renders a condition on the datapoints of a security. It is a tree: its inner nodes are `all`, `any` and `not`, and
 * its leaves are comparisons.
 */
function Expression({ spec, ...node }: ExpressionProps) {
  const { label, help } = spec;
  const { value, onChange } = node;
  if (typeof value === 'string' || (isObject(value) && typeof value['text'] === 'string')) {
    return (
      <div class="field-wide">
        <Field {...node} spec={{ ...spec, kind: 'formula', expects: 'condition', isWide: true }} />
        {isObject(value) && (
          <Button kind="bare" onClick={() => onChange(removeText(value))}>
            As a tree
          </Button>
        )}
      </div>
    );
  }
  const toText = async (): Promise<void> => {
    const { text } = isObject(value)
      ? await service.value.call('evaluateDatapoint', { body: { expression: value, expects: 'condition' } })
      : { text: INITIAL_TEXT };
    if (text !== null) onChange(text);
  };
  return (
    <fieldset class="pile frame gap-2 field-group">
      <legend>{label}</legend>
      {help != null && <p class="small field-help">{renderCode(help)}</p>}
      <Node {...node} />
      <Button kind="bare" onClick={() => void toText()}>
        As text
      </Button>
    </fieldset>
  );
}

const INITIAL_TEXT = 'CLOSE > 0';

function removeText(value: JsonObject): JsonObject {
  const { text: _, ...tree } = value;
  return tree;
}

const NODE_FIELD: FieldSpec = {
  name: 'node',
  label: 'Condition',
  kind: 'choice',
  isRequired: true,
  choices: ['comparison', 'all', 'any', 'not'],
};

const INITIAL_NODE: JsonObject = { node: 'comparison', comparison: 'ge' };

/** Converts a node to another kind. Operands that the new kind accepts are kept. */
function convertToKind(value: JsonObject, node: string): JsonObject {
  const before = listOperands(value);
  const operands = before.length > 0 ? before : [value];
  if (node === 'comparison') return before.find((one) => one['node'] === 'comparison') ?? INITIAL_NODE;
  return node === 'not' ? { node, operand: operands[0] ?? INITIAL_NODE } : { node, operands };
}

function listOperands({ operands, operand }: JsonObject): readonly JsonObject[] {
  const all = Array.isArray(operands) ? (operands as readonly Json[]) : [operand];
  return all.filter((one) => isObject(one));
}

function Node({ value, findings, path, datapoints, onChange }: NodeProps) {
  const node = isObject(value) ? value : INITIAL_NODE;
  const kind = String(node['node']);
  const listFindingsAt = (step: string) =>
    findings.filter(({ path: findingPath }) => isWithin(findingPath, [...path, step]));
  const ownFindings = findings.filter(({ path: one }) => one === formatPath(path));
  return (
    <>
      <FieldGrid>
        <Field
          spec={NODE_FIELD}
          value={kind}
          findings={[...ownFindings, ...listFindingsAt('node')]}
          onChange={(chosen) => onChange(convertToKind(node, String(chosen)))}
        />
        {kind === 'comparison' &&
          createComparisonFields(node).map((spec) => (
            <Field
              key={spec.name}
              spec={spec}
              value={node[spec.name]}
              findings={listFindingsAt(spec.name)}
              datapoints={datapoints}
              onChange={(next) => onChange({ ...node, [spec.name]: next })}
            />
          ))}
      </FieldGrid>
      {kind !== 'comparison' && <Operands {...{ findings, path, datapoints, onChange }} node={node} />}
    </>
  );
}

const isWithin = (path: string, outer: Path): boolean => {
  const text = formatPath(outer);
  return path === text || path.startsWith(`${text}.`) || path.startsWith(`${text}[`);
};

const LIST_COMPARISONS = ['in', 'between'];

const createComparisonFields = ({ comparison }: JsonObject): readonly FieldSpec[] => [
  { name: 'field', label: 'Datapoint', kind: 'node', isRequired: true },
  {
    name: 'comparison',
    label: 'Is',
    kind: 'choice',
    isRequired: true,
    choices: ['ge', 'gt', 'le', 'lt', 'eq', 'ne', ...LIST_COMPARISONS],
    words: {
      ge: 'at least',
      gt: 'above',
      le: 'at most',
      lt: 'below',
      eq: 'equal to',
      ne: 'not equal to',
      in: 'one of',
      between: 'between',
    },
  },
  {
    name: 'value',
    label: comparison === 'between' ? 'Low, high' : 'Value',
    kind: LIST_COMPARISONS.includes(String(comparison)) ? 'scalars' : 'scalar',
    isRequired: true,
  },
];

interface OperandsProps extends Omit<NodeProps, 'value'> {
  readonly node: JsonObject;
}

function Operands({ node, path, onChange, ...shared }: OperandsProps) {
  const operands = listOperands(node);
  const put = (next: readonly JsonObject[]) => onChange({ ...node, operands: next });
  if (node['node'] === 'not')
    return (
      <div class="pile gap-2 field-row" role="group" aria-label="Condition that must be false">
        <Node
          {...shared}
          value={operands[0]}
          path={[...path, 'operand']}
          onChange={(operand) => onChange({ ...node, operand })}
        />
      </div>
    );
  return (
    <>
      {operands.map((operand, at) => (
        <div key={at} class="pile gap-2 field-row" role="group" aria-label={`Condition ${at + 1}`}>
          <div>
            <Node
              {...shared}
              value={operand}
              path={[...path, 'operands', at]}
              onChange={(next) => put(operands.map((other, i) => (i === at && isObject(next) ? next : other)))}
            />
          </div>
          <Button
            kind="bare"
            aria-label={`Remove condition ${at + 1}`}
            disabled={operands.length === 1}
            onClick={() => put(operands.filter((_, i) => i !== at))}
          >
            <Icon name="close" />
          </Button>
        </div>
      ))}
      <Button onClick={() => put([...operands, INITIAL_NODE])}>
        <Icon name="plus" /> Add a condition
      </Button>
    </>
  );
}

export interface AnyFieldProps {
  readonly spec: FieldSpec;
  readonly value: Json | undefined;
  /** Findings of the whole document or only of this field. */
  readonly findings: readonly Finding[];
  readonly path: Path;
  readonly datapoints: readonly string[];
  readonly isDisabled?: boolean;
  onChange(value: Json | undefined): void;
}

/** Renders a field, or the fields of an object or of a list of objects. */
export function AnyField(props: AnyFieldProps) {
  const { spec, path, findings } = props;
  const text = formatPath(path);
  const isWhole = spec.kind !== 'text' && spec.kind !== 'choice';
  const ownFindings = findings.filter(
    ({ path: one }) => one === text || (isWhole && (one.startsWith(`${text}.`) || one.startsWith(`${text}[`))),
  );
  if (spec.kind === 'expression') return <Expression {...props} findings={ownFindings} />;
  if (spec.members === undefined) return <Field {...props} findings={ownFindings} />;
  const members =
    spec.kind === 'rows' ? <Rows {...props} findings={ownFindings} /> : <Members {...props} findings={ownFindings} />;
  const content = (
    <>
      {spec.help != null && <p class="small field-help">{renderCode(spec.help)}</p>}
      {ownFindings
        .filter(({ path: one }) => one === text)
        .map((finding) => (
          <p key={finding.code} class={isProblem(finding) ? 'down' : 'quiet'}>
            {formatMessageAt(finding, spec.name, spec.label)}
          </p>
        ))}
      {members}
    </>
  );
  if (spec.kind === 'object' && spec.isRequired !== true)
    return (
      <Optional label={spec.label} isSet={props.value !== undefined || ownFindings.some(isProblem)}>
        {content}
      </Optional>
    );
  return (
    <fieldset class="pile frame gap-2 field-group">
      <legend>{spec.label}</legend>
      {content}
    </fieldset>
  );
}

/** Time in ms after a group was opened in which a click does not close it. */
const REACTION_MS = 400;

/** Returns true for findings that must be visible. Only findings about applied defaults need not be visible. */
export const isProblem = ({ severity }: Finding): boolean => severity !== 'info';

interface OptionalProps {
  readonly label: string;
  /** True if the object has a value or a problem. The group is then open. */
  readonly isSet: boolean;
  readonly children: ComponentChildren;
}

/** Renders an optional object as a group that can be folded. */
export function Optional({ label, isSet, children }: OptionalProps) {
  const [isOpen, setOpen] = useState(isSet);
  const openedAt = useRef(-Infinity);
  useLayoutEffect(() => {
    if (!isSet) return;
    openedAt.current = performance.now();
    setOpen(true);
  }, [isSet]);
  return (
    <details
      class="pile frame gap-2 field-group"
      role="group"
      aria-label={label}
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary
        onClick={(event) => {
          // The group was opened automatically just before this click. The click was meant to open it, so it stays
          // open.
          if (isOpen && event.timeStamp - openedAt.current < REACTION_MS) event.preventDefault();
        }}
      >
        {label}
      </summary>
      {isOpen && children}
    </details>
  );
}

/**
 * Renders the members of an object. Members that do not apply, because of the values of other members, are left out.
 */
function Members({ spec, value, path, findings, datapoints, isDisabled = false, onChange }: AnyFieldProps) {
  const members = spec.members ?? [];
  const object: JsonObject = isObject(value) ? value : {};
  const put = (name: string, memberValue: Json | undefined) => {
    const { [name]: _, ...others } = object;
    const rest = Object.keys(others).length === 0 ? undefined : others; // an object without members is removed from the document
    onChange(memberValue === undefined ? rest : { ...object, [name]: memberValue });
  };
  return (
    <FieldGrid>
      {members
        .filter((member) => isApplicable(member, members, object))
        .map((member) => (
          <AnyField
            key={member.name}
            spec={withLabelledHelp(createField(member), members)}
            value={object[member.name]}
            findings={findings}
            path={[...path, member.name]}
            datapoints={datapoints}
            isDisabled={isDisabled}
            onChange={(own) => put(member.name, own)}
          />
        ))}
    </FieldGrid>
  );
}

const Rows = (props: AnyFieldProps) => (
  <FieldRows
    label={props.spec.label}
    value={props.value}
    onChange={props.onChange}
    row={(row, position, put) => <Members {...props} value={row} path={[...props.path, position]} onChange={put} />}
  />
);

interface FieldRowsProps {
  readonly label: string;
  readonly value: Json | undefined;
  onChange(value: Json | undefined): void;
  /** Renders the fields of a row. */
  readonly row: (row: Json, position: number, onChange: (row: Json | undefined) => void) => ComponentChildren;
}

export function FieldRows({ label, value, onChange, row: fields }: FieldRowsProps) {
  const rows = Array.isArray(value) ? (value as readonly Json[]) : [];
  const put = (next: readonly Json[]) => onChange(next.length === 0 ? undefined : next);
  return (
    <>
      {rows.map((row, position) => (
        <div key={position} class="pile gap-2 field-row" role="group" aria-label={`${label}, row ${position + 1}`}>
          {fields(row, position, (own) => put(rows.map((other, i) => (i === position ? (own ?? {}) : other))))}
          <Button
            kind="bare"
            aria-label={`Remove row ${position + 1} of ${label}`}
            onClick={() => put(rows.filter((_, i) => i !== position))}
          >
            <Icon name="close" />
          </Button>
        </div>
      ))}
      <Button aria-label={`Add to ${label}`} onClick={() => put([...rows, {}])}>
        <Icon name="plus" /> Add
      </Button>
    </>
  );
}
