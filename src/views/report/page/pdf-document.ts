import Pdf from 'pdfkit';
import type { FontName } from '../text/fonts.js';
import type { FontSet } from '../text/typesetter.js';

export interface PdfIdentity {
  readonly title: string;
  /** Program and version. */
  readonly creator: string;
  /** Time of rendering, from which identifier and creation date of the file are derived. */
  readonly renderedAt: Date;
}

/** Creates a tagged document without pages: PDF 1.7 that declares PDF/UA-1. */
export function createPdf({ title, creator, renderedAt }: PdfIdentity): PDFKit.PDFDocument {
  return new ReportPdf({
    pdfVersion: '1.7',
    tagged: true,
    // pdfkit 0.20 supports the value, but its types lack it.
    subset: 'PDF/UA' as PDFKit.Mixins.PDFSubsets,
    lang: 'en',
    displayTitle: true,
    autoFirstPage: false,
    font: '',
    info: { Title: title, Producer: 'Divisor', Creator: creator, CreationDate: renderedAt },
  });
}

class ReportPdf extends Pdf {
  /**
   * pdfkit 0.20 copies the title into the XML metadata without escaping. The other copy of the title is written before
   * this is called.
   */
  override endMetadata(): void {
    this.info.Title = (this.info.Title ?? '').replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
    super.endMetadata();
  }
}

/** Ends a document. @returns its bytes, which pdfkit has buffered */
export function endPdf(pdf: PDFKit.PDFDocument): Uint8Array<ArrayBuffer> {
  pdf.end();
  const bytes: unknown = pdf.read();
  if (!(bytes instanceof Uint8Array)) throw new Error('the document has no bytes');
  return new Uint8Array(bytes);
}

/**
 * Font that pdfkit opened last, which its types omit: the object of fontkit, with the tables decoded so far by name.
 */
interface OpenedFont {
  readonly _font: {
    readonly font: { hasGlyphForCodePoint(codePoint: number): boolean; _tables: Readonly<Record<string, unknown>> };
    /** Puts the glyphs of a text into the file. */
    encode(text: string): unknown;
  };
}

/** Size at which text is measured, to be scaled. */
const MEASURE_SIZE = 1;

/**
 * Tables by the bytes of their font, decoded once for all documents, which takes a fifth of the cost of one. Glyphs,
 * which store the text of their first occurrence, belong to one document.
 */
const DECODED = new WeakMap<Uint8Array, Readonly<Record<string, unknown>>>();

/** Always embedded: otherwise the font of a report would depend on the time in its stamp. */
const DIGITS = '0123456789';

export function fontSetOf(pdf: PDFKit.PDFDocument): FontSet {
  const unopened = new Map<FontName, Uint8Array>();
  function open(name: FontName): OpenedFont['_font']['font'] {
    const opened = (pdf.font(name) as unknown as OpenedFont)._font;
    const { font } = opened;
    const bytes = unopened.get(name);
    if (bytes === undefined) return font;
    unopened.delete(name);
    const decoded = DECODED.get(bytes);
    if (decoded === undefined) DECODED.set(bytes, font._tables);
    else font._tables = decoded;
    if (name === 'regular' || name === 'bold') opened.encode(DIGITS);
    return font;
  }
  return {
    register(name, bytes) {
      pdf.registerFont(name, bytes);
      unopened.set(name, bytes);
    },
    covers: (name, codePoint) => open(name).hasGlyphForCodePoint(codePoint),
    measure(name, text) {
      open(name);
      return pdf.fontSize(MEASURE_SIZE).widthOfString(text);
    },
  };
}
