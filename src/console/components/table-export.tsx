import { copyCells } from '../state/clipboard.js';
import { saveFile } from '../state/files.js';
import { formatCommaSeparated, type Cells } from '../words/tabular.js';
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
