import type { SeriesPayload } from '#contract/common.js';
import type { JsonWriter } from './json-writer.js';
import { writeSeriesBody } from './series-json.js';

/** A parsed JSON object. */
export type StoredObject = Readonly<Record<string, unknown>>;

/** Writes a member of type V from a source. */
export interface Member<V, S> {
  readonly write: (json: JsonWriter, source: S) => void;
  /** Returns true if an object has the member. Default: always. */
  readonly has?: (source: S) => boolean;
  /**
   * Returns the value for an object that was stored before the member existed. Absent if the member existed in every
   * version.
   */
  readonly older?: (storedObject: StoredObject) => V;
  /** Upgrades a stored member that itself has members. */
  readonly upgrade?: (value: unknown) => unknown;
}

/** Members of a contract type, in the order in which they are written. If one is missing, the code does not compile. */
export type Members<T, S> = { readonly [M in keyof T]-?: Member<Required<T>[M], S> };

/** Writer of a contract type as JSON. It builds no object. */
export interface JsonObject<S> {
  write(json: JsonWriter, source: S): void;
  /** Adds to a stored value the members that did not exist when it was stored. */
  upgrade(value: unknown): unknown;
}

export function createJsonObject<T, S>(members: Members<T, S>): JsonObject<S> {
  const listedMembers = Object.entries<Member<unknown, S>>(members).map(([name, member]) => ({
    name,
    member,
    key: `${JSON.stringify(name)}:`,
  }));
  return {
    write(json, source) {
      let prefix = '{';
      for (const { member, key } of listedMembers) {
        if (member.has?.(source) === false) continue;
        json.raw(prefix + key);
        member.write(json, source);
        prefix = ',';
      }
      json.raw(prefix === '{' ? '{}' : '}');
    },
    upgrade(value) {
      if (!isObject(value)) return value;
      const upgradedObject: Record<string, unknown> = { ...value };
      for (const {
        name,
        member: { older, upgrade },
      } of listedMembers) {
        if (!(name in value)) {
          if (older) upgradedObject[name] = older(value);
        } else if (upgrade) upgradedObject[name] = upgrade(value[name]);
      }
      return upgradedObject;
    },
  };
}

function isObject(value: unknown): value is StoredObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function createNumberMember<S>(readValue: (source: S) => number): Member<number, S> {
  return { write: (json, source) => json.number(readValue(source)) };
}

export function createTextMember<V extends string, S>(readValue: (source: S) => V): Member<V, S> {
  return { write: (json, source) => json.string(readValue(source)) };
}

/** Creates a member with any JSON value of the contract type. */
export function createValueMember<V, S>(readValue: (source: S) => V): Member<V, S> {
  return { write: (json, source) => json.value(readValue(source)) };
}

/** Creates a member from a function that writes it. */
export function createWrittenMember<V, S>(write: (json: JsonWriter, source: S) => void): Member<V, S> {
  return { write };
}

/** Creates a member that is an object. It is null if the source returns null. */
export function createObjectMember<V, S, P>(object: JsonObject<P>, readPart: (source: S) => P | null): Member<V, S> {
  return {
    write(json, source) {
      const part = readPart(source);
      if (part === null) json.raw('null');
      else object.write(json, part);
    },
    upgrade: object.upgrade,
  };
}

/** Returns a function that upgrades each item of a stored list. */
export function createItemsUpgrade<P>(object: JsonObject<P>): (value: unknown) => unknown {
  return (value) => (Array.isArray(value) ? value.map(object.upgrade) : value);
}

/**
 * Creates a member that is a dated series.
 * @param readDated returns the dates, encoded by `encodeDays`, and their values
 */
export function createSeriesMember<S>(
  name: string,
  readDated: (source: S) => { readonly dates: Uint8Array; readonly values: Float64Array },
): Member<SeriesPayload, S> {
  return { write: (json, source) => writeSeriesBody(json, { name, ...readDated(source) }) };
}
