import type { Finding } from '#clients/typescript/divisor.js';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { resolve, useSchemas, type Schema, type Schemas } from '../../state/schemas.js';
import { formatFormHelp } from '../../words/help.js';
import { isObject, moveItem, formatPath, type JsonObject, type Path } from '../../words/paths.js';
import { AddSelect } from '../add-select.js';
import { Button } from '../button.js';
import type { Option } from '../choice.js';
import { Icon } from '../icon.js';
import { Answered } from '../wait.js';
import { renderCode } from './field.js';
import type { FieldSpec } from './field-spec.js';
import { ListRow, type RowActions } from './list-row.js';
import { createFields } from './schema-fields.js';
import { SchemaForm } from './schema-form.js';
import './row-list.css';

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
  /** Path of the list in findings. */
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
            <ol class="row-list">
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
    <span class="add-select" role="group" aria-label={`Add a ${what}`}>
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
  const allNames = schema === '' ? [] : createFields(schemas, schema).map((field) => field.name);
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
