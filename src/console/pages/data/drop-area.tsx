import { useRef, useState } from 'preact/hooks';
import { Button } from '../../components/button.js';
import { Download } from '../../components/download.js';
import { Icon } from '../../components/icon.js';
import { service } from '../../state/service.js';
import { bytes } from '../../words/numbers.js';
import { ACCEPTED } from './file-kinds.js';
import { FILE_BYTES_MAX } from './import-files.js';
import './data.css';

interface DropAreaProps {
  /** True once files were chosen. */
  readonly isSmall: boolean;
  onFiles(files: readonly File[]): void;
}

/** Renders an area for files that are dropped or chosen. */
export function DropArea({ isSmall, onFiles }: DropAreaProps) {
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  return (
    <section
      class={`drop${isOver ? ' is-over' : ''}${isSmall ? ' is-small' : ''}`}
      aria-label="Files"
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        onFiles([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      <Icon name="upload" />
      <h2>Drop files here</h2>
      <p>
        Any number of CSV files or workbooks, or zip archives of them, or Parquet files: prices and, optionally,
        reference data, corporate actions and universes. A CSV file may have up to {bytes(FILE_BYTES_MAX)}; larger data
        is <a href="/console/data/connect">connected</a> as a folder.{' '}
        <Template format="xlsx">Workbook template</Template>, <Template format="csv">CSV templates</Template>
      </p>
      <input
        ref={input}
        hidden
        type="file"
        multiple
        accept={ACCEPTED}
        onChange={(event) => {
          onFiles([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = '';
        }}
      />
      <Button kind="main" onClick={() => input.current?.click()}>
        Choose files
      </Button>
    </section>
  );
}

interface TemplateProps {
  readonly format: 'xlsx' | 'csv';
  readonly children: string;
}

function Template({ format, children }: TemplateProps) {
  return (
    <Download
      address={`/data/import/template?format=${format}`}
      fileName={format === 'xlsx' ? 'template.xlsx' : 'template.zip'}
      read={() => service.value.call('getImportTemplate', { query: { format } })}
    >
      {children}
    </Download>
  );
}
