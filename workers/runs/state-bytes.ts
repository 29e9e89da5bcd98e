import { Deserializer, Serializer } from 'node:v8';

/** Values without content after their tag, which is their position here. */
const CONSTANTS: readonly unknown[] = [null, undefined, false, true];
const NUMBER = 4;
const TEXT = 5;
const LIST = 6;
const MAP = 7;
const RECORD = 8;
/** Tag of the first type of `ARRAY_TYPES`. The other types have the next tags. */
const ARRAY = 16;
const ARRAY_TYPES = [Float64Array, Int32Array, Int8Array, Uint8Array] as const;

/**
 * Returns a value as bytes. Equal values with their members in the same order have the same bytes. The bytes of
 * `v8.serialize` also depend on shared references and on the forms in which V8 stores numbers, texts and lists.
 * Optimised code selects other forms, so two equal runs may differ there.
 * @param value numbers, texts, booleans, null, undefined, typed arrays, and lists, maps and plain objects of them
 * @throws TypeError for any other value
 */
export function encodeState(value: unknown): Uint8Array {
  const output = new Serializer();
  writeValue(output, value);
  return output.releaseBuffer();
}

/** Returns the value of bytes from `encodeState`. @throws Error if the bytes have another format */
export function decodeState(bytes: Uint8Array): unknown {
  return readValue(new Deserializer(bytes));
}

function writeValue(output: Serializer, value: unknown): void {
  const constant = CONSTANTS.indexOf(value);
  if (constant >= 0) output.writeUint32(constant);
  else if (typeof value === 'number') writeNumber(output, value);
  else if (typeof value === 'string') writeBytes(output, TEXT, Buffer.from(value, 'utf16le'));
  else if (isStateArray(value)) writeBytes(output, ARRAY + findArrayType(value), value);
  else if (Array.isArray(value)) writeItems(output, LIST, value);
  else if (value instanceof Map) writeItems(output, MAP, [...value].flat());
  else if (isPlainObject(value)) writeItems(output, RECORD, Object.entries(value).flat());
  else throw new TypeError(`A state contains a value without a form: ${String(value)}.`);
}

function writeNumber(output: Serializer, value: number): void {
  output.writeUint32(NUMBER);
  output.writeDouble(Number.isNaN(value) ? Number.NaN : value); // NaN has several bit patterns
}

function writeBytes(output: Serializer, tag: number, bytes: NodeJS.ArrayBufferView): void {
  output.writeUint32(tag);
  output.writeUint32(bytes.byteLength);
  output.writeRawBytes(bytes);
}

function writeItems(output: Serializer, tag: number, items: readonly unknown[]): void {
  output.writeUint32(tag);
  output.writeUint32(items.length);
  for (const item of items) writeValue(output, item);
}

function isStateArray(value: unknown): value is InstanceType<(typeof ARRAY_TYPES)[number]> {
  return findArrayType(value) >= 0;
}

function findArrayType(value: unknown): number {
  return ARRAY_TYPES.findIndex((arrayType) => value instanceof arrayType);
}

function isPlainObject(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function readValue(input: Deserializer): unknown {
  const tag = input.readUint32();
  if (tag < CONSTANTS.length) return CONSTANTS[tag];
  if (tag === NUMBER) return input.readDouble();
  const length = input.readUint32();
  if (tag === TEXT) return input.readRawBytes(length).toString('utf16le');
  if (tag === LIST) return readItems(input, length);
  if (tag === MAP) return new Map(readPairs(input, length));
  if (tag === RECORD) return Object.fromEntries(readPairs(input, length));
  const arrayType = ARRAY_TYPES[tag - ARRAY];
  if (arrayType === undefined) throw new Error('The bytes of a state have another format.');
  return new arrayType(new Uint8Array(input.readRawBytes(length)).buffer); // a copy is aligned
}

function readItems(input: Deserializer, count: number): unknown[] {
  const items: unknown[] = [];
  for (let i = 0; i < count; i++) items.push(readValue(input));
  return items;
}

function readPairs(input: Deserializer, count: number): (readonly [string, unknown])[] {
  const pairs: (readonly [string, unknown])[] = [];
  for (let i = 0; i < count; i += 2) pairs.push([readValue(input) as string, readValue(input)]);
  return pairs;
}
