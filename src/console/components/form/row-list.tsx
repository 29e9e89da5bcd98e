import './row-list.css';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Finding, ParameterSpec, TypeSpec } from '#clients/typescript/divisor.js';
import { formatFormHelp, formatSummary as formatRowSummary } from '../../words/form-fields.js';
import { formatPath, isObject, type Json, type JsonObject, moveItem, type Path } from '../../words/paths.js';
import { Button, Icon } from '../controls/button.js';
import { AddSelect, type Option } from '../controls/choice.js';
import { Answered, Badge } from '../feedback.js';
import { AnyField, FieldRows, isProblem, Optional } from './any-field.js';
import { createField, type FieldSpec, withLabelledHelp } from './field-spec.js';
import { Field, FieldGrid, renderCode } from './field.js';
import {
  type Changes,
  findKindMember,
  findMemberSchema,
  listFieldSpecs,
  resolve,
  type Schema,
  SchemaForm,
  type Schemas,
  useSchemas,
} from './schema-form.js';

interface RowActions {
  readonly isDragged: boolean;
  /** True if the form of the row is hidden. */
  readonly isFolded: boolean;
  /** Null if the row cannot be folded. */
  readonly onFold: (() => void) | null;
  onMove(to: number): void;
  onRemove(): void;
  onDrag(position: number | null): void;
  onDrop(): void;
}

interface ListRowProps extends RowActions {
  readonly id?: string;
  /** Positions of this row and of the last row of the list. */
  readonly at: number;
  readonly last: number;
  /** Name of the row in button labels. */
  readonly name: string;
  readonly title: string;
  /** Text next to the title of the folded row. */
  readonly summary: string;
  /** Number of errors shown in the heading of the row. */
  readonly errors: number;
  /** True if the row contradicts other rows. */
  readonly isInConflict?: boolean;
  readonly children: ComponentChildren;
}

/**
 * Renders a row of a list: a heading, and a form unless the row is folded. The row is moved by dragging or by Alt with
 * an arrow key.
 */
function ListRow({ id, isDragged, onDrop, children, ...head }: ListRowProps) {
  const { at, onMove } = head;
  return (
    <li
      id={id}
      class={`stack frame gap-2 row${isDragged ? ' is-dragged' : ''}${head.isFolded ? ' is-folded' : ''}`}
      tabIndex={id === undefined ? undefined : -1}
      onDragOver={(event) => event.preventDefault()}
      onDrop={onDrop}
      onKeyDown={(event) => {
        if (!event.altKey || (event.key !== 'ArrowUp' && event.key !== 'ArrowDown')) return;
        event.preventDefault();
        onMove(event.key === 'ArrowUp' ? at - 1 : at + 1);
      }}
    >
      <Line {...head} />
      {children}
    </li>
  );
}

function Line(props: Omit<ListRowProps, 'id' | 'isDragged' | 'onDrop' | 'children'>) {
  const { at, last, name, title, summary, errors, isInConflict, isFolded, onFold, onMove, onRemove, onDrag } = props;
  return (
    <header>
      <span
        class="row-handle"
        draggable
        onDragStart={() => onDrag(at)}
        onDragEnd={() => onDrag(null)}
        aria-hidden="true"
      >
        ⠿
      </span>
      <strong>
        {at + 1}. {title}
      </strong>
      {isFolded && <span class="cut row-words quiet">{summary}</span>}
      {errors > 0 && <Badge kind="bad">{errors}</Badge>}
      {isInConflict === true && <Badge kind="bad">in conflict</Badge>}
      <span class="row-buttons">
        {onFold !== null && (
          <Button
            kind="bare"
            aria-label={`${isFolded ? 'Open' : 'Fold'} ${name}`}
            aria-expanded={!isFolded}
            onClick={onFold}
          >
            <Icon name="edit" />
          </Button>
        )}
        <Button kind="bare" aria-label={`Move ${name} up`} disabled={at === 0} onClick={() => onMove(at - 1)}>
          <Icon name="up" />
        </Button>
        <Button kind="bare" aria-label={`Move ${name} down`} disabled={at === last} onClick={() => onMove(at + 1)}>
          <Icon name="down" />
        </Button>
        <Button kind="bare" aria-label={`Remove ${name}`} onClick={onRemove}>
          <Icon name="close" />
        </Button>
      </span>
    </header>
  );
}

