import { readFileSync } from 'node:fs';
import { inflateSync } from 'node:zlib';

/** A matrix of a MATLAB level 5 file. It is dense in column-major order, or sparse by columns. */
export interface MatMatrix {
  readonly rows: number;
  readonly columns: number;
  /** Non-zero entries: row, column, value. */
  readonly entries: readonly (readonly [number, number, number])[];
}

const COMPRESSED = 15;
const MATRIX = 14;
const SPARSE_CLASS = 5;

/** Reads the matrices of a file by name. They must be little endian and numeric, as scipy writes them. */
export function readMatFile(path: string): Map<string, MatMatrix> {
  const file = readFileSync(path);
  const results = new Map<string, MatMatrix>();
  for (let offset = 128; offset < file.length;) {
    const { type, data, next } = readElement(file, offset);
    offset = next;
    const inner = type === COMPRESSED ? readElement(inflateSync(data), 0) : { type, data };
    if (inner.type === MATRIX) results.set(...parseMatrix(inner.data));
  }
  return results;
}

interface Element {
  readonly type: number;
  readonly data: Buffer;
  /** Position after the element and its padding. */
  readonly next: number;
}

function readElement(buffer: Buffer, offset: number): Element {
  const smallBytes = buffer.readUInt16LE(offset + 2);
  if (smallBytes > 0)
    return {
      type: buffer.readUInt16LE(offset),
      data: buffer.subarray(offset + 4, offset + 4 + smallBytes),
      next: offset + 8,
    };
  const type = buffer.readUInt32LE(offset);
  const bytes = buffer.readUInt32LE(offset + 4);
  const end = offset + 8 + bytes;
  return {
    type,
    data: buffer.subarray(offset + 8, end),
    next: type === COMPRESSED ? end : offset + 8 + Math.ceil(bytes / 8) * 8,
  };
}

function parseMatrix(data: Buffer): [string, MatMatrix] {
  const parts: Element[] = [];
  for (let offset = 0; offset < data.length;) {
    const part = readElement(data, offset);
    parts.push(part);
    offset = part.next;
  }
  const [flags, dimensions, name, ...values] = parts as [Element, Element, Element, ...Element[]];
  const [rows, columns] = listNumbers(dimensions) as [number, number];
  const isSparse = flags.data.readUInt8(0) === SPARSE_CLASS;
  const entries: [number, number, number][] = [];
  if (isSparse) {
    const [ir, jc, pr] = values.map(listNumbers) as [number[], number[], number[]];
    for (let c = 0; c < columns; c++) for (let k = jc[c]!; k < jc[c + 1]!; k++) entries.push([ir[k]!, c, pr[k]!]);
  } else
    listNumbers(values[0]!).forEach((value, k) => value !== 0 && entries.push([k % rows, Math.floor(k / rows), value]));
  return [name.data.toString('latin1'), { rows, columns, entries }];
}

const WIDTHS: Readonly<Record<number, readonly [bytes: number, read: (buffer: Buffer, offset: number) => number]>> = {
  1: [1, (buffer, offset) => buffer.readInt8(offset)],
  2: [1, (buffer, offset) => buffer.readUInt8(offset)],
  3: [2, (buffer, offset) => buffer.readInt16LE(offset)],
  4: [2, (buffer, offset) => buffer.readUInt16LE(offset)],
  5: [4, (buffer, offset) => buffer.readInt32LE(offset)],
  6: [4, (buffer, offset) => buffer.readUInt32LE(offset)],
  9: [8, (buffer, offset) => buffer.readDoubleLE(offset)],
};

function listNumbers({ type, data }: Element): number[] {
  const [bytes, read] = WIDTHS[type]!;
  return Array.from({ length: Math.floor(data.length / bytes) }, (_, k) => read(data, k * bytes));
}
