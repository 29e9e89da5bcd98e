import { open } from 'lmdb';

/** Reads every page of the documents of a folder; `probeDocuments` runs it as a separate process. */
const [folder] = process.argv.slice(2);
if (folder === undefined) throw new Error('walk-documents FOLDER');

const database = open<Buffer, Buffer>({
  path: folder,
  noSubdir: false,
  readOnly: true,
  encoding: 'binary',
  keyEncoding: 'binary',
  maxDbs: 1,
});
let bytes = 0;
for (const { key, value } of database.getRange({})) bytes += key.length + value.length;
await database.close();
process.exitCode = Number.isSafeInteger(bytes) ? 0 : 1;
