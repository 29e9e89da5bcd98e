import { createNumberText, type NumberText } from '#kernels/engines/number-text.js';
import { formatDay } from '#domain/days.js';
import { Refusal } from '#domain/refusal.js';
import { NONE, type NamedColumn, type TextValues } from './batch.js';
import type { ByteSink } from './part.js';

/** How a format writes what is not a number. */
export interface RowSyntax {
  readonly rowStart: string;
  /** Of the first row that is written; that of every row unless given. */
  readonly firstStart?: string;
  readonly separator: string;
  readonly rowEnd: string;
  readonly none: string;
  date(text: string): string;
  text(value: string): string;
}

/** Writes rows as text, one after the other. */
export interface RowWriter {
  raw(text: string): void;
  rows(columns: readonly NamedColumn[], count: number): void;
  /** Bytes written so far, about. */
  length(): number;
  /** Hands the rest to the sink; the writer is done with. */
  end(): void;
}

/** A writer's window of memory, for the next writer of the thread. */
let spare: NumberText | undefined;

/** @cost some 50 ns a number, 10 a text */
export function createRowWriter(syntax: RowSyntax, sink: ByteSink): RowWriter {
  const encoder = new TextEncoder();
  const token = (text: string): Uint8Array => encoder.encode(text);
  let drained = 0;
  let pending = 0;
  const text = spare ?? createNumberText();
  spare = undefined;
  text.begin((part) => {
    sink.append(part);
    drained += part.length;
    pending = 0;
  });
  const marks = {
    first: token(syntax.firstStart ?? syntax.rowStart),
    start: token(syntax.rowStart),
    separator: token(syntax.separator),
    end: token(syntax.rowEnd),
    none: token(syntax.none),
  };
  const write = (bytes: Uint8Array): void => {
    text.bytes(bytes);
    pending += bytes.length;
  };
  const tokens = createTokens(syntax, token);

  function cell({ type, values }: NamedColumn): (row: number) => void {
    switch (type) {
      case 'text': {
        const { codes, texts } = values as TextValues; // The values of a column are those of its type.
        const known = tokens.texts(texts);
        return (row) => {
          const code = codes[row]!;
          write(code < 0 ? marks.none : (known[code] ??= token(syntax.text(texts[code]!))));
        };
      }
      case 'date': {
        const days = values as Int32Array;
        return (row) => write(days[row] === NONE ? marks.none : tokens.date(days[row]!));
      }
      default: {
        const numbers = values as Float64Array | Int32Array;
        const none = numbers instanceof Int32Array ? NONE : NaN;
        return (row) => {
          const value = numbers[row]!;
          if (value !== value || value === none) write(marks.none);
          else if (text.number(value)) pending += NUMBER_BYTES;
          else throw new Refusal('NUMERIC_FAILURE', `A result is ${value}, not a finite number.`);
        };
      }
    }
  }

  let written = 0;
  return {
    raw: (bytes) => write(token(bytes)),
    length: () => drained + pending,
    rows(columns, count) {
      const cells = columns.map(cell);
      for (let row = 0; row < count; row++) {
        write(written++ === 0 ? marks.first : marks.start);
        for (let c = 0; c < cells.length; c++) {
          if (c > 0) write(marks.separator);
          cells[c]!(row);
        }
        write(marks.end);
      }
    },
    end() {
      text.flush();
      spare = text;
    },
  };
}

/** Bytes of a number, about. */
const NUMBER_BYTES = 18;

interface Tokens {
  date(day: number): Uint8Array;
  /** Bytes of the texts of a list, filled by whoever needs one. */
  texts(list: readonly string[]): (Uint8Array | undefined)[];
}

/** Dates come in order: the last one is kept. */
function createTokens(syntax: RowSyntax, token: (text: string) => Uint8Array): Tokens {
  let day = NONE;
  let bytes = token('');
  const lists = new Map<readonly string[], (Uint8Array | undefined)[]>();
  return {
    date(next) {
      if (next !== day) bytes = token(syntax.date(formatDay(next)));
      day = next;
      return bytes;
    },
    texts(list) {
      const known = lists.get(list) ?? [];
      lists.set(list, known);
      return known;
    },
  };
}
