import '../menu.css';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { Operations } from '#clients/typescript/divisor.js';
import { tryAction } from '../../state/actions.js';
import { copyCells, copyText, saveFile } from '../../state/files.js';
import { formatAddress, getParameter } from '../../state/location.js';
import { readShownRun } from '../../state/runs.js';
import { service } from '../../state/service.js';
import { type Cells, convertCsvToTabs, formatCommaSeparated } from '../../words/tables.js';
import { Download } from './action-button.js';
import { Icon } from './button.js';
import { findChosenRange } from './range.js';

interface MenuProps {
  /** Description of the menu for screen readers. */
  readonly label: string;
  readonly title: ComponentChildren;
  readonly kind?: 'plain' | 'bare';
  readonly children: ComponentChildren;
}

/**
 * Renders a button that opens a list of links and buttons. The list closes when the user selects an entry, clicks
 * elsewhere or presses Escape.
 */
export function Menu({ label, title, kind = 'plain', children }: MenuProps) {
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event) => {
      const { current } = menu;
      if (current === null || !current.open) return;
      if (event instanceof KeyboardEvent) {
        if (event.key !== 'Escape') return;
        current.open = false;
        current.querySelector('summary')?.focus();
      } else if (!(event.target instanceof Node) || !current.querySelector('summary')?.contains(event.target)) {
        const isChosen = current.contains(document.activeElement);
        current.open = false;
        if (isChosen) current.querySelector('summary')?.focus();
      }
    };
    addEventListener('click', close);
    addEventListener('keydown', close);
    return () => {
      removeEventListener('click', close);
      removeEventListener('keydown', close);
    };
  }, []);
  return (
    <details class="menu" ref={menu}>
      <summary class={`inline-line raised one-line button ${kind}`} aria-label={label}>
        {title}
      </summary>
      <ul>{children}</ul>
    </details>
  );
}

type Table = Operations['exportRun']['request']['params']['table'];

const FORMATS = [
  { format: 'csv', text: 'CSV', media: 'text/csv' },
  { format: 'xlsx', text: 'Excel', media: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet' },
  { format: 'json', text: 'JSON', media: 'application/json' },
  { format: 'arrow', text: 'Arrow', media: 'application/vnd.apache.arrow.stream' },
  { format: 'parquet', text: 'Parquet', media: 'application/vnd.apache.parquet' },
] as const;

interface ExportMenuProps {
  readonly id: string;
  readonly table: Table;
  /** Last date to export. Default: the end of the selected range. */
  readonly end?: string;
  /** Description of the exported table. Only needed if the page does not make it clear. */
  readonly text?: string;
}

/** Renders a menu that downloads a table of a run as a file, for the selected range. */
export function ExportMenu({ id, table, end, text = '' }: ExportMenuProps) {
  const range = findChosenRange();
  const window = end === undefined ? { start: range?.from ?? null, end: range?.to ?? null } : { start: null, end };
  const query = { ...readShownRun(), start: window.start ?? undefined, end: window.end ?? undefined };
  const read = (format: (typeof FORMATS)[number]['format'], media: string) =>
    service.value.download('exportRun', media, { params: { index_id: id, table }, query: { ...query, format } });
  const copy = () =>
    tryAction(async () =>
      copyText(await convertCsvToTabs(new TextDecoder().decode(await read('csv', 'text/csv'))), `the ${table}`),
    );
  return (
    <Menu
      label={`Export ${table}`}
      title={
        <>
          <Icon name="down" /> Export {text}
        </>
      }
    >
      <li>
        <button type="button" onClick={() => void copy()}>
          Copy
        </button>
      </li>
      {FORMATS.map(({ format, text, media }) => (
        <li key={format}>
          <Download
            address={formatAddress(`/analytics/${encodeURIComponent(id)}/exports/${table}`, {
              ...window,
              run_id: getParameter('run_id'),
              format,
            })}
            fileName={`${id}-${table}.${format}`}
            read={() => read(format, media)}
          >
            {text}
          </Download>
        </li>
      ))}
    </Menu>
  );
}

interface TableExportProps {
  /** Description of the table, such as `calendar years`. */
  readonly label: string;
  /** Name of the file, without its ending. */
  readonly fileName: string;
  listCells(): Cells;
}

/** Renders a menu that copies a table of the console for a spreadsheet, or saves it as a file. */
export function TableExport({ label, fileName, listCells }: TableExportProps) {
  const copy = () => void copyCells(listCells());
  const save = () => saveFile(`${fileName}.csv`, new TextEncoder().encode(formatCommaSeparated(listCells())));
  return (
    <Menu
      label={`Export ${label}`}
      title={
        <>
          <Icon name="down" /> Export
        </>
      }
    >
      <li>
        <button type="button" onClick={copy}>
          Copy
        </button>
      </li>
      <li>
        <button type="button" onClick={save}>
          CSV
        </button>
      </li>
    </Menu>
  );
}
