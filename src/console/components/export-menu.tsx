import type { Operations } from '#clients/typescript/divisor.js';
import { attempt } from '../state/actions.js';
import { copyText } from '../state/clipboard.js';
import { findChosenRange } from '../state/range.js';
import { service } from '../state/service.js';
import { formatAddress, getParameter } from '../state/location.js';
import { readShownRun } from '../state/shown-run.js';
import { Download } from './download.js';
import { Icon } from './icon.js';
import { Menu } from './menu.js';
import { convertCsvToTabs } from '../words/tabular.js';

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
    attempt(async () =>
      copyText(convertCsvToTabs(new TextDecoder().decode(await read('csv', 'text/csv'))), `the ${table}`),
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