/** Number of rows from which each row is folded to one line. */
const FOLDED_MIN = 4;

interface KindListProps {
  /** Noun for a row, such as `block` or `step`. */
  readonly what: string;
  readonly rows: readonly JsonObject[];
  /** Member that holds the kind of a row. */
  readonly member: string;
  /** Returns the display name of a kind. Default: the kind with spaces instead of underscores. */
  readonly formatName?: (kind: string) => string;
  /** Returns the schema of a row, which is a union of kinds. */
  readonly selectSchema: (schemas: Schemas) => Schema;
  readonly path: Path;
  readonly findings: readonly Finding[];
  /** Returns the members of a row for which the form has no field. */
  readonly hidden?: (row: JsonObject, names: readonly string[]) => readonly string[];
  /** Rarely used members, which are folded. */
  readonly rare?: readonly string[];
  /** Returns properties of fields that replace those of the schema, by member. */
  readonly listFieldChanges?: (row: JsonObject) => Readonly<Record<string, Partial<FieldSpec>>>;
  /** Renders fields that are not in the schema. */
  readonly more?: (row: JsonObject, position: number, onChange: (row: JsonObject) => void) => ComponentChildren;
  /**
   * Returns a one-line summary of a folded row. If absent, it consists of the texts and lists of the row; if it has
   * none, of a description of its kind.
   */
  readonly formatSummary?: (row: JsonObject) => string;
  /** Returns the members of a new row in addition to its kind. */
  readonly fresh: (kind: string) => JsonObject;
  onChange(rows: readonly JsonObject[]): void;
}

/**
 * Renders an ordered list of rows of different kinds. Each row has the form of its kind. Rows are moved by dragging, by
 * buttons, or by Alt with an arrow key.
 */
export function KindList(props: KindListProps) {
  const { what, rows, member, selectSchema, fresh, onChange, formatName = formatKind } = props;
  const schemas = useSchemas();
  const [dragged, setDragged] = useState<number | null>(null);
  const [opened, setOpened] = useState<number | null>(null);
  const put = (next: readonly JsonObject[], open: number | null) => {
    setOpened(open);
    onChange(next);
  };
  return (
    <Answered resource={schemas} what={`the kinds of ${what}`}>
      {(all) => {
        const kinds = readKinds(all, selectSchema(all), member);
        return (
          <>
            <ol class="stack gap-2 row-list">
              {rows.map((row, position) => (
                <KindRow
                  {...props}
                  key={position}
                  row={row}
                  at={position}
                  schema={kinds.get(String(row[member])) ?? ''}
                  schemas={all}
                  isDragged={dragged === position}
                  isFolded={rows.length >= FOLDED_MIN && opened !== position}
                  onFold={rows.length < FOLDED_MIN ? null : () => setOpened(opened === position ? null : position)}
                  onRow={(next) => onChange(rows.map((findingPath, i) => (i === position ? next : findingPath)))}
                  onMove={(to) => put(moveItem(rows, position, to), opened === position ? to : null)}
                  onRemove={() => put(rows.toSpliced(position, 1), null)}
                  onDrag={setDragged}
                  onDrop={() => {
                    if (dragged !== null && dragged !== position) put(moveItem(rows, dragged, position), null);
                    setDragged(null);
                  }}
                />
              ))}
            </ol>
            <AddRow
              what={what}
              options={[...kinds.keys()].map((kind) => ({ value: kind, text: formatName(kind) }))}
              onAdd={(kind) => put([...rows, { [member]: kind, ...fresh(kind) }], rows.length)}
            />
          </>
        );
      }}
    </Answered>
  );
}

