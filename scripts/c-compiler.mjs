import { accessSync, constants } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { env } from 'node:process';

/** The compiler that a build takes, undefined where there is none. */
export function compilerHere() {
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
