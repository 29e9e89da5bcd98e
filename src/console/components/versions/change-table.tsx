import type { DocumentChange } from '#clients/typescript/divisor.js';
import type { Json } from '../../words/paths.js';
import './versions.css';

interface ChangeTableProps {
  readonly label: string;
  readonly changes: readonly DocumentChange[];
}

/** Changes of a document, a field a row. */
export function ChangeTable({ label, changes }: ChangeTableProps) {
  return (
    <div class="version-changes" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            <th scope="col">Field</th>
            <th scope="col">Before</th>
            <th scope="col">After</th>
          </tr>
        </thead>
        <tbody>
          {changes.map(({ path, op, before, after }, at) => (
            <tr key={at}>
              <th scope="row">
                <code>{path}</code>
              </th>
              <td>{op === 'add' ? '–' : <Value value={before as Json} />}</td>
              <td>{op === 'remove' ? '–' : <Value value={after as Json} />}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Characters of a value that have room. */
const SHOWN_MAX = 200;

/** A value of JSON; a long one in full once it is opened. */
function Value({ value }: { readonly value: Json }) {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (text.length <= SHOWN_MAX) return <>{text}</>;
  return (
    <details>
      <summary>{text.slice(0, SHOWN_MAX)} …</summary>
      {text}
    </details>
  );
}
