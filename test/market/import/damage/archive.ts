import { crc32, deflateRawSync } from 'node:zlib';
import { writeZip } from '#market/read/import.js';
import { type Damage, importBytes, changeBytes, HEAD, MARKET } from './damage.js';

const importDamagedArchive = (
  members: Parameters<typeof writeZip>[0],
  change: (bytes: Buffer) => Uint8Array = (bytes) => bytes,
) => importBytes('csv', change(Buffer.from(writeZip(members))));
const ONE_MEMBER = [{ name: 'market.csv', text: MARKET }];
const findDirectory = (bytes: Buffer) => bytes.lastIndexOf(Buffer.from('PK\u0001\u0002', 'latin1'));

/** Returns a zip archive with one member. The caller can set any values in its headers. */
function createFalseZip({
  name = 'market.csv',
  content,
  method = 8,
  flags = 0,
  crc = crc32(content),
  size = content.length,
}: {
  name?: string;
  content: Buffer;
  method?: number;
  flags?: number;
  crc?: number;
  size?: number;
}): Uint8Array {
  const packedContent = method === 8 ? deflateRawSync(content) : content;
  const nameBytes = Buffer.from(name);
  const fields = Buffer.alloc(26);
  [20, flags, method, 0, 0x21].forEach((value, i) => fields.writeUInt16LE(value, 2 * i));
  fields.writeUInt32LE(crc, 10);
  fields.writeUInt32LE(packedContent.length, 14);
  fields.writeUInt32LE(size, 18);
  fields.writeUInt16LE(nameBytes.length, 22);
  const localHeader = Buffer.concat([Buffer.from('PK\u0003\u0004', 'latin1'), fields, nameBytes, packedContent]);
  const entry = Buffer.concat([
    Buffer.from('PK\u0001\u0002', 'latin1'),
    Buffer.from([20, 0]),
    fields,
    Buffer.alloc(14),
    nameBytes,
  ]);
  const end = Buffer.alloc(22);
  end.write('PK\u0005\u0006', 0, 'latin1');
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(entry.length, 12);
  end.writeUInt32LE(localHeader.length, 16);
  return Buffer.concat([localHeader, entry, end]);
}
const importZipSaying = (what: Parameters<typeof createFalseZip>[0]) => importBytes('csv', createFalseZip(what));

export const ARCHIVE: readonly Damage[] = [
  ['nothing in it', ['UNREADABLE_FILE '], importBytes('csv', new Uint8Array(0))],
  ['text, called a zip', ['UNREADABLE_FILE '], importBytes('csv.zip', Buffer.from(MARKET))],
  [
    'half of it',
    ['UNREADABLE_FILE '],
    importDamagedArchive(ONE_MEMBER, (bytes) => bytes.subarray(0, bytes.length >> 1)),
  ],
  [
    'no directory',
    ['UNREADABLE_FILE '],
    importDamagedArchive(ONE_MEMBER, (bytes) =>
      Buffer.concat([bytes.subarray(0, findDirectory(bytes)), Buffer.alloc(60)]),
    ),
  ],
  [
    'a directory that points outside',
    ['UNREADABLE_FILE '],
    importDamagedArchive(ONE_MEMBER, (bytes) => changeBytes(bytes, bytes.length - 6, [0xff, 0xff, 0xff, 0x00])),
  ],
  [
    'a name that climbs out',
    ['UNREADABLE_FILE '],
    importDamagedArchive([...ONE_MEMBER, { name: '../../etc/market.csv', text: MARKET }]),
  ],
  ['a name from the root', ['UNREADABLE_FILE '], importDamagedArchive([{ name: '/etc/market.csv', text: MARKET }])],
  ['a name with a drive', ['UNREADABLE_FILE '], importDamagedArchive([{ name: 'C:/market.csv', text: MARKET }])],
  [
    'a name with backslashes',
    ['UNREADABLE_FILE '],
    importDamagedArchive([{ name: 'a\\..\\market.csv', text: MARKET }]),
  ],
  ['a password', ['UNREADABLE_FILE '], importZipSaying({ content: Buffer.from(MARKET), flags: 1 })],
  [
    'a compression that nobody asked for',
    ['UNREADABLE_FILE '],
    importZipSaying({ content: Buffer.from(MARKET), method: 12 }),
  ],
  ['a wrong checksum', ['UNREADABLE_FILE '], importZipSaying({ content: Buffer.from(MARKET), crc: 1 })],
  ['more than it says', ['UNREADABLE_FILE '], importZipSaying({ content: Buffer.from(MARKET.repeat(1000)), size: 20 })],
  ['less than it says', ['UNREADABLE_FILE '], importZipSaying({ content: Buffer.from(MARKET), size: 5000 })],
  [
    'a bomb',
    ['UNREADABLE_FILE '],
    importDamagedArchive([{ name: 'market.csv', text: `${HEAD}${'0'.repeat(60 << 20)}` }]),
  ],
  [
    'more members than are read',
    ['UNREADABLE_FILE '],
    importDamagedArchive(ONE_MEMBER, (bytes) => {
      // Both counts are at the end of the central directory.
      bytes.writeUInt16LE(5001, bytes.length - 14);
      bytes.writeUInt16LE(5001, bytes.length - 12);
      return bytes;
    }),
  ],
  [
    'a zip in the zip',
    ['EMPTY_DATASET market', 'UNKNOWN_FIELD market.zip'],
    importDamagedArchive([{ name: 'market.zip', text: Buffer.from(writeZip(ONE_MEMBER)).toString('latin1') }]),
  ],
  [
    'a file that nobody asked for',
    ['UNKNOWN_FIELD prices.csv'],
    importDamagedArchive([...ONE_MEMBER, { name: 'prices.csv', text: MARKET }]),
  ],
  [
    'the same file in two folders',
    ['UNKNOWN_FIELD b/market.csv'],
    importDamagedArchive([
      { name: 'a/market.csv', text: MARKET },
      { name: 'b/market.csv', text: MARKET },
    ]),
  ],
  ['no market', ['EMPTY_DATASET market'], importDamagedArchive([{ name: 'reference.csv', text: 'identifier\nA\n' }])],
  ['an empty file', ['UNREADABLE_FILE market'], importDamagedArchive([{ name: 'market.csv', text: '' }])],
  [
    'text in a price',
    ['NOT_A_NUMBER market[row 2].CLOSE'],
    importDamagedArchive([{ name: 'market.csv', text: `${MARKET}A,2024-01-03,x,1\n` }]),
  ],
  [
    'a formula for a price',
    ['NOT_A_NUMBER market[row 1].CLOSE'],
    importDamagedArchive([{ name: 'market.csv', text: `${HEAD}A,2024-01-02,=1+1,1\n` }]),
  ],
];