/** Number of kinds up to which each has a button. */
const BUTTONS_MAX = 5;

interface AddRowProps extends Pick<KindListProps, 'what'> {
  readonly options: readonly Option<string>[];
  onAdd(kind: string): void;
}

/** Renders a button for each of a few kinds, as in lists of one kind. Many kinds have a select element. */
function AddRow({ what, options, onAdd }: AddRowProps) {
  if (options.length > BUTTONS_MAX)
    return <AddSelect label={`Add a ${what}`} prompt={`+ Add a ${what}`} options={options} onAdd={onAdd} />;
  return (
    <span class="gap-2 add-select" role="group" aria-label={`Add a ${what}`}>
      {options.map(({ value, text }) => (
        <Button key={value} onClick={() => onAdd(value)}>
          <Icon name="plus" /> Add {text}
        </Button>
      ))}
    </span>
  );
}

const formatKind = (kind: string): string => kind.replaceAll('_', ' ');

/** Returns the kinds of rows in the contract, each with the schema name of the kind. */
function readKinds(schemas: Schemas, schema: Schema, member: string): ReadonlyMap<string, string> {
  return new Map(
    (schema.oneOf ?? []).map((findingPath) => [
      String(resolve(schemas, findingPath).properties?.[member]?.const),
      findingPath.$ref?.split('/').at(-1) ?? '',
    ]),
  );
}

interface KindRowProps extends KindListProps, RowActions {
  readonly row: JsonObject;
  readonly at: number;
  /** Schema name of the kind of the row. */
  readonly schema: string;
  readonly schemas: Schemas;
  onRow(row: JsonObject): void;
}

function KindRow(props: KindRowProps) {
  const { row, at, schema, schemas, isFolded, onRow } = props;
  const { what, rows, member, path, findings, hidden = () => [], rare = [], listFieldChanges, more } = props;
  const { formatName = formatKind } = props;
  const allNames = schema === '' ? [] : listFieldSpecs(schemas, schema).map((field) => field.name);
  const out = [member, ...hidden(row, allNames)];
  const names = allNames.filter((name) => !out.includes(name));
  const help = formatFormHelp(schemas[schema]?.description ?? '');
  const text = formatPath([...path, at]);
  const errors = findings.filter(
    ({ path: findingPath, severity }) => severity === 'error' && findingPath.startsWith(text),
  );
  const renderForm = (isShown: (name: string) => boolean) => (
    <SchemaForm
      schema={schema}
      names={names.filter(isShown)}
      changes={listFieldChanges?.(row) ?? {}}
      value={row}
      findings={findings}
      path={[...path, at]}
      onChange={onRow}
    />
  );
  return (
    <ListRow
      {...props}
      at={at}
      last={rows.length - 1}
      name={`${what} ${at + 1}`}
      title={formatName(String(row[member]))}
      summary={props.formatSummary?.(row) ?? (formatSummary(row, member) || getFirstSentence(help))}
      errors={isFolded ? errors.length : 0}
    >
      {!isFolded && (
        <>
          {help !== '' && <p class="quiet">{renderCode(help)}</p>}
          {renderForm((name) => !rare.includes(name))}
          {more?.(row, at, onRow)}
          {names.some((name) => rare.includes(name)) && (
            <details class="row-more">
              <summary>More settings</summary>
              {renderForm((name) => rare.includes(name))}
            </details>
          )}
        </>
      )}
    </ListRow>
  );
}

const getFirstSentence = (text: string): string => /^[^.]*\./.exec(text)?.[0] ?? text;

/** Summarises a row by its texts and lists of texts, such as `Performance, level benchmark`. */
const formatSummary = (row: JsonObject, member: string): string =>
  Object.entries(row)
    .filter(([name, value]) => name !== member && (typeof value === 'string' || Array.isArray(value)) && value !== '')
    .map(([, value]) =>
      Array.isArray(value) ? value.map((one) => (isObject(one) ? Object.values(one)[0] : one)).join(' ') : value,
    )
    .join(', ');

