import type { Finding } from '#clients/typescript/divisor.js';
import { useState } from 'preact/hooks';
import { Button } from '../../components/button.js';
import { Select } from '../../components/choice.js';
import { Icon } from '../../components/icon.js';
import { createNumericColumn, type Column } from '../../components/table/columns.js';
import { Table } from '../../components/table/table.js';
import { formatBytes, countValues } from '../../words/numbers.js';
import { findFile, parseLocation } from '../../words/places.js';
import { TABLES, removeFile, type ImportFile, type TableName } from './import-files.js';
import './data.css';

/** Maximum number of price files that are listed one by one. If there are more, they are folded into one entry. */
const LISTED_MAX = 8;

interface FileListProps {
  readonly files: readonly ImportFile[];
  /** Findings of the service. A finding about a file is shown at that file. */
  readonly findings: readonly Finding[];
  readonly isMapped: boolean;
  onChange(files: readonly ImportFile[]): void;
}

/** File with its position in the list of all files. */
interface ListedFile extends ImportFile {
  readonly at: number;
  readonly findings: readonly Finding[];
}

interface FileHandlers {
  /** Assigns a file to a table. */
  put(position: number, table: TableName): void;
  remove(position: number): void;
}

/** Renders files to import, each with its table and problems. */
export function FileList({ files, findings, isMapped, onChange }: FileListProps) {
  const chosenFiles = files.map(({ file, table }, position) => ({ name: file.name, table, at: position }));
  const about = new Map<number | undefined, Finding[]>();
  for (const finding of findings) {
    const position = findFile(finding, chosenFiles)?.at;
    about.set(position, [...(about.get(position) ?? []), finding]);
  }
  const listedFiles = files.map((one, position): ListedFile => ({
    ...one,
    at: position,
    findings: about.get(position) ?? [],
  }));
  const acts: FileHandlers = {
    put: (position, table) => onChange(files.map((own, i) => (i === position ? { ...own, table } : own))),
    remove: (position) => onChange(removeFile(files, position)),
  };
  const prices = listedFiles.filter(({ table }) => table === 'market');
  const isFolded = prices.length > LISTED_MAX;
  return (
    <ul class="file-list" aria-label="Files to import">
      {isFolded && <FoldedFiles files={prices} isMapped={isMapped} acts={acts} onClear={() => onChange([])} />}
      {(isFolded ? listedFiles.filter(({ table }) => table !== 'market') : listedFiles).map((one) => (
        <FileRow key={`${one.file.name} ${one.at}`} one={one} acts={acts} />
      ))}
    </ul>
  );
}

interface FileRowProps {
  readonly one: ListedFile;
  readonly acts: FileHandlers;
}

function FileRow({ one, acts }: FileRowProps) {
  return (
    <li>
      <strong>{one.file.name}</strong>
      <span class="quiet number">{formatBytes(one.file.size)}</span>
      {one.table === null ? (
        <span class="quiet">each file or sheet is the table of its name; others are read as prices</span>
      ) : (
        <TableChoice one={one} acts={acts} />
      )}
      <Remove one={one} acts={acts} />
      <FileFindings findings={one.findings} />
    </li>
  );
}

const TableChoice = ({ one, acts }: FileRowProps) => (
  <Select
    label={`Table of ${one.file.name}`}
    options={TABLES.map((table) => ({ value: table, text: table.replace('_', ' ') }))}
    value={one.table!} // a choice is shown only for files with a table
    onChoose={(table) => acts.put(one.at, table)}
  />
);

const Remove = ({ one, acts }: FileRowProps) => (
  <Button kind="bare" aria-label={`Remove ${one.file.name}`} onClick={() => acts.remove(one.at)}>
    <Icon name="close" />
  </Button>
);

interface FoldedFilesProps {
  readonly files: readonly ListedFile[];
  readonly isMapped: boolean;
  readonly acts: FileHandlers;
  onClear(): void;
}

/** Renders many price files as one entry, which opens as a table. */
function FoldedFiles({ files, isMapped, acts, onClear }: FoldedFilesProps) {
  const [isOpen, setOpen] = useState(false);
  const size = files.reduce((sum, { file }) => sum + file.size, 0);
  const wrong = files.filter(({ findings }) => findings.length > 0);
  return (
    <li>
      <details class="file-fold" onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <strong>
            {countValues(files.length, 'file')}, {isMapped ? 'one mapping' : 'all prices'}
          </strong>{' '}
          <span class="quiet number">{formatBytes(size)}</span>
        </summary>
        {isOpen && <FileTable files={files} acts={acts} />}
      </details>
      <Button kind="bare" onClick={onClear}>
        Remove all
      </Button>
      {wrong.length > 0 && (
        <p class="file-said field-warning">
          {countValues(wrong.length, 'file')} with problems, the first is {wrong[0]!.file.name}:{' '}
          {formatMessage(wrong[0]!.findings[0]!)}
        </p>
      )}
    </li>
  );
}

function FileTable({ files, acts }: { readonly files: readonly ListedFile[]; readonly acts: FileHandlers }) {
  const columns: readonly Column<ListedFile>[] = [
    { id: 'name', title: 'File', width: 180, grow: 2, value: ({ file }) => file.name },
    createNumericColumn({
      id: 'size',
      adds: true,
      title: 'Size',
      width: 90,
      of: ({ file }) => file.size,
      write: formatBytes,
    }),
    {
      id: 'table',
      title: 'Table',
      width: 170,
      value: ({ table }) => table,
      show: (one) => <TableChoice one={one} acts={acts} />,
    },
    {
      id: 'problem',
      title: 'Problem',
      width: 160,
      grow: 3,
      priority: 2,
      value: ({ findings: [first] }) => (first === undefined ? null : formatMessage(first)),
    },
    { id: 'remove', title: '', width: 48, value: () => null, show: (one) => <Remove one={one} acts={acts} /> },
  ];
  return (
    <Table
      label="Files of prices"
      columns={columns}
      rows={files}
      getKey={({ at, file }) => `${file.name} ${at}`}
      searchIn={({ file }) => file.name}
      height={320}
    />
  );
}

/** Returns the message of a finding, with its position in the file. */
function formatMessage({ path, message }: Finding): string {
  const { row, column } = parseLocation(path);
  const cellText = [row === '' ? '' : `row ${row}`, column].filter(Boolean).join(', ');
  return `${cellText === '' ? '' : `${cellText}: `}${message}`;
}

/** Renders the first finding of a file and the number of further findings. The table below shows all of them. */
function FileFindings({ findings: [first, ...others] }: { readonly findings: readonly Finding[] }) {
  if (first === undefined) return null;
  return (
    <p class={first.severity === 'error' ? 'file-said down' : 'file-said field-warning'}>
      {formatMessage(first)}
      {others.length > 0 && ` And ${countValues(others.length, 'more problem')}.`}
    </p>
  );
}
