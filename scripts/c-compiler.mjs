import { accessSync, constants } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { env } from 'node:process';

/** Returns the C compiler for the build; undefined if none is installed. */
export function findCompiler() {
  const folders = (env.PATH ?? '').split(delimiter);
  const isHere = (name) =>
    dirname(name) === '.' ? folders.some((folder) => isProgram(join(folder, name))) : isProgram(name);
  return [env.CC, 'cc', 'gcc', 'clang'].find((name) => name && isHere(name));
}

function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
