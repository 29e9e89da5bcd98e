import type { JsonWriter } from '../json-writer.js';
import { writeKnown, writeKnownWithin } from '../series-json.js';

/** JSON text of a figure on contiguous dates: numbers separated by commas. */
export interface FigureText {
  /** Position of the first date in the run; the next field is the position after the last date. */
  readonly first: number;
  readonly end: number;
  readonly bytes: Uint8Array;
  /** Offsets of the text of every `FIGURES_PER_MARK`th date. */
  readonly marks: Int32Array;
}

/** Cached texts by position of the figure. */
export type FigureTexts = (FigureText | undefined)[];

/** Number of dates between two marks. Between marks, the text is searched for commas. */
const FIGURES_PER_MARK = 128;

/** Figure and first date that the values of an array belong to. */
interface TextLocation {
  readonly texts: FigureTexts;
  readonly figure: number;
  readonly first: number;
}

const locationsByValues = new WeakMap<Float64Array, TextLocation>();

/**
 * Marks values so that their text is cached as soon as they are written.
 * @returns the values
 */
export function cacheText(values: Float64Array, location: TextLocation): Float64Array {
  locationsByValues.set(values, location);
  return values;
}

/**
 * Writes numbers in brackets; a missing value is null. Text that is cached is copied.
 * @throws Refusal NUMERIC_FAILURE
 */
export function writeFigure(json: JsonWriter, values: Float64Array): void {
  const location = locationsByValues.get(values);
  if (location === undefined) {
    writeKnown(json, values);
    return;
  }
  const { texts, figure, first } = location;
  const end = first + values.length;
  const figureText = texts[figure];
  json.raw('[');
  if (figureText !== undefined && figureText.first <= first && end <= figureText.end) {
    json.token(
      figureText.bytes.subarray(
        findOffset(figureText, first),
        end === figureText.end ? figureText.bytes.length : findOffset(figureText, end) - 1,
      ),
    );
  } else {
    const text = write(json, values, first);
    if (text !== null && (figureText === undefined || figureText.end - figureText.first <= values.length))
      texts[figure] = text;
  }
  json.raw(']');
}

function write(json: JsonWriter, values: Float64Array, first: number): FigureText | null {
  const begin = json.mark();
  const marks = new Int32Array(Math.ceil(values.length / FIGURES_PER_MARK));
  for (let m = 0; m < marks.length; m++) {
    if (m > 0) json.raw(',');
    marks[m] = json.mark() - begin;
    writeKnownWithin(json, values, m * FIGURES_PER_MARK, Math.min(values.length, (m + 1) * FIGURES_PER_MARK));
  }
  const bytes = json.written(begin, json.mark());
  return bytes && { first, end: first + values.length, marks, bytes };
}

const COMMA = 44;

/** Returns the offset of the text of a date. */
function findOffset({ first, bytes, marks }: FigureText, date: number): number {
  const offset = date - first;
  let position = marks[Math.floor(offset / FIGURES_PER_MARK)]!;
  for (let commas = offset % FIGURES_PER_MARK; commas > 0; position++) if (bytes[position] === COMMA) commas--;
  return position;
}
