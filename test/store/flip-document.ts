import { join } from 'node:path';
import { open } from 'lmdb';

/** Changes one bit of a stored document in the file. The store must be closed. Keys are `tenant NUL kind NUL id`. */
export async function flipDocument(home: string, key: string): Promise<void> {
  const database = open<Buffer, Buffer>({
    path: join(home, 'documents'),
    noSubdir: false,
    encoding: 'binary',
    keyEncoding: 'binary',
    maxDbs: 1,
  });
  const value = Buffer.from(database.get(Buffer.from(key))!);
  value[value.length - 3]! ^= 1;
  await database.put(Buffer.from(key), value);
  await database.close();
}
