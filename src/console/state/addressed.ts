import { useEffect, useMemo, useState } from 'preact/hooks';
import { isObject, type Json, type JsonObject } from '../words/paths.js';
import { parameter, setParameters } from './place.js';

/** Longest text that an address carries, encoded: proxies and the service refuse lines of 16 KB. */
const TEXT_MAX = 12_000;

/** Text that stands in the address, and where it is too long for that, in the page alone. */
export interface Addressed {
  readonly text: string | null;
  /** Whether the address does not have it. */
  readonly isTooLong: boolean;
  put(text: string | null): void;
}

/** A parameter of the address that is written while somebody types. */
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

/** What an address says in JSON; undefined where it says nothing that can be read. */
export function jsonIn(text: string | null): Json | undefined {
  try {
    return text === null ? undefined : (JSON.parse(text) as Json);
  } catch {
    return undefined;
  }
}

/** An object that stands in the address while it is not what it began with. */
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
