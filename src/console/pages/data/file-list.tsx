import type { Finding } from '#clients/typescript/divisor.js';
import { Button } from '../../components/button.js';
import { Select } from '../../components/choice.js';
import { Icon } from '../../components/icon.js';
import { bytes, counted } from '../../words/numbers.js';
import { fileOf, placeOf } from '../../words/places.js';
import { TABLES, withoutFile, type ImportFile } from './import-files.js';
import './data.css';

interface FileListProps {
  readonly files: readonly ImportFile[];
  /** Findings of the service, each at its file. */
  readonly findings: readonly Finding[];
  onChange(files: readonly ImportFile[]): void;
}

/** Files that are to be imported, each with its table and what is wrong with it. */
export function FileList({ files, findings, onChange }: FileListProps) {
  const chosen = files.map(({ file, table }, at) => ({ name: file.name, table, at }));
  const about = (at: number) => findings.filter((finding) => fileOf(finding, chosen)?.at === at);
  const put = (at: number, file: ImportFile) => onChange(files.map((own, i) => (i === at ? file : own)));
  return (
    <ul class="file-list" aria-label="Files to import">
      {files.map((one, at) => (
        <li key={`${one.file.name} ${at}`}>
          <strong>{one.file.name}</strong>
          <span class="quiet number">{bytes(one.file.size)}</span>
          {one.table === null ? (
            <span class="quiet">each file or sheet is the table of its name; others are read as prices</span>
          ) : (
            <Select
              label={`Table of ${one.file.name}`}
              options={TABLES.map((table) => ({ value: table, text: table.replace('_', ' ') }))}
              value={one.table}
              onChoose={(table) => put(at, { ...one, table })}
            />
          )}
          <Button kind="bare" aria-label={`Remove ${one.file.name}`} onClick={() => onChange(withoutFile(files, at))}>
            <Icon name="close" />
          </Button>
          <Said findings={about(at)} />
        </li>
      ))}
    </ul>
  );
}

/** The first finding of a file, and the number of further findings in the table below. */
function Said({ findings: [first, ...others] }: { readonly findings: readonly Finding[] }) {
  if (first === undefined) return null;
  const { row, column } = placeOf(first.path);
  const place = [row === '' ? '' : `row ${row}`, column].filter(Boolean).join(', ');
  return (
    <p class={first.severity === 'error' ? 'file-said down' : 'file-said field-warning'}>
      {place === '' ? '' : `${place}: `}
      {first.message}
      {others.length > 0 && ` And ${counted(others.length, 'more problem')}.`}
    </p>
  );
}
