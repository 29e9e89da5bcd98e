const MAGIC = 0x184d2204;

/** Maximum block sizes of a frame by the code in its descriptor: 64 KiB, 256 KiB, 1 MiB, 4 MiB. */
const BLOCK_BYTES: Readonly<Record<number, number>> = { 4: 1 << 16, 5: 1 << 18, 6: 1 << 20, 7: 1 << 22 };

const MATCH_MIN = 4;

/** Thrown if a frame is damaged or exceeds the maximum decoded size. */
export class Lz4Fault extends Error {
  override readonly name = 'Lz4Fault';
}

/** Decoded bytes, with free space for another block. */
interface Output {
  bytes: Uint8Array<ArrayBuffer>;
  length: number;
}

/**
 * Decodes an LZ4 frame. Checksums are not verified, because the enclosing format has separate checksums.
 * @param bytesMax maximum decoded size
 * @throws Lz4Fault
 * @source LZ4 Frame Format 1.6.4, LZ4 Block Format
 */
export function decodeLz4Frame(frame: Uint8Array, bytesMax: number): Uint8Array<ArrayBuffer> {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  const readUint32 = (offset: number) => {
    if (offset + 4 > frame.length) throw new Lz4Fault('the LZ4 frame is cut short');
    return view.getUint32(offset, true);
  };
  if (readUint32(0) !== MAGIC) throw new Lz4Fault('the bytes are no LZ4 frame');
  const [flags, blocks] = [frame[4]!, frame[5]!];
  const blockMax = BLOCK_BYTES[(blocks >> 4) & 7];
  if (flags >> 6 !== 1 || blockMax === undefined) throw new Lz4Fault('the LZ4 frame is of another version');
  const hasBlockSums = (flags & 0x10) !== 0;
  let offset = 7 + ((flags & 0x08) === 0 ? 0 : 8) + ((flags & 0x01) === 0 ? 0 : 4);
  const output: Output = { bytes: new Uint8Array(blockMax), length: 0 };
  for (;;) {
    const size = readUint32(offset);
    offset += 4;
    if (output.length > bytesMax)
      throw new Lz4Fault(`the LZ4 frames hold more than is read: at most ${bytesMax} bytes more`);
    if (size === 0) return output.bytes.subarray(0, output.length);
    const end = offset + (size & 0x7fffffff);
    if (end > frame.length) throw new Lz4Fault('the LZ4 frame is cut short');
    reserveOutput(output, blockMax);
    const block = frame.subarray(offset, end);
    if (size >>> 31 === 0) decodeBlock(block, output, output.length + blockMax);
    else {
      if (block.length > blockMax) throw new Lz4Fault('a block of the LZ4 frame is too long');
      output.bytes.set(block, output.length);
      output.length += block.length;
    }
    offset = end + (hasBlockSums ? 4 : 0);
  }
}

function reserveOutput(output: Output, blockMax: number): void {
  const neededBytes = output.length + blockMax;
  if (neededBytes <= output.bytes.length) return;
  const bytes = new Uint8Array(Math.max(neededBytes, 2 * output.bytes.length));
  bytes.set(output.bytes.subarray(0, output.length));
  output.bytes = bytes;
}

/**
 * Decodes a block after the existing output. Matches in the block may refer to that output. @param end end of the
 * available space
 */
function decodeBlock(block: Uint8Array, output: Output, end: number): void {
  const { bytes } = output;
  let from = 0;
  let to = output.length;
  /** Reads a length of four bits and its extension bytes. */
  const readLength = (bits: number): number => {
    let length = bits;
    for (let extraByte = bits === 15 ? 255 : 0; extraByte === 255; length += extraByte) {
      if (from >= block.length) throw new Lz4Fault('a block of the LZ4 frame is cut short');
      extraByte = block[from++]!;
    }
    return length;
  };
  while (from < block.length) {
    const token = block[from++]!;
    const literalLength = readLength(token >> 4);
    if (from + literalLength > block.length || to + literalLength > end)
      throw new Lz4Fault('a block of the LZ4 frame is damaged');
    bytes.set(block.subarray(from, from + literalLength), to);
    from += literalLength;
    to += literalLength;
    if (from === block.length) break; // the last sequence has no match
    const offset = block[from]! | (block[from + 1]! << 8);
    from += 2;
    const length = readLength(token & 15) + MATCH_MIN;
    if (offset === 0 || offset > to || to + length > end) throw new Lz4Fault('a block of the LZ4 frame is damaged');
    for (let i = 0; i < length; i++, to++) bytes[to] = bytes[to - offset]!; // a match may overlap its output
  }
  output.length = to;
}
