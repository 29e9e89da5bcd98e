import type { Finding, ParameterSpec, TypeSpec } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { isObject, moveItem, formatPath, type Json, type JsonObject, type Path } from '../../words/paths.js';
import { formatSummary } from '../../words/row-summaries.js';
import { AddSelect } from '../add-select.js';
import { AnyField } from './any-field.js';
import { renderCode, Field, FieldGrid } from './field.js';
import { createField, withLabelledHelp } from './field-spec.js';
import { ListRow, type RowActions } from './list-row.js';
import './row-list.css';

interface RowListProps {
  /** Noun for a row, such as `rule` or `constraint`. */
  readonly what: string;
  readonly rows: readonly JsonObject[];
  /** Catalogue types that a row may have. */
  readonly types: readonly TypeSpec[];
  /** Path of the rows in findings. */
  readonly path: Path;
  readonly findings: readonly Finding[];
  readonly datapoints: readonly string[];
  /** Positions of the rows that contradict each other. */
  readonly conflicts?: ReadonlySet<number>;
  onChange(rows: readonly JsonObject[]): void;
}

/** Number of rows from which each row is folded to one line. */
const FOLDED_MIN = 4;

/**
 * Renders an ordered list of rows with catalogue types. Rows are moved by dragging, by buttons, or by Alt with an arrow
 * key.
 */
export function RowList({ what, rows, types, path, findings, datapoints, conflicts, onChange }: RowListProps) {
  const [dragged, setDragged] = useState<number | null>(null);
  const [opened, setOpened] = useState<readonly string[]>([]);
  const move = (from: number, to: number) => {
    onChange(moveItem(rows, from, to));
    requestAnimationFrame(() => document.getElementById(`${what}-${to}`)?.focus());
  };
  return (
    <>
      {rows.length > 0 && (
        <ol class="row-list">
          {rows.map((row, position) => (
            <Row
              key={getKey(row, position)}
              id={`${what}-${position}`}
              row={row}
              at={position}
              last={rows.length - 1}
              spec={types.find(({ type }) => type === row['type'])}
              path={[...path, position]}
              findings={findings}
              datapoints={datapoints}
              isInConflict={conflicts?.has(position) === true}
              isDragged={dragged === position}
              isFolded={rows.length >= FOLDED_MIN && !opened.includes(getKey(row, position))}
              onFold={
                rows.length < FOLDED_MIN
                  ? null
                  : () =>
                      setOpened((before) =>
                        before.includes(getKey(row, position))
                          ? before.filter((one) => one !== getKey(row, position))
                          : [...before, getKey(row, position)],
                      )
              }
              onChange={(next) => onChange(rows.map((findingPath, i) => (i === position ? next : findingPath)))}
              onMove={(to) => move(position, to)}
              onRemove={() => onChange(rows.filter((_, i) => i !== position))}
              onDrag={setDragged}
              onDrop={() => {
                if (dragged !== null && dragged !== position) onChange(moveItem(rows, dragged, position));
                setDragged(null);
              }}
            />
          ))}
        </ol>
      )}
      <AddSelect
        label={`Add a ${what}`}
        prompt={`+ Add a ${what}`}
        options={types.map(({ type, label }) => ({ value: type, text: label }))}
        onAdd={(type) => {
          const id = createUnusedId(type, rows);
          setOpened([...opened, id]);
          onChange([...rows, { id, type, params: {} }]);
        }}
      />
    </>
  );
}

const getKey = ({ id }: JsonObject, position: number): string => String(id ?? position);

/** Returns an unused id for a type, such as `top-n` or `top-n-2`. */
function createUnusedId(type: string, rows: readonly JsonObject[]): string {
  const base = type
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replaceAll('_', '-')
    .toLowerCase();
  const takenIds = new Set(rows.map(({ id }) => id));
  let id = base;
  for (let n = 2; takenIds.has(id); n++) id = `${base}-${n}`;
  return id;
}

export const listRows = (value: Json | undefined): readonly JsonObject[] =>
  Array.isArray(value) ? (value as readonly Json[]).filter(isObject) : [];

interface RowProps extends RowActions, Pick<RowListProps, 'findings' | 'datapoints' | 'path'> {
  readonly id: string;
  readonly row: JsonObject;
  readonly at: number;
  readonly last: number;
  readonly spec: TypeSpec | undefined;
  readonly isInConflict: boolean;
  onChange(row: JsonObject): void;
}

function Row({ row, spec, path, findings, datapoints, onChange, ...act }: RowProps) {
  const text = formatPath(path);
  const problems = findings.filter(
    ({ path: findingPath, severity, code }) =>
      severity === 'error' && code !== 'MISSING_PARAMETER' && findingPath.startsWith(`${text}.`),
  );
  const params = isObject(row['params']) ? row['params'] : {};
  const listFindings = (member: string) =>
    findings.filter(
      ({ path: findingPath }) => findingPath === `${text}.${member}` || findingPath.startsWith(`${text}.${member}[`),
    );
  const setParameter = (name: string, value: Json | undefined) => {
    const { [name]: _, ...others } = params;
    onChange({ ...row, params: value === undefined ? others : { ...others, [name]: value } });
  };
  const parameters = spec?.parameters ?? [];
  const isFolded = ({ name }: ParameterSpec) => RARE.has(name) && (params[name] ?? null) === null;
  const foldedParameters = parameters.filter(isFolded);
  const fieldFor = (parameter: ParameterSpec) => (
    <AnyField
      key={parameter.name}
      spec={withLabelledHelp(createField(parameter), parameters)}
      value={params[parameter.name]}
      findings={findings}
      path={[...path, 'params', parameter.name]}
      datapoints={datapoints}
      onChange={(value) => setParameter(parameter.name, value)}
    />
  );
  return (
    <ListRow
      {...act}
      name={String(row['id'] ?? `row ${act.at + 1}`)}
      title={spec?.label ?? String(row['type'])}
      summary={formatSummary(row, parameters)}
      errors={problems.length}
    >
      {(!act.isFolded || problems.length > 0) && (
        <>
          {spec?.help && <p class="quiet">{renderCode(spec.help)}</p>}
          <FieldGrid>
            {parameters
              .filter((parameter) => !isFolded(parameter))
              .toSorted((a, b) => Number(isList(a)) - Number(isList(b)))
              .map(fieldFor)}
          </FieldGrid>
          <details class="row-more">
            <summary>{formatList([...foldedParameters.map(({ label }) => label), 'Id'])}</summary>
            {foldedParameters.length > 0 && <FieldGrid>{foldedParameters.map(fieldFor)}</FieldGrid>}
            <Field
              spec={{ name: 'id', label: 'Id', kind: 'text' }}
              value={row['id']}
              findings={listFindings('id')}
              onChange={(value) => onChange({ ...row, id: value })}
            />
          </details>
        </>
      )}
    </ListRow>
  );
}

/** Parameters that all constraints have. They are folded while they have their defaults. */
const RARE: ReadonlySet<string> = new Set(['soft', 'priority']);

/** Returns true for a parameter whose field takes a separate line. Such fields are below those that share a line. */
const isList = (parameter: ParameterSpec): boolean => createField(parameter).kind === 'list';

/** Joins labels, as in `Soft penalty, priority and id`. */
function formatList(labels: readonly string[]): string {
  const words = labels.map((label, position) => (position === 0 ? label : label.toLowerCase()));
  return words.length === 1 ? words[0]! : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`; // at least the id
}
