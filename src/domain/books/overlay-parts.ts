import type { OverlayPath } from '../overlays/overlay-type.js';
import type { BookPart } from './book.js';
import type { Layer } from './overlay-orders.js';

/** Returns the return components of an overlay, and of its underlying overlays, scaled by exposure. */
export function listParts(
  layers: readonly Layer[],
  path: OverlayPath,
  { indexId, hasCurrencyPart }: { readonly indexId: string; readonly hasCurrencyPart: boolean },
): BookPart[] {
  const pathParts = path.parts.map(({ part, contributions }) => ({ indexId, part, contributions }));
  const inheritedParts = layers.flatMap((layer) =>
    (layer.book.overlay?.parts ?? []).map((part) => ({
      ...part,
      contributions: path.growth.map((_, t) =>
        t === 0 ? 0 : layer.exposure[t - 1]! * (layer.exchange?.[t] ?? 1) * part.contributions[t + layer.shift]!,
      ),
    })),
  );
  const { exchange } = path;
  if (exchange === null) return mergeParts([...pathParts, ...inheritedParts]);
  const currency = path.growth.map((_, t) => {
    if (t === 0) return 0;
    return layers.reduce(
      (sum, { book, shift, exposure }) => sum + exposure[t - 1]! * book.cash[t - 1 + shift]! * (exchange[t]! - 1),
      0,
    );
  });
  const currencyParts = hasCurrencyPart ? [{ indexId, part: 'currency' as const, contributions: currency }] : [];
  return mergeParts([...pathParts, ...currencyParts, ...inheritedParts]);
}

/** Merges components that occur several times. An overlay may underlie another overlay in several ways. */
function mergeParts(parts: readonly BookPart[]): BookPart[] {
  const byKey = new Map<string, BookPart>();
  for (const part of parts) {
    const key = `${part.indexId} ${part.part}`;
    const existingPart = byKey.get(key);
    const contributions =
      existingPart?.contributions.map((sum, t) => sum + part.contributions[t]!) ?? part.contributions;
    byKey.set(key, { ...part, contributions });
  }
  return [...byKey.values()];
}
