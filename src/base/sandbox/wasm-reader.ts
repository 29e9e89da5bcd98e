/** Reader of the binary format of WebAssembly: numbers in LEB128, sections, instructions. */
export interface WasmReader {
  readonly bytes: Uint8Array;
  at: number;
}

export function readUnsigned(reader: WasmReader): number {
  let result = 0;
  for (let factor = 1; ; factor *= 128) {
    const byte = reader.bytes[reader.at++]!;
    result += (byte & 127) * factor;
    if (byte < 128) return result;
  }
}

/** Skips a signed integer. */
function skipNumber(reader: WasmReader): void {
  while (reader.bytes[reader.at++]! >= 128);
}

export function skipLimits(reader: WasmReader): void {
  const flags = reader.bytes[reader.at++]!;
  skipNumber(reader);
  if ((flags & 1) !== 0) skipNumber(reader);
}

export function encodeUnsigned(value: number): number[] {
  const bytes: number[] = [];
  let remainder = value;
  do {
    const low = remainder % 128;
    remainder = Math.floor(remainder / 128);
    bytes.push(remainder > 0 ? low | 128 : low);
  } while (remainder > 0);
  return bytes;
}

export interface Section {
  readonly id: number;
  readonly body: Uint8Array;
}

/** Size of the header of a module, which consists of its magic number and version, in bytes. */
export const HEADER_BYTES = 8;

export function listSections(bytes: Uint8Array): Section[] {
  const reader: WasmReader = { bytes, at: HEADER_BYTES };
  const sections: Section[] = [];
  while (reader.at < bytes.length) {
    const id = bytes[reader.at++]!;
    const length = readUnsigned(reader);
    sections.push({ id, body: bytes.subarray(reader.at, reader.at + length) });
    reader.at += length;
  }
  return sections;
}

export const LOOP = 0x03;

/**
 * Returns true for an instruction without operands in the code, such as `unreachable`, comparisons, arithmetic and
 * conversions.
 */
const isPlain = (op: number): boolean =>
  op <= 0x01 || op === 0x05 || op === 0x0b || op === 0x0f || op === 0x1a || op === 0x1b || (op >= 0x45 && op <= 0xc4);

/** Returns true for an instruction with one index operand: branches, calls, variables, tables. */
const takesIndex = (op: number): boolean =>
  op === 0x0c || op === 0x0d || op === 0x10 || (op >= 0x20 && op <= 0x26) || op === 0xd2;

/** Reads an instruction and skips its operands. @returns its code @throws Error for an unknown instruction */
export function readInstruction(reader: WasmReader): number {
  const op = reader.bytes[reader.at++]!;
  if (isPlain(op)) return op;
  if (takesIndex(op) || op === 0x41 || op === 0x42) skipNumber(reader);
  else if (op === 0x02 || op === LOOP || op === 0x04) skipNumber(reader); // type of a block: one byte, or an index
  else if (op === 0x11 || (op >= 0x28 && op <= 0x3e)) skipNumbers(reader, 2);
  else if (op === 0x0e) skipNumbers(reader, readUnsigned(reader) + 1);
  else if (op === 0x3f || op === 0x40 || op === 0xd0) reader.at += 1;
  else if (op === 0x43) reader.at += 4;
  else if (op === 0x44) reader.at += 8;
  else if (op === 0x1c) reader.at += readUnsigned(reader);
  else if (op === 0xfc) skipBulk(reader);
  else throw new Error(`instruction 0x${op.toString(16)} of WebAssembly is not known`);
  return op;
}

function skipNumbers(reader: WasmReader, count: number): void {
  for (let i = 0; i < count; i++) skipNumber(reader);
}

/** Skips the operands of saturating conversions and bulk memory operations. */
function skipBulk(reader: WasmReader): void {
  const code = readUnsigned(reader);
  if (code <= 7) return;
  skipNumbers(reader, code === 8 || code === 10 || code === 12 || code === 14 ? 2 : 1);
}
