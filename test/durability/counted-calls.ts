import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** Told of every call that changes files of a folder, before it is made; what it throws is what the call fails with. */
export type CallListener = (call: string) => void;

const CHANGING = ['open', 'rename', 'unlink', 'link', 'mkdir', 'rm', 'writeFile', 'copyFile'] as const;

let watched: { readonly folder: string; readonly listener: CallListener } | undefined;

/** Watches the calls below a folder that this process makes from now on; undefined ends it. */
export function watchCalls(folder: string, listener: CallListener | undefined): void {
  watched = listener === undefined ? undefined : { folder, listener };
}

/** Tells the listener of a call that is none of files: a commit. */
export function noteCall(call: string): void {
  watched?.listener(call);
}

/** Puts the watch before the functions of `node:fs/promises`; undone by the returned function. */
export function interceptFiles(): () => void {
  const originals = new Map(CHANGING.map((name) => [name, fs.promises[name]]));
  const functions = fs.promises as unknown as Record<string, unknown>; // Its type has them read-only.
  for (const [name, original] of originals) {
    functions[name] = (...words: unknown[]): unknown => {
      const path = words.find(
        (word) => typeof word === 'string' && watched !== undefined && word.startsWith(`${watched.folder}/`),
      );
      // The lock of the home is taken at a start and not touched by any effect.
      if (path !== undefined) {
        try {
          watched!.listener(name);
        } catch (failure) {
          return Promise.reject(failure as Error);
        }
      }
      return Reflect.apply(original, fs.promises, words);
    };
  }
  syncBuiltinESMExports();
  return () => {
    for (const [name, original] of originals) functions[name] = original;
    syncBuiltinESMExports();
  };
}
