import { crc32, deflateRawSync } from 'node:zlib';

export interface ZipSource {
  readonly name: string;
  readonly text: string;
}

/** 1 January 1980, the first day of the format; a fixed date gives equal archives for equal texts. */
const DOS_DATE = (1 << 5) | 1;
const UTF8_NAMES = 0x0800;
const DEFLATE_METHOD = 8;

/** Creates a zip archive of a few texts. @source APPNOTE.TXT 6.3, without zip64 */
export function writeZip(sources: readonly ZipSource[]): Uint8Array<ArrayBuffer> {
  const localRecords: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, text } of sources) {
    const content = Buffer.from(text, 'utf8');
    const deflatedContent = deflateRawSync(content, { level: 9 });
    const fields = Buffer.alloc(26);
    fields.writeUInt16LE(20, 0);
    fields.writeUInt16LE(UTF8_NAMES, 2);
    fields.writeUInt16LE(DEFLATE_METHOD, 4);
    fields.writeUInt16LE(DOS_DATE, 8);
    fields.writeUInt32LE(crc32(content), 10);
    fields.writeUInt32LE(deflatedContent.length, 14);
    fields.writeUInt32LE(content.length, 18);
    fields.writeUInt16LE(Buffer.byteLength(name), 22);
    const localRecord = Buffer.concat([
      Buffer.from('PK\u0003\u0004', 'latin1'),
      fields,
      Buffer.from(name),
      deflatedContent,
    ]);
    const centralFields = Buffer.alloc(14);
    centralFields.writeUInt32LE(offset, 10);
    directory.push(
      Buffer.concat([Buffer.from('PK\u0001\u0002\u0014\u0000', 'latin1'), fields, centralFields, Buffer.from(name)]),
    );
    localRecords.push(localRecord);
    offset += localRecord.length;
  }
  const size = directory.reduce((sum, { length }) => sum + length, 0);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(sources.length, 4);
  end.writeUInt16LE(sources.length, 6);
  end.writeUInt32LE(size, 8);
  end.writeUInt32LE(offset, 12);
  return new Uint8Array(Buffer.concat([...localRecords, ...directory, Buffer.from('PK\u0005\u0006', 'latin1'), end]));
}
