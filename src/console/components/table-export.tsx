import { copyText } from '../state/clipboard.js';
import { saveFile } from '../state/files.js';
import { countValues } from '../words/numbers.js';
import { formatCommaSeparated, formatTabSeparated, type Cells } from '../words/tabular.js';
import { Icon } from './icon.js';
import { Menu } from './menu.js';

interface TableExportProps {
  /** Description of the table, such as `calendar years`. */
  readonly label: string;
  /** Name of the file, without its ending. */
  readonly fileName: string;
  listCells(): Cells;
}

/** Renders a menu that copies a table of the console for a spreadsheet, or saves it as a file. */
export function TableExport({ label, fileName, listCells }: TableExportProps) {
  const copy = () => {
    const { header, rows } = listCells();
    void copyText(formatTabSeparated(header, rows), countValues(rows.length, 'row'));
  };
  const save = () => {
    const { header, rows } = listCells();
    saveFile(`${fileName}.csv`, new TextEncoder().encode(formatCommaSeparated(header, rows)));
  };
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
