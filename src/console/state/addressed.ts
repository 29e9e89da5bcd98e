import { useEffect, useMemo, useState } from 'preact/hooks';
import { isObject, type Json, type JsonObject } from '../words/paths.js';
import { parameter, setParameters } from './place.js';

/** Longest text that an address carries, encoded: proxies and the service refuse lines of 16 KB. */
const TEXT_MAX = 12_000;

/** Text kept in the address, or only in the page if it is too long. */
export interface Addressed {
  readonly text: string | null;
  /** True if the address does not contain the text. */
  readonly isTooLong: boolean;
  put(text: string | null): void;
}

/** Parameter of the address that is updated during typing. */
export function useAddressed(name: string): Addressed {
  const given = parameter(name);
  const [long, setLong] = useState<string | null>(null);
  useEffect(() => {
    if (given !== null) setLong(null);
  }, [given]);
  return {
    text: long ?? given,
    isTooLong: long !== null,
    put(text) {
      const isLong = text !== null && encodeURIComponent(text).length > TEXT_MAX;
      setLong(isLong ? text : null);
      setParameters({ [name]: isLong ? null : text });
    },
  };
}

/** JSON value of an address parameter; undefined if it cannot be read. */
export function jsonIn(text: string | null): Json | undefined {
  try {
    return text === null ? undefined : (JSON.parse(text) as Json);
  } catch {
    return undefined;
  }
}

/** Keeps an object in the address while it differs from its initial value. */
export function useAddressedObject(name: string, first: JsonObject): readonly [JsonObject, (next: JsonObject) => void] {
  const { text, put } = useAddressed(name);
  const value = useMemo(() => jsonIn(text), [text]);
  return [
    isObject(value) ? value : first,
    (next) => {
      const written = JSON.stringify(next);
      put(written === JSON.stringify(first) ? null : written);
    },
  ];
}
