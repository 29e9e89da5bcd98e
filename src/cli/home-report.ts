import { openScreen, formatTable, type TerminalCell } from './terminal.js';

/** Output of a command on a home. A person gets rows; a program gets one JSON object per line. */
export interface HomeReport<T extends object> {
  readonly asJson: boolean;
  /** Shows the progress of the work. Does nothing if the output is not a terminal. */
  progress(text: string): void;
  /** Prints the rows below a header. For a program, prints each record as a line of JSON. */
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
