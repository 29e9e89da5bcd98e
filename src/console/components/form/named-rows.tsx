import type { Finding } from '#clients/typescript/divisor.js';
import { useEffect, useState } from 'preact/hooks';
import { isObject, formatPath, type Json, type JsonObject, type Path } from '../../words/paths.js';
import { Button } from '../button.js';
import { Icon } from '../icon.js';
import { Field, FieldGrid } from './field.js';
import type { FieldSpec } from './field-spec.js';

interface NamedRowsProps {
  readonly label: string;
  readonly help: string;
  /** Fields of each row. A row in its short form has only the value of the first field. */
  readonly fields: readonly FieldSpec[];
  readonly value: Json | undefined;
  readonly findings: readonly Finding[];
  /** Path of the value in findings. */
  readonly path: Path;
  readonly datapoints?: readonly string[];
  readonly isDisabled: boolean;
  onChange(value: JsonObject): void;
}

type Row = readonly [name: string, members: JsonObject];

/** Renders an object of named objects, one row per name. */
export function NamedRows(props: NamedRowsProps) {
  const { label, help, fields, value, isDisabled, onChange } = props;
  const firstField = fields[0]?.name ?? '';
  const [rows, setRows] = useState(() => listRows(value, firstField));
  const valueJson = JSON.stringify(createObject(listRows(value, firstField)));
  useEffect(() => {
    if (JSON.stringify(createObject(rows)) !== valueJson) setRows(listRows(value, firstField));
  }, [valueJson]);
  const put = (next: readonly Row[]) => {
    setRows(next);
    onChange(createObject(next));
  };
  return (
    <fieldset class="field-group">
      <legend>{label}</legend>
      <p class="field-help">{help}</p>
      {rows.map((row, at) => (
        <div key={at} class="field-row" role="group" aria-label={`${label}, row ${at + 1}`}>
          <NamedRow
            {...props}
            row={row}
            onChange={(next) => put(rows.map((rowPath, i) => (i === at ? next : rowPath)))}
          />
          <Button
            kind="bare"
            disabled={isDisabled}
            aria-label={`Remove row ${at + 1} of ${label}`}
            onClick={() => put(rows.filter((_, i) => i !== at))}
          >
            <Icon name="close" />
          </Button>
        </div>
      ))}
      <Button disabled={isDisabled} aria-label={`Add to ${label}`} onClick={() => setRows([...rows, ['', {}]])}>
        <Icon name="plus" /> Add
      </Button>
    </fieldset>
  );
}

interface NamedRowProps extends Omit<NamedRowsProps, 'onChange' | 'value'> {
  readonly row: Row;
  onChange(row: Row): void;
}

function NamedRow({
  row: [name, members],
  fields,
  findings,
  path,
  datapoints = [],
  isDisabled,
  onChange,
}: NamedRowProps) {
  const rowPath = formatPath([...path, name]);
  return (
    <FieldGrid>
      <Field
        spec={{ name: 'name', label: 'Name', kind: 'text', isRequired: true }}
        value={name}
        findings={findings.filter(({ path: one }) => one === rowPath)}
        isDisabled={isDisabled}
        onChange={(next) => onChange([typeof next === 'string' ? next : '', members])}
      />
      {fields.map((spec) => (
        <Field
          key={spec.name}
          spec={spec}
          value={members[spec.name]}
          findings={findings.filter(({ path: one }) => one === `${rowPath}.${spec.name}`)}
          datapoints={datapoints}
          isDisabled={isDisabled}
          onChange={(next) => {
            const { [spec.name]: _, ...others } = members;
            onChange([name, next === undefined ? others : { ...others, [spec.name]: next }]);
          }}
        />
      ))}
    </FieldGrid>
  );
}

/**
 * Converts an object to rows.
 * @param first member that receives a value that is not an object
 */
const listRows = (value: Json | undefined, first: string): readonly Row[] =>
  isObject(value)
    ? Object.entries(value).map(([name, row]): Row => [name, isObject(row) ? row : { [first]: row }])
    : [];

const createObject = (rows: readonly Row[]): JsonObject => Object.fromEntries(rows.filter(([name]) => name !== ''));
