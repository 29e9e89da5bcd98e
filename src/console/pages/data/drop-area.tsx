import { useRef, useState } from 'preact/hooks';
import { Button } from '../../components/button.js';
import { Download } from '../../components/download.js';
import { Icon } from '../../components/icon.js';
import { Section } from '../../components/page.js';
import { service } from '../../state/service.js';
import { formatBytes } from '../../words/numbers.js';
import { ACCEPTED_EXTENSIONS } from './file-kinds.js';
import { readDroppedFiles } from './dropped-files.js';
import { FILE_BYTES_MAX } from './import-files.js';
import './data.css';

interface DropAreaProps {
  /** True if files have already been chosen. */
  readonly isSmall: boolean;
  onFiles(files: readonly File[]): void;
}

/** Renders an area for dropped or chosen files. */
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
        void readDroppedFiles(event.dataTransfer).then(onFiles);
      }}
    >
      <Icon name="upload" />
      <h2>Drop files or a folder here</h2>
      <p>
        Any number of CSV files or workbooks, or zip archives of them, or Parquet files: prices and, optionally,
        reference data, corporate actions and universes. A CSV file may have up to {formatBytes(FILE_BYTES_MAX)}; larger
        data is <a href="/console/data/connect">connected</a> as a folder.{' '}
        <Template format="xlsx">Workbook template</Template>, <Template format="csv">CSV templates</Template>
      </p>
      <input
        ref={input}
        hidden
        type="file"
        multiple
        accept={ACCEPTED_EXTENSIONS}
        onChange={(event) => {
          onFiles([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = '';
        }}
      />
      <div class="drop-actions">
        <Button kind="main" onClick={() => input.current?.click()}>
          Choose files
        </Button>
        <Button onClick={() => chooseFolder(onFiles)}>Choose a folder</Button>
      </div>
    </section>
  );
}

function chooseFolder(onFiles: DropAreaProps['onFiles']): void {
  const input = document.createElement('input');
  input.type = 'file';
  input.webkitdirectory = true;
  input.addEventListener('change', () => onFiles([...(input.files ?? [])]));
  input.click();
}

/** Tables of a store with their columns. */
const TABLES = [
  [
    'Prices',
    'market',
    'required',
    'identifier, date, CLOSE; also OPEN, HIGH, LOW, VOLUME, SHARES_OUTSTANDING and others',
  ],
  [
    'Reference data',
    'reference',
    'optional',
    'identifier, valid_from, and columns such as NAME, SECTOR, COUNTRY, CURRENCY',
  ],
  [
    'Corporate actions',
    'corporate_actions',
    'optional',
    'identifier, type, value, ex_date: dividends, splits, mergers',
  ],
  ['Universes', 'universes', 'optional', 'universe, identifier, start, end: members of named lists'],
  ['Series', 'series', 'optional', 'identifier, date, CLOSE, CURRENCY: benchmarks and exchange rates'],
] as const;

/** Describes the files that an import reads. */
export function FileGuide() {
  return (
    <Section title="Tables" aside="files in the format of a vendor are mapped in the next step">
      <div class="finding-table file-guide" role="group" aria-label="Tables of a store" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Table</th>
              <th scope="col">File</th>
              <th scope="col">Needed</th>
              <th scope="col">Columns</th>
            </tr>
          </thead>
          <tbody>
            {TABLES.map(([title, name, need, columns]) => (
              <tr key={name}>
                <td>{title}</td>
                <td>
                  <code>{name}.csv</code>
                </td>
                <td>{need}</td>
                <td>{columns}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Examples />
    </Section>
  );
}

/** First lines of the files of a store. */
const EXAMPLES = [
  [
    'market.csv',
    'identifier,date,CLOSE,VOLUME\nAAA,2026-11-23,912.40,1850000\nAAA,2026-11-24,918.10,1720000\nBBB,2026-11-24,92.35,4100000',
  ],
  [
    'reference.csv',
    'identifier,valid_from,NAME,SECTOR,CURRENCY\nAAA,2020-01-02,First Company,Technology,EUR\nBBB,2020-01-02,Second Company,Consumer Staples,CHF',
  ],
  ['corporate_actions.csv', 'identifier,type,value,ex_date\nAAA,DIVIDEND,1.60,2026-11-03\nBBB,SPLIT,2,2026-06-15'],
] as const;

/** Renders the first lines of the most important files. */
const Examples = () => (
  <div class="file-examples">
    {EXAMPLES.map(([name, text]) => (
      <figure key={name}>
        <figcaption class="quiet">First lines of {name}</figcaption>
        <pre tabIndex={0} aria-label={`First lines of ${name}`} role="group">
          {text}
        </pre>
      </figure>
    ))}
  </div>
);

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
