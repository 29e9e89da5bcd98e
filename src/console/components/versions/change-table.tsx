import type { DocumentChange } from '#clients/typescript/divisor.js';
import type { ComponentChildren } from 'preact';
import { choiceWords, pathOfPointer, pathWords } from '../../words/labels.js';
import { isObject, type Json, type JsonObject, type Path } from '../../words/paths.js';
import './versions.css';

interface ChangeTableProps {
  readonly label: string;
  readonly changes: readonly DocumentChange[];
  /** Document that provides the names of rows. Default: rows are numbered. */
  readonly document?: JsonObject | undefined;
}

/** Renders the changes of a document, one field per row. */
export function ChangeTable({ label, changes, document }: ChangeTableProps) {
  return (
    <WrittenTable label={label} heads={['Field', 'Before', 'After']}>
      {changes.map(({ path, op, before, after }, at) => (
        <tr key={at}>
          <th scope="row" title={path}>
            {pathWords(pathOfPointer(path), document)}
          </th>
          <td>{op === 'add' ? '–' : <Value path={pathOfPointer(path)} value={before as Json} />}</td>
          <td>{op === 'remove' ? '–' : <Value path={pathOfPointer(path)} value={after as Json} />}</td>
        </tr>
      ))}
    </WrittenTable>
  );
}

/** Renders the fields of a document that have a value. */
export function FieldTable({ label, document }: { readonly label: string; readonly document: JsonObject }) {
  return (
    <WrittenTable label={label} heads={['Field', 'Value']}>
      {fieldsOf(document, []).map(({ path, value }) => (
        <tr key={path.join('/')}>
          <th scope="row" title={path.join('.')}>
            {pathWords(path, document)}
          </th>
          <td>
            <Value path={path} value={value} />
          </td>
        </tr>
      ))}
    </WrittenTable>
  );
}

function fieldsOf(value: Json, path: Path): readonly { readonly path: Path; readonly value: Json }[] {
  if (isObject(value)) return Object.entries(value).flatMap(([name, own]) => fieldsOf(own ?? null, [...path, name]));
  if (!Array.isArray(value)) return value === null ? [] : [{ path, value }];
  const list = value as readonly Json[];
  if (!list.some(isObject)) return list.length === 0 ? [] : [{ path, value: list.map(String).join(', ') }];
  return list.flatMap((own, at) => fieldsOf(own, [...path, at]));
}

interface SentencesProps {
  readonly removed: readonly string[];
  readonly added: readonly string[];
}

/** Renders the sentences of a methodology that were removed and added. */
export function Sentences({ removed, added }: SentencesProps) {
  if (added.length + removed.length === 0) return null;
  return (
    <ul class="version-sentences" aria-label="In words">
      {removed.map((text) => (
        <li key={text}>
          <del>{text}</del>
        </li>
      ))}
      {added.map((text) => (
        <li key={text}>
          <ins>{text}</ins>
        </li>
      ))}
    </ul>
  );
}

interface WrittenTableProps {
  readonly label: string;
  readonly heads: readonly string[];
  /** Rows of the table. */
  readonly children: ComponentChildren;
}

/** Renders a table without hidden rows. A wide table has its own scroll bar. */
export function WrittenTable({ label, heads, children }: WrittenTableProps) {
  return (
    <div class="version-changes" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}

const textOf = (value: Json): string => (typeof value === 'boolean' ? (value ? 'yes' : 'no') : JSON.stringify(value));

/** Maximum number of characters of a value that is not folded. */
const SHOWN_MAX = 200;

/** Renders a JSON value; a long value is folded. */
function Value({ path, value }: { readonly path: Path; readonly value: Json }) {
  if (value === null) return <>–</>;
  const text = typeof value === 'string' ? choiceWords(path, value) : textOf(value);
  if (text.length <= SHOWN_MAX) return <>{text}</>;
  return (
    <details>
      <summary>{text.slice(0, SHOWN_MAX)} …</summary>
      {text}
    </details>
  );
}
