import { useEffect, useMemo, useState } from 'preact/hooks';
import { isObject, type Json, type JsonObject } from '../words/paths.js';
import { getParameter, setParameters } from './location.js';

/** Maximum length of a text in the address after encoding. Proxies and the service refuse request lines of 16 KB. */
const TEXT_MAX = 12_000;

/** Text that is kept in the address. If it is too long, it is kept only in memory. */
export interface AddressedText {
  readonly text: string | null;
  /** True if the address does not contain the text. */
  readonly isTooLong: boolean;
  put(text: string | null): void;
}

/** Returns the text of an input whose value is a parameter of the address of the page. */
export function useAddressed(name: string): AddressedText {
  const addressText = getParameter(name);
  const [long, setLong] = useState<string | null>(null);
  useEffect(() => {
    if (addressText !== null) setLong(null);
  }, [addressText]);
  return {
    text: long ?? addressText,
    isTooLong: long !== null,
    put(text) {
      const isLong = text !== null && encodeURIComponent(text).length > TEXT_MAX;
      setLong(isLong ? text : null);
      setParameters({ [name]: isLong ? null : text });
    },
  };
}

/** Parses a JSON address parameter; undefined if the text is not valid JSON. */
export function parseJson(text: string | null): Json | undefined {
  try {
    return text === null ? undefined : (JSON.parse(text) as Json);
  } catch {
    return undefined;
  }
}

/** Keeps an object in the address while it differs from its initial value. */
export function useAddressedObject(name: string, first: JsonObject): readonly [JsonObject, (next: JsonObject) => void] {
  const { text, put } = useAddressed(name);
  const value = useMemo(() => parseJson(text), [text]);
  return [
    isObject(value) ? value : first,
    (next) => {
      const json = JSON.stringify(next);
      put(json === JSON.stringify(first) ? null : json);
    },
  ];
}
