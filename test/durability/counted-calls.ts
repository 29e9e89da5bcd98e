import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** Called before each call that changes files of a folder; an exception that it throws is the failure of the call. */
export type CallListener = (call: string) => void;

const CHANGING = ['open', 'rename', 'unlink', 'link', 'mkdir', 'rm', 'writeFile', 'copyFile'] as const;

let watched: { readonly folder: string; readonly listener: CallListener } | undefined;

/** Watches the calls below a folder that this process makes from now on; undefined ends it. */
export function watchCalls(folder: string, listener: CallListener | undefined): void {
  watched = listener === undefined ? undefined : { folder, listener };
}

/** The last of the calls so far, over or not. */
let last: Promise<unknown> = Promise.resolve();

/** Makes a watched call after the earlier ones have finished, so that the listener sees a consistent state of the folder. */
export function inTurn<T>(call: string, make: () => Promise<T>): Promise<T> {
  const made = last.then(() => {
    watched?.listener(call);
    return make();
  });
  last = made.catch(() => undefined);
  return made;
}

/** Puts the watch before the functions of `node:fs/promises`; undone by the returned function. */
export function interceptFiles(): () => void {
  const originals = new Map(CHANGING.map((name) => [name, fs.promises[name]]));
  const functions = fs.promises as unknown as Record<string, unknown>; // Its type has them read-only.
  for (const [name, original] of originals) {
    functions[name] = (...words: unknown[]): unknown => {
      const make = () => Reflect.apply(original, fs.promises, words) as Promise<unknown>;
      const isWatched = words.some(
        (word) => typeof word === 'string' && watched !== undefined && word.startsWith(`${watched.folder}/`),
      );
      return isWatched ? inTurn(name, make) : make();
    };
  }
  syncBuiltinESMExports();
  return () => {
    for (const [name, original] of originals) functions[name] = original;
    syncBuiltinESMExports();
  };
}
