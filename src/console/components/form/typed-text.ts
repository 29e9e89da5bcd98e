import { useEffect, useRef, useState } from 'preact/hooks';
import type { Json } from '../../words/paths.js';

/** Value of a typed text; undefined while the text is incomplete. */
export type ParsedValue = { readonly value: Json | undefined } | undefined;

/** Conversions between the value of a field and its text. */
export interface TypedInput {
  readonly value: Json | undefined;
  toText(value: Json | undefined): string;
  /** Parses the typed text. Returns undefined while the text is incomplete. */
  toValue(text: string): ParsedValue;
  onChange(value: Json | undefined): void;
}

/** Text of an input, a function that changes it, and a function that replaces it with the formatted value. */
type TypedText = readonly [text: string, type: (text: string) => void, format: () => void];

/**
 * Returns the text as it was typed, such as `0.0` while the user types `0.05`. It is kept until something else changes
 * the value or its format.
 */
export function useTyped({ value, toText, toValue, onChange }: TypedInput): TypedText {
  const valueText = toText(value);
  const [text, setText] = useState(valueText);
  const formattedValue = useRef(value);
  useEffect(() => {
    const isReformatted = Object.is(formattedValue.current, value);
    formattedValue.current = value;
    const typedValue = toValue(text);
    if (isReformatted || typedValue === undefined || toText(typedValue.value) !== valueText) setText(valueText);
  }, [valueText]);
  return [
    text,
    (next) => {
      setText(next);
      const read = toValue(next);
      if (read !== undefined) onChange(read.value);
    },
    () => setText(valueText),
  ];
}
