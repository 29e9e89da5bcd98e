import { openScreen, formatTable, type TerminalCell } from './terminal.js';

/** Output of a command on a home: rows for a person, one JSON object per line for a program. */
export interface HomeReport<T extends object> {
  readonly asJson: boolean;
  /** Draws the progress of the work, on a terminal only. */
  progress(text: string): void;
  /** Prints the rows under a header, or each record as a line of JSON. */
  print(records: readonly T[], header: readonly string[], row: (record: T) => readonly (string | TerminalCell)[]): void;
}

export function createHomeReport<T extends object>(json: boolean | undefined): HomeReport<T> {
  const screen = openScreen(process.stdout);
  const isJson = json === true || !screen.isTerminal;
  const clearLine = () => (screen.isTerminal ? screen.write('\r\u001b[2K') : undefined);
  let lastDrawnMs = 0;
  return {
    asJson: isJson,
    progress(text) {
      const now = performance.now();
      if (isJson || now - lastDrawnMs < 100) return;
      lastDrawnMs = now;
      screen.write(`\r\u001b[2K${text.slice(0, screen.columns - 1)}`);
    },
    print(records, header, row) {
      if (isJson) for (const record of records) screen.write(`${JSON.stringify(record)}\n`);
      else {
        clearLine();
        screen.write(formatTable([header, ...records.map(row)], 0));
      }
    },
  };
}
