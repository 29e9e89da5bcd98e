import type { Finding } from '#clients/typescript/divisor.js';
import { service } from '../../state/service.js';
import { isObject, formatPath, type Json, type JsonObject, type Path } from '../../words/paths.js';
import { Button } from '../button.js';
import { Icon } from '../icon.js';
import { renderCode, Field, FieldGrid } from './field.js';
import type { FieldSpec } from './field-spec.js';

interface NodeProps {
  readonly value: Json | undefined;
  readonly findings: readonly Finding[];
  /** Path of the value in findings. */
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
export function Expression({ spec, ...node }: ExpressionProps) {
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
    <fieldset class="field-group">
      <legend>{label}</legend>
      {help != null && <p class="field-help">{renderCode(help)}</p>}
      <Node {...node} />
      <Button kind="bare" onClick={() => void toText()}>
        As text
      </Button>
    </fieldset>
  );
}

/** Initial text of a condition in text form. */
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

/** Comparison operators with a list as value. */
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

/** Renders the fields for the operands of a condition. */
function Operands({ node, path, onChange, ...shared }: OperandsProps) {
  const operands = listOperands(node);
  const put = (next: readonly JsonObject[]) => onChange({ ...node, operands: next });
  if (node['node'] === 'not')
    return (
      <div class="field-row" role="group" aria-label="Condition that must be false">
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
        <div key={at} class="field-row" role="group" aria-label={`Condition ${at + 1}`}>
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
