import type { Operations } from '#clients/typescript/divisor.js';
import { useEffect, useRef } from 'preact/hooks';
import { chosenRange } from '../state/range.js';
import { service } from '../state/service.js';
import { addressOf, parameter } from '../state/place.js';
import { shownRun } from '../state/shown-run.js';
import { Download } from './download.js';
import { Icon } from './icon.js';
import './export-menu.css';

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
  /** Last date. Default: that of the selected range. */
  readonly end?: string;
  /** Description of the export, if it is not obvious. */
  readonly text?: string;
}

/** A table of a run as a file, over the range of dates that is looked at. */
export function ExportMenu({ id, table, end, text = '' }: ExportMenuProps) {
  const range = chosenRange();
  const window = end === undefined ? { start: range?.from ?? null, end: range?.to ?? null } : { start: null, end };
  const menu = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event) => {
      const { current } = menu;
      if (current === null || !current.open) return;
      const isKey = event instanceof KeyboardEvent;
      if (isKey ? event.key === 'Escape' : !current.contains(event.target as Node)) current.open = false;
    };
    addEventListener('click', close);
    addEventListener('keydown', close);
    return () => {
      removeEventListener('click', close);
      removeEventListener('keydown', close);
    };
  }, []);
  return (
    <details class="export-menu" ref={menu}>
      <summary class="button plain" aria-label={`Export ${table}`}>
        <Icon name="down" /> Export {text}
      </summary>
      <ul>
        {FORMATS.map(({ format, text, media }) => (
          <li key={format}>
            <Download
              address={addressOf(`/analytics/${encodeURIComponent(id)}/exports/${table}`, {
                ...window,
                run_id: parameter('run_id'),
                format,
              })}
              fileName={`${id}-${table}.${format}`}
              read={() =>
                service.value.download('exportRun', media, {
                  params: { index_id: id, table },
                  query: { ...shownRun(), start: window.start ?? undefined, end: window.end ?? undefined, format },
                })
              }
            >
              {text}
            </Download>
          </li>
        ))}
      </ul>
    </details>
  );
}
