import type { Finding } from '#clients/typescript/divisor.js';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { resolve, useSchemas, type Schema, type Schemas } from '../../state/schemas.js';
import { isObject, moved, pathText, type JsonObject, type Path } from '../../words/paths.js';
import { AddSelect } from '../add-select.js';
import { Badge } from '../badge.js';
import { Button } from '../button.js';
import { Icon } from '../icon.js';
import { Answered } from '../wait.js';
import type { FieldSpec } from './field-spec.js';
import { fieldsOf } from './schema-fields.js';
import { SchemaForm } from './schema-form.js';
import './row-list.css';

/** Rows from which on each is a line that opens to its form. */
const FOLDED_MIN = 4;

interface KindListProps {
  /** The noun for a row: `block`, `step`. */
  readonly what: string;
  readonly rows: readonly JsonObject[];
  /** Member of a row that names its kind. */
  readonly member: 'kind' | 'type';
  /** The schema of a row: one of several kinds. */
  readonly schemaOf: (schemas: Schemas) => Schema;
  /** Path of the list in findings. */
  readonly path: Path;
  readonly findings: readonly Finding[];
  /** Members of a row that are not shown as a field. */
  readonly hidden?: (row: JsonObject, names: readonly string[]) => readonly string[];
  /** Members that are folded away. */
  readonly rare?: readonly string[];
  /** Properties of a member that the form overrides. */
  readonly changesOf?: (row: JsonObject) => Readonly<Record<string, Partial<FieldSpec>>>;
  /** Fields in addition to those of the schema. */
  readonly more?: (row: JsonObject, at: number, onChange: (row: JsonObject) => void) => ComponentChildren;
  /** Members of a new row in addition to its kind. */
  readonly fresh: (kind: string) => JsonObject;
  onChange(rows: readonly JsonObject[]): void;
}

/** Rows of several kinds in their order, each a form of its kind: to be dragged, or moved by their buttons and by Alt with an arrow. */
export function KindList(props: KindListProps) {
  const { what, rows, member, schemaOf, fresh, onChange } = props;
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
        const kinds = kindsIn(all, schemaOf(all), member);
        return (
          <>
            <ol class="row-list">
              {rows.map((row, at) => (
                <KindRow
                  {...props}
                  key={at}
                  row={row}
                  at={at}
                  schema={kinds.get(String(row[member])) ?? ''}
                  schemas={all}
                  isDragged={dragged === at}
                  isFolded={rows.length >= FOLDED_MIN && opened !== at}
                  onFold={rows.length < FOLDED_MIN ? null : () => setOpened(opened === at ? null : at)}
                  onRow={(next) => onChange(rows.map((own, i) => (i === at ? next : own)))}
                  onMove={(to) => put(moved(rows, at, to), opened === at ? to : null)}
                  onRemove={() => put(rows.toSpliced(at, 1), null)}
                  onDrag={setDragged}
                  onDrop={() => {
                    if (dragged !== null && dragged !== at) put(moved(rows, dragged, at), null);
                    setDragged(null);
                  }}
                />
              ))}
            </ol>
            <AddSelect
              label={`Add a ${what}`}
              prompt={`+ Add a ${what}`}
              options={[...kinds.keys()].map((kind) => ({ value: kind, text: kind.replaceAll('_', ' ') }))}
              onAdd={(kind) => put([...rows, { [member]: kind, ...fresh(kind) }], rows.length)}
            />
          </>
        );
      }}
    </Answered>
  );
}

/** Kinds of rows with the schema of each, as the contract has them. */
function kindsIn(schemas: Schemas, schema: Schema, member: string): ReadonlyMap<string, string> {
  return new Map(
    (schema.oneOf ?? []).map((own) => [
      String(resolve(schemas, own).properties?.[member]?.const),
      own.$ref?.split('/').at(-1) ?? '',
    ]),
  );
}

interface KindRowProps extends KindListProps {
  readonly row: JsonObject;
  readonly at: number;
  /** Name of the schema of its kind. */
  readonly schema: string;
  readonly schemas: Schemas;
  readonly isDragged: boolean;
  /** True if only the line of the row is shown. */
  readonly isFolded: boolean;
  /** Null where every row is open. */
  readonly onFold: (() => void) | null;
  onRow(row: JsonObject): void;
  onMove(to: number): void;
  onRemove(): void;
  onDrag(at: number | null): void;
  onDrop(): void;
}

function KindRow(props: KindRowProps) {
  const { row, at, schema, schemas, isDragged, isFolded, onRow, onMove, onDrop } = props;
  const { member, path, findings, hidden = () => [], rare = [], changesOf, more } = props;
  const all = schema === '' ? [] : fieldsOf(schemas, schema).map((field) => field.name);
  const out = [member, ...hidden(row, all)];
  const names = all.filter((name) => !out.includes(name));
  const help = schemas[schema]?.description;
  const form = (isShown: (name: string) => boolean) => (
    <SchemaForm
      schema={schema}
      names={names.filter(isShown)}
      changes={changesOf?.(row) ?? {}}
      value={row}
      findings={findings}
      path={[...path, at]}
      onChange={onRow}
    />
  );
  return (
    <li
      class={isDragged ? 'row is-dragged' : 'row'}
      onDragOver={(event) => event.preventDefault()}
      onDrop={onDrop}
      onKeyDown={(event) => {
        if (!event.altKey || (event.key !== 'ArrowUp' && event.key !== 'ArrowDown')) return;
        event.preventDefault();
        onMove(event.key === 'ArrowUp' ? at - 1 : at + 1);
      }}
    >
      <KindHead {...props} />
      {!isFolded && (
        <>
          {help !== undefined && <p class="quiet">{help}</p>}
          {form((name) => !rare.includes(name))}
          {more?.(row, at, onRow)}
          {names.some((name) => rare.includes(name)) && (
            <details class="row-more">
              <summary>More settings</summary>
              {form((name) => rare.includes(name))}
            </details>
          )}
        </>
      )}
    </li>
  );
}

function KindHead({ what, rows, member, row, at, path, findings, isFolded, onFold, ...act }: KindRowProps) {
  const { onMove, onRemove, onDrag } = act;
  const name = `${what} ${at + 1}`;
  const text = pathText([...path, at]);
  const errors = findings.filter(({ path: own, severity }) => severity === 'error' && own.startsWith(text));
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
        {at + 1}. {String(row[member]).replaceAll('_', ' ')}
      </strong>
      {isFolded && <span class="row-words quiet">{summaryOf(row, member)}</span>}
      {isFolded && errors.length > 0 && <Badge kind="bad">{errors.length}</Badge>}
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
        <Button
          kind="bare"
          aria-label={`Move ${name} down`}
          disabled={at === rows.length - 1}
          onClick={() => onMove(at + 1)}
        >
          <Icon name="down" />
        </Button>
        <Button kind="bare" aria-label={`Remove ${name}`} onClick={onRemove}>
          <Icon name="close" />
        </Button>
      </span>
    </header>
  );
}

/** `Performance, level benchmark`: the texts and lists of texts of a row. */
const summaryOf = (row: JsonObject, member: string): string =>
  Object.entries(row)
    .filter(([name, value]) => name !== member && (typeof value === 'string' || Array.isArray(value)) && value !== '')
    .map(([, value]) =>
      Array.isArray(value) ? value.map((one) => (isObject(one) ? Object.values(one)[0] : one)).join(' ') : value,
    )
    .join(', ');
