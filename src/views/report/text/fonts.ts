import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Folder of the fonts that ship with the service. Its README states their origin and licences. */
const FOLDER = fileURLToPath(new URL('../../../../../data/fonts', import.meta.url));

export type Weight = 'regular' | 'bold';

/** Name of a font file within a document. */
export type FontName = Weight | 'han' | 'hangul';

const FILES: Record<FontName, string> = {
  regular: 'NotoSans-SemiCondensed.ttf',
  bold: 'NotoSans-SemiCondensedSemiBold.ttf',
  han: 'DroidSansFallback-Han.ttf',
  hangul: 'NotoSansCJKkr-Hangul.otf',
};

/** Fonts that are tried in this order if the text font lacks a character. */
export const FALLBACKS: readonly FontName[] = ['han', 'hangul'];

/** Font files. They are read when they are first needed, and then cached. */
export interface FontShelf {
  bytes(name: FontName): Uint8Array;
}

export function openFonts(): FontShelf {
  const cache = new Map<FontName, Uint8Array>();
  return {
    bytes(name) {
      const bytes = cache.get(name) ?? readFileSync(join(FOLDER, FILES[name]));
      cache.set(name, bytes);
      return bytes;
    },
  };
}
