import '../../components/finding-table.css';
import type { Finding } from '#clients/typescript/divisor.js';
import { Badge } from '../../components/feedback.js';
import { formatLabel } from '../../words/labels.js';
import { countValues } from '../../words/numbers.js';
import { parseLocation } from './source-files.js';

const BADGE_KINDS = { error: 'bad', warning: 'warning', info: 'info' } as const;

interface FindingTableProps {
  readonly label: string;
  readonly findings: readonly Finding[];
  /** Returns the address of the security in a row; null if the row names none. Default: rows have no links. */
  formatRowAddress?(row: string): string | null;
  /** Returns a remark on a row; null if there is none. Default: rows have no remarks. */
  formatRemark?(row: string): string | null;
}

/** Renders findings about data, each with its table, row and column. */
export function FindingTable({ label, findings, formatRowAddress, formatRemark }: FindingTableProps) {
  const hasRows = findings.some(({ path }) => /^\d+$/.test(parseLocation(path).row));
  return (
    <div class="frame raised finding-table" role="group" aria-label={label} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">Severity</th>
            <th scope="col">Table</th>
            <th scope="col">Row</th>
            <th scope="col">Column</th>
            <th scope="col">Finding</th>
          </tr>
        </thead>
        <tbody>
          {findings.map((finding) => (
            <Row
              key={`${finding.code} ${finding.path} ${finding.message}`}
              finding={finding}
              formatRowAddress={formatRowAddress}
              formatRemark={formatRemark}
            />
          ))}
        </tbody>
      </table>
      {hasRows && (
        <p class="quiet">Row numbers do not count the header: row 1 is line 2 of a file that begins with a header.</p>
      )}
    </div>
  );
}

interface RowProps {
  readonly finding: Finding;
  readonly formatRowAddress: FindingTableProps['formatRowAddress'];
  readonly formatRemark: FindingTableProps['formatRemark'];
}

function Row({ finding, formatRowAddress, formatRemark }: RowProps) {
  const { severity, code, message, path, value, count = 1, places = [] } = finding;
  const { table, file, row, column } = parseLocation(path);
  const address = formatRowAddress?.(row) ?? null;
  const remark = formatRemark?.(row) ?? null;
  return (
    <tr>
      <td>
        <Badge kind={BADGE_KINDS[severity]}>{severity}</Badge>
      </td>
      <td>{file === '' ? formatTable(table) : `${formatTable(table)}, ${file}`}</td>
      <td>{address === null ? row : <a href={address}>{row}</a>}</td>
      <td>{column}</td>
      <td>
        {message} {value !== undefined && !message.includes(formatValue(value)) && <code>{formatValue(value)}</code>}
        {remark !== null && <span class="quiet"> {remark}</span>}
        <details>
          <summary>{count > 1 ? countValues(count, 'place') : 'Details'}</summary>
          <code>{code}</code>
          {count > 1 && ` at ${places.join(', ')}`}
          {count > places.length && count > 1 && ' …'}
        </details>
      </td>
    </tr>
  );
}

/** Formats the name of a table, for example `Corporate actions`; another path is unchanged. */
const formatTable = (table: string): string => (/^[a-z_]+$/.test(table) ? formatLabel(table) : table);

const formatValue = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
