import { isOverlayDocument, type IndexDocument, type OverlayDocument } from '../documents/index-document.js';
import { listTextSpans } from '../documents/text-spans.js';
import { findLastAtMost } from '../numbers/search.js';
import { findOverlayType, type OverlaySpec } from '../overlays/catalogue.js';
import type { OverlayPart, OverlayPath } from '../overlays/overlay-type.js';
import type { SessionMarket } from '../market/session-market.js';
import type { BookOverlay } from './book.js';
import { createOverlayContext, type UnderlyingIndex } from './overlay-context.js';

/** Returns the document as an overlay document; throws for any other index. */
export function readOverlay(document: IndexDocument): OverlayDocument {
  if (isOverlayDocument(document)) return document;
  throw new Error(`${document.id} is not an overlay`);
}

interface OverlayOnMarket {
  readonly sm: SessionMarket;
  readonly first: number;
  readonly document: OverlayDocument;
  /** Currency of the underlying index. */
  readonly currency: string;
}

/** Sessions of an overlay under one version of its definition, from the first close to the last. */
interface Segment {
  readonly spec: OverlaySpec;
  readonly first: number;
  readonly to: number;
}

/**
 * Computes the path of an overlay through its underlying indices. An amended version begins at the overlay's level on
 * the amendment date.
 * @cost O(T sources)
 */
export function computeOverlayPath(overlay: OverlayOnMarket, underlying: UnderlyingIndex): OverlayPath {
  const { sm, first, document, currency } = overlay;
  const segments = listSegments(overlay, underlying.to);
  let level = document.base_value;
  const paths = segments.map((segment) => {
    const terms = { sm, first: segment.first, document: { ...document, base_value: level }, currency };
    const shares = sliceShares(underlying.shares, segment, first);
    const path = findOverlayType(segment.spec).path(
      segment.spec,
      createOverlayContext(terms, { beneath: underlying.beneath, shares, to: segment.to }),
    );
    level = path.growth.subarray(1).reduce((value, growth) => value * growth, level);
    return path;
  });
  return paths.reduce(joinPaths);
}

function listSegments({ sm, first, document }: OverlayOnMarket, to: number): Segment[] {
  const texts = listTextSpans(document, sm.calendar).flatMap(({ after, text }) => {
    const session = Math.max(first, findLastAtMost(sm.sessions, after));
    const { document: amended } = text;
    return session < to && isOverlayDocument(amended) ? [{ spec: amended.overlay, first: session }] : [];
  });
  const begins = [{ spec: document.overlay, first }, ...texts];
  const latestBegins = begins.filter((one, k) => k === begins.length - 1 || begins[k + 1]!.first > one.first);
  return latestBegins.map((one, k) => ({ ...one, to: latestBegins[k + 1]?.first ?? to }));
}

/**
 * Returns the weights by currency on the sessions of a segment.
 * @param first first session of the weights
 */
function sliceShares(shares: BookOverlay['shares'], segment: Segment, first: number): BookOverlay['shares'] {
  const { first: from, to } = segment;
  return Object.fromEntries(
    Object.entries(shares).map(([code, share]) => [code, share.subarray(from - first, to + 1 - first)]),
  );
}

/**
 * Joins two paths. The second path begins at the last close of the first, and its exposures apply from that close on.
 */
function joinPaths(before: OverlayPath, after: OverlayPath): OverlayPath {
  const shift = before.growth.length - 1;
  const begins = Uint8Array.from(before.growth, (_, t) => (t === shift ? 1 : 0));
  const { explain: earlier } = before;
  const { explain: later } = after;
  return {
    growth: concatenatePaths(before.growth, after.growth),
    exposures: before.exposures.map((exposure, k) =>
      concatenateAfterFirst(exposure.subarray(0, shift), after.exposures[k]!),
    ),
    exchange: before.exchange && after.exchange && concatenatePaths(before.exchange, after.exchange),
    parts: joinParts(before, after),
    resets:
      before.resets &&
      Uint8Array.from([...before.resets.map((is, t) => is | begins[t]!), ...after.resets!.subarray(1)]),
    ...(earlier && later ? { explain: (t) => (t < shift ? earlier(t) : later(t - shift)) } : {}),
  };
}

function concatenateAfterFirst(before: Float64Array, after: Float64Array): Float64Array {
  const joinedValues = new Float64Array(before.length + after.length);
  joinedValues.set(before);
  joinedValues.set(after, before.length);
  return joinedValues;
}

function concatenatePaths(before: Float64Array, after: Float64Array): Float64Array {
  return concatenateAfterFirst(before, after.subarray(1));
}

function joinParts(before: OverlayPath, after: OverlayPath): OverlayPart[] {
  const names = new Set([...before.parts, ...after.parts].map(({ part }) => part));
  const findContributions = ({ parts, growth }: OverlayPath, name: OverlayPart['part']): Float64Array =>
    parts.find(({ part }) => part === name)?.contributions ?? new Float64Array(growth.length);
  return [...names].map((part) => ({
    part,
    contributions: concatenatePaths(findContributions(before, part), findContributions(after, part)),
  }));
}
