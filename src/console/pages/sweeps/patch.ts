import { isObject, type Json, type JsonObject } from '../../words/paths.js';

/** A definition and the terms of its backtests. */
interface Base {
  readonly document: JsonObject;
  readonly request: JsonObject;
}

/**
 * Returns the definition and terms of a variant.
 * @param patch values by JSON pointer (RFC 6901), as in the sweep
 */
export function getPatchBase(base: Base, patch: JsonObject): Base {
  let target: Json = { document: base.document, request: base.request };
  for (const [pointer, value] of Object.entries(patch))
    target = setAtPointer(target, splitPointer(pointer), value ?? null);
  return target as unknown as Base; // only existing members are replaced
}

const splitPointer = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));

function setAtPointer(whole: Json | undefined, [step, ...rest]: readonly string[], value: Json): Json {
  if (step === undefined) return value;
  if (Array.isArray(whole)) {
    const items = whole as readonly Json[];
    return items.map((item, k) => (String(k) === step ? setAtPointer(item, rest, value) : item));
  }
  const object = isObject(whole) ? whole : {};
  return { ...object, [step]: setAtPointer(object[step], rest, value) };
}
