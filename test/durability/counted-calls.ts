import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** Listener that is called before each call that changes files in a folder. If the listener throws, the call fails. */
export type CallListener = (call: string) => void;

const MUTATING_CALLS = ['open', 'rename', 'unlink', 'link', 'mkdir', 'rm', 'writeFile', 'copyFile'] as const;

let watchedFolder: { readonly folder: string; readonly listener: CallListener } | undefined;

/** Watches calls of this process that change files in a folder. If there is no listener, the watch ends. */
export function watchCalls(folder: string, listener: CallListener | undefined): void {
  watchedFolder = listener === undefined ? undefined : { folder, listener };
}

/** Promise of the latest call. The call may still be running. */
let lastCall: Promise<unknown> = Promise.resolve();

/**
 * Performs a watched call after all earlier calls have finished. So the listener sees a consistent state of the folder.
 */
export function runInTurn<T>(call: string, make: () => Promise<T>): Promise<T> {
  const nextCall = lastCall.then(() => {
    watchedFolder?.listener(call);
    return make();
  });
  lastCall = nextCall.catch(() => undefined);
  return nextCall;
}

/** Intercepts the functions of `node:fs/promises`. @returns a function that restores them */
export function interceptFiles(): () => void {
  const originals = new Map(MUTATING_CALLS.map((name) => [name, fs.promises[name]]));
  const functions = fs.promises as unknown as Record<string, unknown>; // the type declares the functions read-only
  for (const [name, original] of originals) {
    functions[name] = (...words: unknown[]): unknown => {
      const make = () => Reflect.apply(original, fs.promises, words) as Promise<unknown>;
      const isWatched = words.some(
        (word) =>
          typeof word === 'string' && watchedFolder !== undefined && word.startsWith(`${watchedFolder.folder}/`),
      );
      return isWatched ? runInTurn(name, make) : make();
    };
  }
  syncBuiltinESMExports();
  return () => {
    for (const [name, original] of originals) functions[name] = original;
    syncBuiltinESMExports();
  };
}
