import type { QuickJSEmscriptenModule } from '@jitl/quickjs-ffi-types';

/** Reader of the binary format of WebAssembly: numbers in LEB128, sections, instructions. */
interface WasmReader {
  readonly bytes: Uint8Array;
  at: number;
}

function readUnsigned(reader: WasmReader): number {
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

function skipLimits(reader: WasmReader): void {
  const flags = reader.bytes[reader.at++]!;
  skipNumber(reader);
  if ((flags & 1) !== 0) skipNumber(reader);
}

function encodeUnsigned(value: number): number[] {
  const bytes: number[] = [];
  let remainder = value;
  do {
    const low = remainder % 128;
    remainder = Math.floor(remainder / 128);
    bytes.push(remainder > 0 ? low | 128 : low);
  } while (remainder > 0);
  return bytes;
}

export interface ModuleSection {
  readonly id: number;
  readonly body: Uint8Array;
}

/** Size of the header of a module, which consists of its magic number and version, in bytes. */
const HEADER_BYTES = 8;

function listSections(bytes: Uint8Array): ModuleSection[] {
  const reader: WasmReader = { bytes, at: HEADER_BYTES };
  const sections: ModuleSection[] = [];
  while (reader.at < bytes.length) {
    const id = bytes[reader.at++]!;
    const length = readUnsigned(reader);
    sections.push({ id, body: bytes.subarray(reader.at, reader.at + length) });
    reader.at += length;
  }
  return sections;
}

const LOOP = 0x03;
const BULK = 0xfc;

/** Second byte of the bulk operations whose time depends on a length: they copy or fill memory or tables. */
const LONG_OPERATIONS: ReadonlySet<number> = new Set([8, 10, 11, 12, 14, 17]);

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
function readInstruction(reader: WasmReader): number {
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
  else if (op === BULK) skipBulk(reader);
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

const IMPORTS = 2;
const GLOBALS = 6;
const EXPORTS = 7;
const CODE = 10;

/** Name under which a metered module exports the remaining steps. */
export const STEPS_EXPORT = 'steps';
/** Returns the name under which a metered module exports one of its original variables. */
export const formatVariableExport = (index: number): string => `variable${index}`;

export interface MeteredModule {
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Number of original variables of the module, all of which are exported. */
  readonly variables: number;
}

/**
 * Adds a step counter to a WebAssembly module. Each function call, each loop iteration and each `2 ** BYTES_PER_STEP_LOG2` bytes that
 * one instruction copies or fills decrement the exported variable `steps`. The module traps when `steps` is below zero, so
 * every loop ends.
 * @cost a pass over the code
 */
export function meterLoops(bytes: Uint8Array): MeteredModule {
  const sections = listSections(bytes);
  const getBody = (sectionId: number): Uint8Array | undefined => sections.find(({ id }) => id === sectionId)?.body;
  const importCount = countImportedGlobals(getBody(IMPORTS));
  const variables = readCount(getBody(GLOBALS));
  const terms = { imported: importCount, variables, steps: importCount + variables };
  const outputChunks = sections.flatMap((section) => {
    const parts = changeSection(section, terms);
    const length = parts.reduce((sum, part) => sum + part.length, 0);
    return [Uint8Array.from([section.id, ...encodeUnsigned(length)]), ...parts];
  });
  return { bytes: joinParts([bytes.subarray(0, HEADER_BYTES), ...outputChunks]), variables };
}

interface Terms {
  readonly imported: number;
  readonly variables: number;
  /** Index of the step counter among the variables. */
  readonly steps: number;
}

function changeSection({ id, body }: { readonly id: number; readonly body: Uint8Array }, terms: Terms): Uint8Array[] {
  const { imported, variables, steps } = terms;
  if (id === GLOBALS) return appendEntries(body, [STEPS_AT_START, ZERO]);
  if (id === CODE) return meterCode(body, { step: encodeCharge(steps), bulk: encodeBulkCharge(steps) });
  if (id !== EXPORTS) return [body];
  const variableExports = Array.from({ length: variables }, (_, k) =>
    encodeExport(formatVariableExport(k), imported + k),
  );
  return appendEntries(body, [encodeExport(STEPS_EXPORT, steps), ...variableExports]);
}

/** A 32-bit variable that begins at its maximum. */
const STEPS_AT_START = [0x7f, 0x01, 0x41, 0xff, 0xff, 0xff, 0xff, 0x07, 0x0b];

/** A 32-bit variable that begins at zero. It keeps the length of a bulk operation while it is charged. */
const ZERO = [0x7f, 0x01, 0x41, 0x00, 0x0b];

const encodeExport = (name: string, index: number): number[] => [
  name.length,
  ...new TextEncoder().encode(name),
  0x03,
  ...encodeUnsigned(index),
];

/** Encodes `steps -= cost; if (steps < 0) unreachable`. @param cost code that pushes the number of steps */
function encodeCharge(steps: number, cost: readonly number[] = [0x41, 0x01]): Uint8Array<ArrayBuffer> {
  const index = encodeUnsigned(steps);
  const decrement = [0x23, ...index, ...cost, 0x6b, 0x24, ...index];
  return Uint8Array.from([...decrement, 0x23, ...index, 0x41, 0x00, 0x48, 0x04, 0x40, 0x00, 0x0b]);
}

/** Binary logarithm of the number of bytes that a bulk operation copies or fills per step: about 10 ns. */
const BYTES_PER_STEP_LOG2 = 6;

/** Encodes a charge for the length on top of the stack, which stays there. */
function encodeBulkCharge(steps: number): Uint8Array {
  const length = encodeUnsigned(steps + 1);
  const cost = [0x23, ...length, 0x41, BYTES_PER_STEP_LOG2, 0x76];
  return joinParts([Uint8Array.from([0x24, ...length]), encodeCharge(steps, cost), Uint8Array.from([0x23, ...length])]);
}

/** Code that is added to a module. */
interface Tolls {
  readonly step: Uint8Array;
  readonly bulk: Uint8Array;
}

/** Returns a list section with additional entries. */
function appendEntries(body: Uint8Array, entries: readonly (readonly number[])[]): Uint8Array[] {
  const reader: WasmReader = { bytes: body, at: 0 };
  const count = readUnsigned(reader);
  return [
    Uint8Array.from(encodeUnsigned(count + entries.length)),
    body.subarray(reader.at),
    Uint8Array.from(entries.flat()),
  ];
}

function meterCode(body: Uint8Array, tolls: Tolls): Uint8Array[] {
  const reader: WasmReader = { bytes: body, at: 0 };
  const functionCount = readUnsigned(reader);
  const parts: Uint8Array[] = [body.subarray(0, reader.at)];
  for (let k = 0; k < functionCount; k++) {
    const length = readUnsigned(reader);
    const end = reader.at + length;
    const chunks = meterFunction(reader, end, tolls);
    const size = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    parts.push(Uint8Array.from(encodeUnsigned(size)), ...chunks);
    reader.at = end;
  }
  return parts;
}

/** Adds counters at the beginning of a function and of each loop, and before each bulk operation. */
function meterFunction(reader: WasmReader, end: number, tolls: Tolls): Uint8Array[] {
  const { bytes } = reader;
  let from = reader.at;
  const kinds = readUnsigned(reader);
  for (let i = 0; i < kinds; i++) {
    readUnsigned(reader);
    reader.at += 1;
  }
  const chunks: Uint8Array[] = [bytes.subarray(from, reader.at), tolls.step];
  from = reader.at;
  while (reader.at < end) {
    const start = reader.at;
    const op = readInstruction(reader);
    if (op === LOOP) {
      chunks.push(bytes.subarray(from, reader.at), tolls.step);
      from = reader.at;
    } else if (op === BULK && LONG_OPERATIONS.has(bytes[start + 1]!)) {
      chunks.push(bytes.subarray(from, start), tolls.bulk);
      from = start;
    }
  }
  chunks.push(bytes.subarray(from, end));
  return chunks;
}

const readCount = (body: Uint8Array | undefined): number =>
  body === undefined ? 0 : readUnsigned({ bytes: body, at: 0 });

/** Returns the number of imported variables, which precede the module's own. */
function countImportedGlobals(body: Uint8Array | undefined): number {
  if (body === undefined) return 0;
  const reader: WasmReader = { bytes: body, at: 0 };
  const importCount = readUnsigned(reader);
  let globalCount = 0;
  for (let k = 0; k < importCount; k++) {
    for (let name = 0; name < 2; name++) {
      const length = readUnsigned(reader);
      reader.at += length;
    }
    const kind = body[reader.at++]!;
    if (kind === 0) readUnsigned(reader);
    else if (kind === 1) reader.at += 1;
    if (kind === 1 || kind === 2) skipLimits(reader);
    if (kind !== 3) continue;
    globalCount += 1;
    reader.at += 2;
  }
  return globalCount;
}

function joinParts(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    bytes.set(part, offset);
    offset += part.length;
  }
  return bytes;
}

/** Variable of a WebAssembly instance. */
export interface WasmGlobal {
  value: number;
}

export interface PrivateMemory {
  /** Current buffer. The property has another value after the memory grows. */
  readonly buffer: ArrayBuffer;
}

type Exports = Readonly<Record<string, unknown>>;
type Imports = Readonly<Record<string, Readonly<Record<string, unknown>>>>;
interface Instance {
  readonly exports: Exports;
}

/** WebAssembly types whose memory is not shared. The numeric engines declare types whose memory is shared. */
export const PrivateWebAssembly = WebAssembly as unknown as {
  readonly Memory: new (descriptor: { readonly initial: number; readonly maximum: number }) => PrivateMemory;
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: Imports) => Instance;
};

/** Loader of QuickJS, generated by Emscripten. */
export type LoadModule = (options: {
  readonly wasmMemory: PrivateMemory;
  instantiateWasm(imports: Imports, succeed: (instance: Instance) => void): Exports;
}) => Promise<QuickJSEmscriptenModule>;
