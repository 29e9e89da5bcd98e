import './conflict/conflict.css';
import { useId, useState } from 'preact/hooks';
import { type DifferingField, findSide, listChangedFields, resolveChange, type Side } from '../words/changes.js';
import { formatLabel, formatPathLabel } from '../words/labels.js';
import { countValues } from '../words/numbers.js';
import { formatPath, isObject, type Json, type JsonObject, type Path } from '../words/paths.js';
import { Button } from './controls/button.js';
import { Banner } from './feedback.js';

/** Change by another user: a version that was saved after this document was opened. */
export interface ConcurrentChange {
  /** Document as it was when this draft was opened. */
  readonly base: JsonObject;
  readonly theirs: JsonObject;
  readonly etag: string | null;
}

interface ConflictProps {
  readonly clash: ConcurrentChange;
  readonly mine: JsonObject;
  onTakeTheirs(): void;
  onKeepMine(): void;
  onResolve(document: JsonObject): void;
}

/**
 * Renders each changed field with its original, draft and saved value. The user selects the draft value or the saved
 * value.
 */
export function Conflict({ clash: { base, theirs }, mine, onTakeTheirs, onKeepMine, onResolve }: ConflictProps) {
  const [chosen, setChosen] = useState<ReadonlyMap<string, Side>>(new Map());
  const fields = listChangedFields({ base, mine, theirs });
  const document = resolveChange(theirs, fields, chosen);
  const openCount = fields.filter((field) => findSide(field, chosen) === null).length;
  return (
    <Banner
      kind="warning"
      title="Someone else saved a version after you opened this one. Your changes are kept but not saved yet."
      action={
        <>
          <Button onClick={onTakeTheirs}>Use theirs</Button>
          <Button onClick={onKeepMine}>Overwrite with mine</Button>
          <Button kind="main" disabled={document === null} onClick={() => document !== null && onResolve(document)}>
            Save the selection
          </Button>
        </>
      }
    >
      <p class="quiet">
        {openCount === 0
          ? 'Each field gets the selected value.'
          : `Both changed ${countValues(openCount, 'field')}: choose a value.`}
      </p>
      <Fields
        fields={fields}
        document={mine}
        chosen={chosen}
        onChoose={(path, side) => setChosen(new Map(chosen).set(formatPath(path), side))}
      />
    </Banner>
  );
}

interface FieldsProps {
  readonly fields: readonly DifferingField[];
  /** Document that provides the row names in labels. */
  readonly document: JsonObject;
  readonly chosen: ReadonlyMap<string, Side>;
  onChoose(path: Path, side: Side): void;
}

function Fields({ fields, document, chosen, onChoose }: FieldsProps) {
  const id = useId();
  return (
    <div class="conflict-fields">
      <table class="conflict">
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">Original</th>
            <th scope="col" id={`${id}-mine`}>
              Yours
            </th>
            <th scope="col" id={`${id}-theirs`}>
              Theirs
            </th>
            <th scope="col">By</th>
          </tr>
        </thead>
        <tbody>
          {fields.map((field, row) => (
            <tr key={formatPath(field.path)}>
              <th scope="row" id={`${id}-${row}`} title={formatPath(field.path)}>
                {formatPathLabel(field.path, document)}
              </th>
              <td>
                <Value value={field.before} />
              </td>
              {(['mine', 'theirs'] as const).map((side) => (
                <td key={side}>
                  <label>
                    <input
                      type="radio"
                      name={`${id}-${row}`}
                      aria-labelledby={`${id}-${row} ${id}-${side} ${id}-${row}-${side}`}
                      checked={findSide(field, chosen) === side}
                      onChange={() => onChoose(field.path, side)}
                    />
                    <span id={`${id}-${row}-${side}`}>
                      <Value value={field[side]} />
                    </span>
                  </label>
                </td>
              ))}
              <td>{field.by === 'both' ? 'both' : field.by}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Renders a value in full. The items of a list are on separate lines. */
function Value({ value }: { readonly value: Json | undefined }) {
  if (!Array.isArray(value)) return <>{formatValue(value)}</>;
  const items = value as readonly Json[];
  if (items.length === 0) return <>none</>;
  return (
    <ol>
      {items.map((item, i) => (
        <li key={i}>{formatValue(item)}</li>
      ))}
    </ol>
  );
}

/** Formats a value as text, for example `top, TopN, Count 30` for a row. Empty members are omitted. */
function formatValue(value: Json | undefined): string {
  if (value === undefined || value === null) return '–';
  if (Array.isArray(value)) return (value as readonly Json[]).map(formatValue).join(', ');
  if (!isObject(value)) return String(value);
  const parts = Object.entries(value).flatMap(([name, member]) => {
    if (member === undefined || member === null) return [];
    if (name === 'type' || name === 'id') return [String(member)];
    const text = formatValue(member);
    return text === '' ? [] : [name === 'params' ? text : `${formatLabel(name)} ${text}`];
  });
  return parts.join(', ');
}
