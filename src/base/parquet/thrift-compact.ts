/** Field types of Thrift's compact protocol, in which Parquet writes its metadata. */
const TYPE = { true: 1, false: 2, i32: 5, i64: 6, binary: 8, list: 9, struct: 12 } as const;

/** Value of a field, by type. Parquet needs no other types. */
export type ThriftValue =
  | { readonly i32: number }
  | { readonly i64: number }
  | { readonly text: string }
  | { readonly flag: boolean }
  | { readonly list: readonly ThriftValue[] }
  /** structs of a list that are already encoded */
  | { readonly encoded: EncodedStructs }
  | { readonly struct: ThriftStruct };

/** Encoded structs of a list, one after the other. */
export interface EncodedStructs {
  readonly count: number;
  readonly bytes: Uint8Array;
}

/** Fields with their numbers, ascending. */
export type ThriftStruct = readonly (readonly [number, ThriftValue])[];

/** Encodes a struct in Thrift's compact protocol. @source apache/thrift doc/specs/thrift-compact-protocol.md */
export function encodeStruct(struct: ThriftStruct): Uint8Array {
  const bytes: number[] = [];
  putStruct(bytes, struct);
  return Uint8Array.from(bytes);
}

function putStruct(bytes: number[], struct: ThriftStruct): void {
  let last = 0;
  for (const [field, value] of struct) {
    bytes.push(((field - last) << 4) | getType(value));
    last = field;
    if (!('flag' in value)) putValue(bytes, value);
  }
  bytes.push(0);
}

function putValue(bytes: number[], value: ThriftValue): void {
  if ('i32' in value) putVarint(bytes, encodeZigzag(value.i32));
  else if ('i64' in value) putVarint(bytes, encodeZigzag(value.i64));
  else if ('text' in value) {
    const textBytes = new TextEncoder().encode(value.text);
    putVarint(bytes, textBytes.length);
    for (const byte of textBytes) bytes.push(byte);
  } else if ('list' in value) {
    putListHead(bytes, value.list.length, value.list.length === 0 ? TYPE.struct : getType(value.list[0]!));
    for (const item of value.list) putValue(bytes, item);
  } else if ('encoded' in value) {
    putListHead(bytes, value.encoded.count, TYPE.struct);
    for (const byte of value.encoded.bytes) bytes.push(byte);
  } else if ('struct' in value) putStruct(bytes, value.struct);
  else bytes.push(value.flag ? TYPE.true : TYPE.false);
}

function putListHead(bytes: number[], length: number, type: number): void {
  if (length < 15) bytes.push((length << 4) | type);
  else {
    bytes.push(0xf0 | type);
    putVarint(bytes, length);
  }
}

function getType(value: ThriftValue): number {
  if ('i32' in value) return TYPE.i32;
  if ('i64' in value) return TYPE.i64;
  if ('text' in value) return TYPE.binary;
  if ('list' in value || 'encoded' in value) return TYPE.list;
  if ('struct' in value) return TYPE.struct;
  return value.flag ? TYPE.true : TYPE.false;
}

/** Zigzag encoding without 32-bit arithmetic, because file offsets may exceed 32 bits. */
const encodeZigzag = (value: number) => (value >= 0 ? value * 2 : -value * 2 - 1);

/** Appends an unsigned integer up to 2^53, seven bits per byte. */
export function putVarint(bytes: number[], value: number): void {
  let remainder = value;
  while (remainder >= 0x80) {
    bytes.push((remainder % 0x80) | 0x80);
    remainder = Math.floor(remainder / 0x80);
  }
  bytes.push(remainder);
}