interface RowListProps {
  /** Noun for a row, such as `rule` or `constraint`. */
  readonly what: string;
  readonly rows: readonly JsonObject[];
  readonly types: readonly TypeSpec[];
  readonly path: Path;
  readonly findings: readonly Finding[];
  readonly datapoints: readonly string[];
  /** Positions of the rows that contradict each other. */
  readonly conflicts?: ReadonlySet<number>;
  onChange(rows: readonly JsonObject[]): void;
}

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
        <ol class="stack gap-2 row-list">
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
      summary={formatRowSummary(row, parameters)}
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

interface NestedFieldProps {
  readonly schema: string;
  readonly spec: FieldSpec;
  readonly changes: Changes;
  readonly value: Json | undefined;
  readonly findings: readonly Finding[];
  readonly path: Path;
  onChange(value: Json | undefined): void;
}

/** Renders a member that is an object or a list of objects, with fields for its members. */
export function NestedField({ schema, spec, changes, value, findings, path, onChange }: NestedFieldProps) {
  const { kind, label, help, isRequired } = spec;
  const renderForm = (formValue: Json | undefined, formPath: Path, put: (next: JsonObject) => void) => (
    <SchemaForm
      schema={schema}
      changes={changes}
      value={isObject(formValue) ? formValue : {}}
      findings={findings}
      path={formPath}
      onChange={put}
    />
  );
  const content = (
    <>
      {help != null && <p class="small field-help">{renderCode(help)}</p>}
      {findings
        .filter(({ path: one }) => one === formatPath(path))
        .map((finding) => (
          <p key={finding.code} class={isProblem(finding) ? 'down' : 'quiet'}>
            {finding.message}
          </p>
        ))}
      {kind === 'rows' ? (
        <FieldRows
          label={label}
          value={value}
          onChange={onChange}
          row={(row, formPath, put) => renderForm(row, [...path, formPath], put)}
        />
      ) : (
        renderForm(value, path, (next) => onChange(Object.keys(next).length === 0 ? undefined : next))
      )}
    </>
  );
  if (kind === 'object' && isRequired !== true)
    return (
      <Optional label={label} isSet={isObject(value) || findings.some(isProblem)}>
        {content}
      </Optional>
    );
  return (
    <fieldset class="pile frame gap-2 field-group">
      <legend>{label}</legend>
      {content}
    </fieldset>
  );
}

interface KindsFieldProps {
  /** Schema name and member as one text, such as `ChecksStep.checks`. */
  readonly schema: string;
  readonly spec: FieldSpec;
  readonly value: Json | undefined;
  readonly findings: readonly Finding[];
  readonly path: Path;
  onChange(value: Json | undefined): void;
}

/** Renders a member that is a list of objects of different kinds, each with the form of its kind. */
export function KindsField({
  schema,
  spec: { label, help, words = {} },
  value,
  findings,
  path,
  onChange,
}: KindsFieldProps) {
  const schemas = useSchemas();
  const rows = listRows(value);
  return (
    <Optional label={label} isSet={rows.length > 0 || findings.some(isProblem)}>
      {help != null && <p class="small field-help">{renderCode(help)}</p>}
      <Answered resource={schemas} what="the fields">
        {(all) => {
          const member = findKindMember(all, findMemberSchema(all, schema)) ?? 'type';
          return (
            <KindList
              what={member}
              rows={rows}
              member={member}
              formatName={(kind) => words[kind] ?? kind.replaceAll('_', ' ')}
              selectSchema={() => findMemberSchema(all, schema).items ?? {}}
              path={path}
              findings={findings}
              fresh={() => ({})}
              onChange={(next) => onChange(next.length === 0 ? undefined : next)}
            />
          );
        }}
      </Answered>
    </Optional>
  );
}
