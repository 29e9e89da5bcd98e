import {
  HEADER_BYTES,
  LOOP,
  readInstruction,
  readUnsigned,
  listSections,
  skipLimits,
  encodeUnsigned,
  type WasmReader,
} from './wasm-reader.js';

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
 * Adds a step counter to a WebAssembly module. Each function call and each loop iteration decrements the exported
 * variable `steps`. The module traps when `steps` is below zero, so every loop ends.
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
  if (id === GLOBALS) return appendEntries(body, [STEPS_AT_START]);
  if (id === CODE) return meterCode(body, encodeCharge(steps));
  if (id !== EXPORTS) return [body];
  const variableExports = Array.from({ length: variables }, (_, k) =>
    encodeExport(formatVariableExport(k), imported + k),
  );
  return appendEntries(body, [encodeExport(STEPS_EXPORT, steps), ...variableExports]);
}

/** A 32-bit variable that begins at its maximum. */
const STEPS_AT_START = [0x7f, 0x01, 0x41, 0xff, 0xff, 0xff, 0xff, 0x07, 0x0b];

const encodeExport = (name: string, index: number): number[] => [
  name.length,
  ...new TextEncoder().encode(name),
  0x03,
  ...encodeUnsigned(index),
];

/** Encodes `steps -= 1; if (steps < 0) unreachable`. */
function encodeCharge(steps: number): Uint8Array {
  const index = encodeUnsigned(steps);
  const decrement = [0x23, ...index, 0x41, 0x01, 0x6b, 0x24, ...index];
  return Uint8Array.from([...decrement, 0x23, ...index, 0x41, 0x00, 0x48, 0x04, 0x40, 0x00, 0x0b]);
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

function meterCode(body: Uint8Array, toll: Uint8Array): Uint8Array[] {
  const reader: WasmReader = { bytes: body, at: 0 };
  const functionCount = readUnsigned(reader);
  const parts: Uint8Array[] = [body.subarray(0, reader.at)];
  for (let k = 0; k < functionCount; k++) {
    const length = readUnsigned(reader);
    const end = reader.at + length;
    const chunks = meterFunction(reader, end, toll);
    const size = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    parts.push(Uint8Array.from(encodeUnsigned(size)), ...chunks);
    reader.at = end;
  }
  return parts;
}

/** Adds counters at the beginning of a function and of each loop. */
function meterFunction(reader: WasmReader, end: number, toll: Uint8Array): Uint8Array[] {
  const { bytes } = reader;
  let from = reader.at;
  const kinds = readUnsigned(reader);
  for (let i = 0; i < kinds; i++) {
    readUnsigned(reader);
    reader.at += 1;
  }
  const chunks: Uint8Array[] = [bytes.subarray(from, reader.at), toll];
  from = reader.at;
  while (reader.at < end) {
    if (readInstruction(reader) !== LOOP) continue;
    chunks.push(bytes.subarray(from, reader.at), toll);
    from = reader.at;
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
