/** Output of the command line. It has aligned tables and, on a terminal, a progress line that is redrawn. */

export interface Screen {
  readonly write: (text: string) => void;
  /** True if lines can be redrawn. A pipe gets each state once, on its own line. */
  readonly isTerminal: boolean;
  readonly columns: number;
}

export function openScreen(stream: NodeJS.WriteStream): Screen {
  return { write: (text) => void stream.write(text), isTerminal: stream.isTTY === true, columns: stream.columns ?? 80 };
}

export interface TerminalCell {
  readonly text: string;
  readonly align?: 'left' | 'right';
}

/** Formats rows with aligned columns. There are two spaces between columns and no spaces at the end of a line. */
export function formatTable(rows: readonly (readonly (string | TerminalCell)[])[], indent = 2): string {
  const cells = rows.map((row) => row.map((cell) => (typeof cell === 'string' ? { text: cell } : cell)));
  const widths: number[] = [];
  for (const row of cells) row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, cell.text.length)));
  const formatLine = (row: readonly TerminalCell[]) =>
    row
      .map((cell, i) => (cell.align === 'right' ? cell.text.padStart(widths[i]!) : cell.text.padEnd(widths[i]!)))
      .join('  ');
  return cells.map((row) => `${' '.repeat(indent)}${formatLine(row).trimEnd()}\n`).join('');
}

export const alignRight = (text: string): TerminalCell => ({ text, align: 'right' });

/** Formats a fraction as a percentage with two decimals. */
export function formatPercent(fraction: number | null): string {
  return fraction === null ? '-' : `${(fraction * 100).toFixed(2)}%`;
}

/** Formats a number with two decimals. */
export function formatDecimal(value: number): string {
  return value.toFixed(2);
}

/** Formats a whole number with commas between thousands. */
export function formatWhole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

export interface TerminalStep {
  /** Shows progress, speed and remaining time on a terminal. Does nothing on a pipe. */
  progress(fraction: number, message: string): void;
  /** Shows the elapsed time of a step whose progress is unknown. */
  waited(): void;
  /** Ends the step with its outcome. */
  done(outcome: string): void;
  /** Ends the step without a result. An error can then start on a new line. */
  abandon(): void;
}

const BAR_CELLS = 20;
const NAME_COLUMNS = 34;

/** Starts a step with a name. The name stays, and the text on the right changes until the result replaces it. */
export function startStep(screen: Screen, name: string, now: () => number = () => performance.now()): TerminalStep {
  const startMs = now();
  const label = `  ${name.padEnd(NAME_COLUMNS)}`;
  const formatPace = createPaceFormatter(now);
  const draw = (text: string) => screen.write(`\r\u001b[2K${`${label}${text}`.slice(0, screen.columns - 1)}`);
  if (screen.isTerminal) draw('');
  return {
    progress(fraction, message) {
      if (!screen.isTerminal) return;
      const filledCells = Math.round(fraction * BAR_CELLS);
      const paceText = formatPace(fraction);
      draw(
        [
          `[${'='.repeat(filledCells)}${' '.repeat(BAR_CELLS - filledCells)}]`,
          `${formatPercentage(fraction).padStart(3)}%`,
          ...(paceText === '' ? [] : [paceText]),
          message,
        ].join('  '),
      );
    },
    waited() {
      if (screen.isTerminal) draw(`${formatWhole((now() - startMs) / 1000)} s`);
    },
    done(outcome) {
      const secondsText = ((now() - startMs) / 1000).toFixed(1).padStart(5);
      if (screen.isTerminal) screen.write('\r\u001b[2K');
      screen.write(`${label}${secondsText} s  ${outcome}\n`);
    },
    abandon() {
      if (screen.isTerminal) screen.write('\r\u001b[2K');
    },
  };
}

/**
 * Returns a function that formats the speed of a step. It is measured from the first progress, so that waiting in the
 * queue does not count.
 */
function createPaceFormatter(now: () => number): (fraction: number) => string {
  let firstProgress: { readonly atMs: number; readonly fraction: number } | undefined;
  return (fraction) => {
    if (fraction <= 0 || fraction >= 1) return '';
    firstProgress ??= { atMs: now(), fraction };
    const seconds = (now() - firstProgress.atMs) / 1000;
    const rate = (fraction - firstProgress.fraction) / seconds;
    if (!(rate > 0) || !Number.isFinite(rate)) return '';
    return `${(100 * rate).toFixed(rate < 0.1 ? 1 : 0)}%/s, ${formatDuration((1 - fraction) / rate)} left`;
  };
}

const formatPercentage = (fraction: number): string => String(Math.floor(100 * fraction));

/** Formats seconds for people: 4 s, 2 min 05 s, 1 h 20 min. */
export function formatDuration(seconds: number): string {
  const wholeSeconds = Math.ceil(seconds);
  if (wholeSeconds < 60) return `${wholeSeconds} s`;
  const minutes = Math.floor(wholeSeconds / 60);
  if (minutes < 60) return `${minutes} min ${String(wholeSeconds % 60).padStart(2, '0')} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`;
}
